# SPDX-License-Identifier: BSD-3-Clause
"""The output of a command, or one line why there is none."""

import subprocess

import pytest

from fabric_checks.core import commands
from fabric_checks.core.commands import printed
from fabric_checks.core.errors import FabricError


def test_standard_output_is_returned():
    assert printed(["sh", "-c", "echo one; echo two >&2"]) == "one\n"


@pytest.mark.parametrize(
    "script, why",
    [
        ("echo first >&2; echo 'ERROR: last' >&2; exit 1", "last"),
        ("echo out; exit 1", "out"),
        ("exit 3", "status 3"),
    ],
)
def test_a_command_that_fails_has_its_last_line(script, why):
    with pytest.raises(FabricError) as caught:
        printed(["sh", "-c", script])
    assert str(caught.value) == f"sh -c {script}: {why}"


def test_a_command_that_is_missing_or_does_not_answer_is_named(monkeypatch):
    with pytest.raises(FabricError, match="^no-such-tool: No such file"):
        printed(["no-such-tool"])

    def late(*_, **__):
        raise subprocess.TimeoutExpired("slow", commands.TIMEOUT_S)

    monkeypatch.setattr(subprocess, "run", late)
    with pytest.raises(FabricError, match="^slow: it does not answer$"):
        printed(["slow"])
