# SPDX-License-Identifier: BSD-3-Clause
"""One night of a system at a time, whatever became of the one before."""

import os
import subprocess
import sys
import time

import pytest

from fabric_checks.errors import FabricError
from fabric_checks.nightly.lock import BusyError, only_one


def test_the_second_is_told_who_the_first_is(tmp_path):
    path = tmp_path / "a" / "lock"
    mine = f"process {os.getpid()} on .*; nothing was run"
    with only_one(path), pytest.raises(BusyError, match=mine), only_one(path):
        pytest.fail("both have it")
    with only_one(path):
        pass


@pytest.mark.parametrize("text", ["", "{", "[]", '{"process": "x"}', "\x00" * 5000])
def test_a_broken_note_keeps_nobody_out(tmp_path, text):
    path = tmp_path / "lock"
    path.write_text(text)
    with only_one(path):
        path.write_text(text)
        with pytest.raises(BusyError, match="could not leave its name"), only_one(path):
            pytest.fail("both have it")


def test_it_is_held_as_long_as_the_run_that_inherits_it(tmp_path):
    path = tmp_path / "lock"
    script = (
        "import subprocess, sys; from pathlib import Path; from fabric_checks.nightly.lock import only_one\n"
        "with only_one(Path(sys.argv[1])) as lock:\n"
        "    run = subprocess.Popen(['cat'], stdin=sys.stdin, pass_fds=(lock,))\n"
        "    print(run.pid, flush=True); import os; os.kill(os.getpid(), 9)\n"
    )
    night = subprocess.Popen([sys.executable, "-c", script, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert night.stdout.readline() and night.wait(20) == -9
    with pytest.raises(BusyError), only_one(path):
        pytest.fail("the run still goes on")
    night.stdin.close()  # which ends the run
    deadline = time.monotonic() + 20
    while True:
        try:
            with only_one(path):
                return
        except BusyError:
            assert time.monotonic() < deadline
            time.sleep(0.02)


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    here = r"file/lock: Not a directory|file.*: File exists"
    with pytest.raises(FabricError, match=here), only_one(tmp_path / "file" / "lock"):
        pytest.fail("there is no lock")
