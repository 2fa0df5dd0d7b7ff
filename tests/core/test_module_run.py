# SPDX-License-Identifier: BSD-3-Clause
"""A module that is run in a process of its own: what it writes, and what is said where it does not."""

import pytest

from fabric_checks.core import module_run
from fabric_checks.core.errors import FabricError

MODULE = """
import json, os, pathlib, sys, time
subject, path, *words = sys.argv[1:]
if subject == "silent":
    sys.exit(1)
if subject == "slow":
    time.sleep(60)
if subject == "broken":
    sys.exit("first\\nthe reason")
pathlib.Path(path).write_text(json.dumps([subject, words, os.environ["COLOUR"]]))
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    (tmp_path / "written.py").write_text(MODULE)
    monkeypatch.setattr(module_run, "LIBRARY", tmp_path)

    def call(subject, **more):
        return module_run.written_by(
            "written", subject, "a", failed="it fails", COLOUR="red", **more
        )

    return call


def test_what_it_writes_comes_back(run):
    assert run("whole") == ["whole", ["a"], "red"]


@pytest.mark.parametrize(
    "subject, message",
    [
        ("broken", "^it fails: the reason$"),
        ("silent", "^it fails: no reason is given$"),
        ("slow", "^it fails: not within 0.5 s"),
    ],
)
def test_why_it_writes_nothing_is_said(run, subject, message):
    with pytest.raises(FabricError, match=message):
        run(subject, timeout_s=0.5 if subject == "slow" else None)
