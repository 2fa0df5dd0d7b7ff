# SPDX-License-Identifier: BSD-3-Clause
"""Simulations wait for a free processor, and all end if one fails; tests/cli/test_streams.py has an
interrupt."""

import os
import signal
import subprocess
import sys
import time
from functools import partial

import pytest

from fabric_twins import processes
from fabric_twins.errors import TwinError
from tests.guard import GUARD_S

HOLDER = """\
import sys, time
from pathlib import Path
from fabric_twins.processes import slot
with slot(Path(sys.argv[1]), int(sys.argv[2])):
    print(time.monotonic(), flush=True)
    time.sleep(float(sys.argv[3]))
    print(time.monotonic(), flush=True)
"""


def holder(folder, number, seconds):
    command = [sys.executable, "-c", HOLDER, str(folder), str(number), str(seconds)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_never_more_at_once_than_slots(tmp_path):
    processes = [holder(tmp_path, 2, 0.2) for _ in range(5)]
    spans = [
        [float(moment) for moment in process.communicate()[0].split()]
        for process in processes
    ]
    for begin, _ in spans:
        assert sum(first <= begin < last for first, last in spans) <= 2


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_whoever_is_killed_gives_its_slot_back(tmp_path, how):
    with holder(tmp_path, 1, GUARD_S) as first:
        first.stdout.readline()
        os.kill(first.pid, how)
    begin = time.monotonic()
    with processes.slot(tmp_path, 1):
        assert time.monotonic() - begin < GUARD_S / 2


def test_there_are_as_many_as_processors(tmp_path):
    with processes.slot(tmp_path):
        assert len(list(tmp_path.iterdir())) == len(os.sched_getaffinity(0))


def endless(folder, statuses):
    """Simulate something that does not end, and note how it ended."""
    command = ["sh", "-c", "touch begun; exec sleep 600"]
    statuses.append(
        processes.run(command, {"PATH": "/usr/bin:/bin"}, folder, GUARD_S, "it")[2]
    )


def once_begun(folder, do):
    """Do something when a simulation has begun."""
    while not (folder / "begun").exists():
        pass
    do()


def fail():
    raise TwinError("it cannot be simulated")


def test_a_failure_kills_the_others(tmp_path):
    """One runs, one waits for its turn, which the thread of the failed one may have begun."""
    statuses = []
    jobs = {
        "runs": partial(endless, tmp_path, statuses),
        "fails": partial(once_begun, tmp_path, fail),
        "waits": partial(endless, tmp_path, statuses),
    }
    with pytest.raises(TwinError, match="cannot be simulated"):
        processes.run_all(jobs, 2)
    assert statuses and set(statuses) == {-signal.SIGKILL} and not processes._running


def test_an_interrupt_kills_all_and_is_handled_as_before(tmp_path):
    before, statuses = signal.getsignal(signal.SIGINT), []
    interrupt = partial(os.kill, os.getpid(), signal.SIGINT)
    jobs = {
        1: partial(endless, tmp_path, statuses),
        2: partial(once_begun, tmp_path, interrupt),
    }
    with pytest.raises(KeyboardInterrupt):
        processes.run_all(jobs, 2)
    assert statuses == [-signal.SIGKILL] and signal.getsignal(signal.SIGINT) is before
