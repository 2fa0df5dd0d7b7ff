# SPDX-License-Identifier: BSD-3-Clause
"""``fabric-checks archive`` as a user runs it."""

import json
import os
import subprocess

import pytest

from tests.builders import record, write
from tests.conftest import FABRIC_CHECKS
from tests.guard import GUARD_S


def run(*arguments, verb="archive", **options):
    command = [FABRIC_CHECKS, verb, *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=GUARD_S, **options
    )


@pytest.fixture
def results(tmp_path):
    write(tmp_path / "results/perflogs/s/p/A.jsonl", [record(n) for n in range(3)])
    return tmp_path / "results"


def test_there_and_back(results, tmp_path):
    done = run(results, tmp_path / "archive")
    text = f"{tmp_path}/archive: 3 records added, 0 already there; 2 files written\n"
    assert done.returncode == 0
    assert done.stdout == text
    assert done.stderr == ""
    done = run(results, tmp_path / "archive")
    assert done.stdout.endswith(": 0 records added, 3 already there; 0 files written\n")
    shown = run(tmp_path / "archive", "--list", "--json", verb="show")
    assert [each["session"] for each in json.loads(shown.stdout)] == [
        record(n)["session"] for n in range(3)
    ]


def test_the_results_of_this_clone_are_the_default(results, tmp_path):
    done = run(tmp_path / "archive", env=os.environ | {"FABRIC_RESULTS": str(results)})
    assert done.returncode == 0
    assert ": 3 records added" in done.stdout


def test_what_is_bad_is_named_and_the_status_says_so(results, tmp_path):
    bad = write(results / "perflogs/s/p/B.jsonl", [record(0, check="B"), b"{\x1b[2J\n"])
    done = run(results, tmp_path / "archive")
    assert done.returncode == 1
    assert ": 4 records added, 0 already there; 2 files" in done.stdout
    assert done.stderr.startswith(f"warning: {bad}:2: not a JSON object")
    assert "\x1b" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    "arguments, status, message",
    [
        ([], 2, "missing argument"),
        (["a", "b", "c"], 2, "too many paths"),
        (["nowhere", "archive"], 1, "error: nowhere: there is no such file or folder"),
        (
            ["results", "results/perflogs/s/p/A.jsonl/x"],
            1,
            "error: results/perflogs/s/p/A.jsonl/x: Not a directory",
        ),
    ],
)
def test_what_a_user_can_mend_is_one_line(
    arguments, status, message, results, tmp_path
):
    done = run(*arguments, cwd=tmp_path)
    assert done.returncode == status and message in done.stderr
    assert "Traceback" not in done.stderr and len(done.stderr.splitlines()) <= 4
