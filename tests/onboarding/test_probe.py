# SPDX-License-Identifier: BSD-3-Clause
"""Tools run within limits: of time, of output, and of processes that they start."""

import os
import time
from pathlib import Path

import pytest

from fabric_checks.onboarding.probe import Machine
from tests.guard import ENDLESS_S, GUARD_S, wait_for


@pytest.fixture
def machine(tmp_path):
    return Machine(
        root=tmp_path / "root",
        variables={"PATH": f"{tmp_path}:/usr/bin:/bin"},
        limit_s=GUARD_S,
    )


def tool(tmp_path, text):
    path = tmp_path / "tool"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def is_over(process):
    try:
        return " Z " in process.read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_a_tool_is_started_in_english_and_without_input(machine, tmp_path):
    tool(tmp_path, r"""echo "$@" $LC_ALL; printf '\377\n' >&2; cat; pwd""")
    assert machine.ask("tool", "$(id)", "a b") == "$(id) a b C\n\ufffd\n/\n"
    assert machine.asked == {"tool $(id) a b": "ok"}


def test_a_missing_tool_is_not_run(machine):
    assert machine.ask("no-such-tool") is None and machine.asked == {}


@pytest.mark.parametrize(
    "script, fault",
    [
        (
            "echo one; echo 'cannot reach the controller' >&2; exit 3",
            "exit status 3: cannot reach the controller",
        ),
        ("exec yes", "more than 1 MiB"),
    ],
)
def test_the_output_of_a_failing_tool_is_not_used(machine, tmp_path, script, fault):
    machine.limit_B = 1 << 20
    tool(tmp_path, script)
    assert machine.ask("tool") is None and machine.asked == {"tool": fault}


def test_one_that_does_not_end(machine, tmp_path):
    """Nor does what it has started, which holds its output open."""
    child = tmp_path / "child"
    child.touch()
    tool(tmp_path, f"sleep {ENDLESS_S} & echo $! > {child}; echo begun; wait")
    began = time.monotonic()
    for limit_s in (
        1,
        10,
        100,
    ):  # a loaded machine may take longer than 1 s to start it
        machine.limit_s = limit_s
        assert machine.ask("tool") is None
        assert machine.asked == {"tool": f"no answer within {limit_s} s"}
        assert time.monotonic() - began < GUARD_S / 2
        if number := child.read_text().strip():
            break
    assert number
    wait_for(
        lambda: is_over(Path("/proc", number, "stat")),
        "what the tool has started is still there",
    )


def test_files(machine, tmp_path):
    (tmp_path / "root/sys/class").mkdir(parents=True)
    (tmp_path / "root/sys/class/rate").write_bytes(b"x" * 10_000 + b"\xff")
    os.mkfifo(tmp_path / "root/sys/class/pipe")
    assert machine.listed("/sys/class") == ["pipe", "rate"]
    assert machine.listed("/nowhere") == []
    assert len(machine.read("/sys/class/rate")) == 4096
    assert machine.read("/sys/class") == ""
