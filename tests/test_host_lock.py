# SPDX-License-Identifier: BSD-3-Clause
"""A case waits for another session's job on its host before its own time counts."""

import fcntl
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from fabric_checks.mixins import HostLockMixin

HOLD = """
import fcntl, os, pathlib, sys, time
fcntl.flock(os.open(sys.argv[1], os.O_RDONLY), fcntl.LOCK_EX)
print("held", flush=True)
time.sleep(0.5)
pathlib.Path(sys.argv[1], "done").touch()
"""


@pytest.fixture
def held(tmp_path):
    """Return a folder whose lock another process holds for half a second; then it leaves a file there."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, tmp_path], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "held\n"
    yield tmp_path
    process.wait()


def wait(extras, dry_run=False):
    check = SimpleNamespace(
        current_partition=SimpleNamespace(extras=extras), is_dry_run=lambda: dry_run, display_name="a check"
    )
    HostLockMixin.wait_for_host(check)


def test_it_waits_until_the_other_is_done_and_leaves_the_lock_to_the_job(held):
    wait({"host_lock": str(held)})
    assert (held / "done").exists()
    descriptor = os.open(held, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises if it is still held
    os.close(descriptor)


def test_nobody_waits_who_has_no_lock_or_does_not_run(held):
    wait({})
    wait({"host_lock": str(held)}, dry_run=True)
    assert not (held / "done").exists()
