# SPDX-License-Identifier: BSD-3-Clause
"""One night of a system at a time, whatever became of the one before."""

import os
import subprocess
import sys

import pytest

from fabric_checks.core.errors import FabricError
from fabric_checks.nightly.plan import only_one
from tests.guard import GUARD_S, wait_for


def test_a_second_night_is_refused_with_the_first_ones_process(tmp_path):
    path = tmp_path / "a" / "lock"
    mine = f"process {os.getpid()} of .*: another night of this system is running.*; nothing was run"
    with only_one(path), pytest.raises(FabricError, match=mine), only_one(path):
        pytest.fail("both have it")
    with only_one(path):
        pass


def test_a_folder_that_cannot_be_written_is_named_with_what_to_set(tmp_path):
    (tmp_path / "file").touch()
    with (
        pytest.raises(FabricError, match="lock: .*set FABRIC_RESULTS to a folder"),
        only_one(tmp_path / "file" / "lock"),
    ):
        pytest.fail("it has a lock in a file")


def test_it_is_held_as_long_as_the_run_that_inherits_it(tmp_path):
    path = tmp_path / "lock"
    script = (
        "import subprocess, sys; from pathlib import Path; from fabric_checks.nightly.plan import only_one\n"
        "with only_one(Path(sys.argv[1])) as lock:\n"
        "    run = subprocess.Popen(['cat'], stdin=sys.stdin, pass_fds=(lock,))\n"
        "    print(run.pid, flush=True); import os; os.kill(os.getpid(), 9)\n"
    )
    night = subprocess.Popen(
        [sys.executable, "-c", script, path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert night.stdout.readline() and night.wait(GUARD_S) == -9
    with pytest.raises(FabricError, match="another night"), only_one(path):
        pytest.fail("the run still goes on")
    night.stdin.close()  # which ends the run

    def is_free():
        try:
            with only_one(path):
                return True
        except FabricError:
            return False

    wait_for(is_free, "the lock of a run that has ended is still held")
