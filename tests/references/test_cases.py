# SPDX-License-Identifier: BSD-3-Clause
"""The cases of a system from the process that loads the checks."""

import json
import subprocess
from pathlib import Path

import pytest

from fabric_checks.core import module_run
from fabric_checks.core.errors import FabricError
from fabric_checks.references import cases

CASE = {"check": "A", "layout": "1x2", "attributes": {}, "metrics": ["m"]}


@pytest.fixture
def process(monkeypatch):
    """Return a function that sets the end of the process."""

    def set_to(status, content=None, stdout="", stderr=""):
        def run(command, **_):
            if content is not None:
                Path(command[4]).write_text(content)
            return subprocess.CompletedProcess(command, status, stdout, stderr)

        monkeypatch.setattr(module_run.subprocess, "run", run)

    return set_to


def test_the_cases_are_read(process):
    process(0, json.dumps([CASE]))
    assert cases.of_system("s", []) == [cases.Case("A", "1x2", {}, ["m"])]


@pytest.mark.parametrize(
    "asked, all_of_them", [(None, "all"), ("mpich", "all"), ("none", "none")]
)
def test_all_mpis_of_the_stack_are_asked_for_unless_there_are_none(
    monkeypatch, asked, all_of_them
):
    if asked:
        monkeypatch.setenv("FABRIC_MPI", asked)

    def run(command, *, env, **_):
        Path(command[4]).write_text(json.dumps([CASE | {"check": env["FABRIC_MPI"]}]))
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(module_run.subprocess, "run", run)
    assert [each.check for each in cases.of_system("s", [])] == [all_of_them]


@pytest.mark.parametrize(
    "ended, why",
    [
        (
            (1, "{}", "progress", "a line\nno such system"),
            "no such system",
        ),  # whatever it had written
        ((0, None, "progress", "a warning"), "a warning"),
        ((1, None, "printed on the other stream", ""), "printed on the other stream"),
        ((-9, None, "", ""), "no reason is given"),
    ],
)
def test_a_process_that_fails_or_writes_nothing_is_an_error_with_its_last_line(
    process, ended, why
):
    process(*ended)
    with pytest.raises(FabricError, match=f"^the checks of s cannot be loaded: {why}$"):
        cases.of_system("s", [])
