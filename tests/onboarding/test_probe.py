# SPDX-License-Identifier: BSD-3-Clause
"""Tools run for a limited time."""

import os
import time

import pytest

from fabric_checks.onboarding.probe import Machine
from tests.guard import GUARD_S


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
    ],
)
def test_the_output_of_a_failing_tool_is_not_used(machine, tmp_path, script, fault):
    tool(tmp_path, script)
    assert machine.ask("tool") is None and machine.asked == {"tool": fault}


def test_one_that_does_not_end(machine, tmp_path):
    """What it has started holds its output open."""
    tool(tmp_path, "sleep 60 & echo begun; wait")
    machine.limit_s = 1
    began = time.monotonic()
    assert machine.ask("tool") is None
    assert machine.asked == {"tool": "no answer within 1 s"}
    assert time.monotonic() - began < GUARD_S / 2


def test_files(machine, tmp_path):
    (tmp_path / "root/sys/class").mkdir(parents=True)
    (tmp_path / "root/sys/class/rate").write_bytes(b"x" * 10_000 + b"\xff")
    os.mkfifo(tmp_path / "root/sys/class/pipe")
    assert machine.listed("/sys/class") == ["pipe", "rate"]
    assert machine.listed("/nowhere") == []
    assert len(machine.read("/sys/class/rate")) == 4096
    assert machine.read("/sys/class") == ""
