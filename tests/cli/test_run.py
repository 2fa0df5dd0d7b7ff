# SPDX-License-Identifier: BSD-3-Clause
"""`fabric-checks run` where ReFrame runs nothing: a reservation that it cannot use, a configuration at
fault."""

import json
import os
import pty
import sys
from contextlib import suppress
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from fabric_checks.cli import run
from fabric_checks.core.errors import FabricError
from fabric_checks.schedulers import reservations
from tests import programs
from tests.guard import ENDLESS_S, wait_for


@pytest.mark.parametrize(
    "says, cause",
    [
        (
            {"name": "s", "partitions": [{"name": "p", "scheduler": "local"}]},
            "s:p is run by 'local', and only Slurm's",
        ),
        ({"name": "s"}, "ReFrame lists no partitions"),
        (
            None,
            "ReFrame lists no partitions: reframe -c checks --show-config=systems/0: status 1",
        ),
    ],
)
def test_a_reservation_is_never_passed_over(monkeypatch, says, cause):
    def asked(line, **_):
        assert line == [
            "reframe",
            "-c",
            "checks",
            "--show-config=systems/0",
        ]  # which it refuses together with -r
        return SimpleNamespace(
            stdout=json.dumps(says) if says else "", stderr="", returncode=int(not says)
        )

    monkeypatch.setattr(run.subprocess, "run", asked)
    monkeypatch.setattr(run, "_run", lambda *_: pytest.fail("it was run"))
    monkeypatch.setenv(reservations.VARIABLE, "w")
    done = CliRunner().invoke(run.command, ["--", "reframe", "-c", "checks", "-r"])
    assert isinstance(done.exception, FabricError) and cause in str(done.exception)


@pytest.mark.parametrize(
    "status, success, ends",
    [(0, True, 0), (0, False, 1), (1, True, 1), (3, False, 3)],
)
def test_the_status_is_that_of_reframe_or_of_a_session_that_is_no_success(
    tmp_path, monkeypatch, status, success, ends
):
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs/s.log").touch()
    monkeypatch.setenv("FABRIC_RESULTS", str(tmp_path))
    monkeypatch.setattr(run, "session_id", lambda: "s")
    monkeypatch.setattr(run, "_run", lambda *_: status)
    monkeypatch.setattr(run, "_ending", lambda: SimpleNamespace(end=lambda *_: success))
    assert CliRunner().invoke(run.command, ["--", "reframe", "-r"]).exit_code == ends


#: A ReFrame that begins its log, prints a coloured line, and refuses to start.
REFUSING = """
import os, pathlib, sys
logs = pathlib.Path(os.environ["FABRIC_RESULTS"], "logs")
if sys.argv[1] == "log":
    logs.mkdir(parents=True)
    (logs / "s.log").touch()
print("\x1b[31mERROR: what is wrong\x1b[0m")
sys.exit(sys.argv[2])
"""


@pytest.mark.parametrize(
    "log, last, printed",
    [
        ("log", "error: no such environment", ""),
        ("none", "no log", "error: what is wrong\n"),
    ],
    ids=["after its log", "before"],
)
def test_a_refusal_of_reframe_is_the_last_word(tmp_path, log, last, printed):
    env = {
        "PATH": "/usr/bin:/bin",
        "FABRIC_RESULTS": str(tmp_path),
        "FABRIC_SESSION": "s",
    }
    line = [
        sys.executable,
        "-m",
        "fabric_checks",
        "run",
        "--",
        sys.executable,
        "-c",
        REFUSING,
        log,
        last,
    ]
    done = programs.run(line, env=env | {"PYTHONPATH": ":".join(sys.path)})
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr == f"{last}\n{printed}"
    assert not [*tmp_path.rglob("*.log")], "it would be listed as a run"


def test_a_wrong_option_of_a_listing_is_one_line_with_the_nearest(monkeypatch, capsys):
    usage = "usage: reframe [-h] [--module-path PATH]\n               [--mode MODE]\n"
    says = f"{usage}reframe: error: ambiguous option: --mod could match --mode\n"
    code = f"import sys; print('listed'); sys.exit(sys.stderr.write({says!r}) and 2)"
    told: list[str] = []
    monkeypatch.setattr(run.console, "error", told.append)
    assert run._run_as_is([sys.executable, "-c", code]) == 2
    assert told == [
        "error: ambiguous option: --mod could match --mode; did you mean --mode?"
    ]
    assert capsys.readouterr().out == "listed\n"


def test_an_unknown_system_of_a_listing_is_wrong_usage(monkeypatch):
    told: list[str] = []
    monkeypatch.setattr(run.console, "error", told.append)
    code = "import sys; print(\"ERROR: there is no system 'x': choose one of y\"); sys.exit(1)"
    assert run._run_as_is([sys.executable, "-c", code]) == 2
    assert told == ["error: there is no system 'x': choose one of y"]


def test_an_interrupt_that_ends_the_reader_of_the_output_leaves_a_word_in_the_terminal(
    tmp_path,
):
    begun = tmp_path / "begun"
    child = ["sh", "-c", f"'touch {begun}; exec sleep {ENDLESS_S}'"]
    words = [sys.executable, "-m", "fabric_checks", "run", "--", *child, "| cat"]
    env = os.environ | {"FABRIC_RESULTS": str(tmp_path), "FABRIC_SESSION": "s"}
    process, terminal = pty.fork()
    if process == 0:
        os.execvpe("bash", ["bash", "-c", " ".join(words)], env)
    wait_for(begun.exists, "the run has not begun")
    os.write(terminal, b"\x03")
    said = b""
    with suppress(OSError):  # the end, as Linux has it
        while more := os.read(terminal, 4096):
            said += more
    os.waitpid(process, 0)
    assert b"interrupted: `fabric-checks show --session s` has" in said
