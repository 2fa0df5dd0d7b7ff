# SPDX-License-Identifier: BSD-3-Clause
"""Whoever ends a night ends its run, by an interrupt, on which ReFrame cancels its jobs."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from fabric_checks.cli import nightly
from tests.guard import GUARD_S

ROOT = Path(__file__).resolve().parents[2]
#: A run that begins, waits to be interrupted, and says so.
RUN = """
import time
try:
    print("begun", flush=True)
    while True:  # an interrupt that comes just before the kernel's wait is seen after it
        time.sleep(0.1)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
NIGHT = """
import sys
from fabric_checks.nightly.supervision import supervised
with supervised() as start:
    sys.exit(start([sys.executable, "-c", sys.argv[1]]).wait())
"""


@pytest.mark.parametrize(
    "ignored", [[], [signal.SIGINT, signal.SIGHUP]], ids=["terminal", "background"]
)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_interrupts_the_run(number, ignored):
    before = [(each, signal.signal(each, signal.SIG_IGN)) for each in ignored]
    try:
        command = [sys.executable, "-c", NIGHT, RUN]
        night = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    finally:
        for each, handler in before:
            signal.signal(each, handler)
    assert night.stdout.readline() == "begun\n"
    night.send_signal(number)
    out, _ = night.communicate(timeout=GUARD_S)
    assert (night.returncode, out) == (128 + number, "interrupted\n")


def test_a_run_that_ends_by_itself_has_its_status():
    line = [sys.executable, "-c", NIGHT, "raise SystemExit(7)"]
    assert subprocess.run(line, cwd=ROOT, timeout=GUARD_S).returncode == 7


def test_an_interrupted_night_says_what_there_is(monkeypatch, tmp_path):
    def interrupted(*_):
        raise SystemExit(130)

    told: list[str] = []
    monkeypatch.setenv("FABRIC_RESULTS", str(tmp_path))
    monkeypatch.setattr(nightly, "_require_its_run", lambda _: None)
    monkeypatch.setattr(nightly, "spend", interrupted)
    monkeypatch.setattr(nightly.console, "error", told.append)
    done = CliRunner().invoke(nightly.command, ["--system", "s", "--level", "smoke"])
    assert done.exit_code == 130
    (line,) = told
    assert "interrupted, and nothing is judged" in line and "run.log" in line
    assert "`ci/nightly --system s --level smoke --session 2" in line
