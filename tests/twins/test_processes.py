# SPDX-License-Identifier: BSD-3-Clause
"""Simulations wait for a free processor, and all end if one fails; tests/cli/test_streams.py has an interrupt."""

import os
import signal
import subprocess
import sys
import time

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
    spans = [[float(moment) for moment in process.communicate()[0].split()] for process in processes]
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


def endless(folder):
    """Simulate something that does not end, and tell that it has begun."""
    return processes.run(["sh", "-c", "touch begun; exec sleep 600"], {"PATH": "/usr/bin:/bin"}, folder, GUARD_S, "it")


def fails(begun):
    while not begun.exists():
        pass
    raise TwinError("it cannot be simulated")


def test_what_is_asked_is_done():
    with processes.Pool(2) as threads:
        asked = [threads.submit(pow, 2, exponent) for exponent in range(9)]
        threads.wait()
        assert [future.result() for future in asked] == [2**exponent for exponent in range(9)]


def test_what_fails_ends_the_others(tmp_path):
    """One runs, one waits for its turn."""
    with pytest.raises(TwinError, match="cannot be simulated"), processes.Pool(2) as threads:
        runs, failed = threads.submit(endless, tmp_path), threads.submit(fails, tmp_path / "begun")
        waits = threads.submit(endless, tmp_path)
        threads.wait()
        failed.result()
    assert runs.result()[2] == -signal.SIGKILL and not processes._running
    # The thread of the one that failed may have begun it.
    assert waits.cancelled() or waits.result()[2] == -signal.SIGKILL


def test_an_interrupt_is_taken_as_before(tmp_path):
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), processes.Pool(1) as threads:
        runs = threads.submit(endless, tmp_path)
        assert signal.getsignal(signal.SIGINT) is before
        while not (tmp_path / "begun").exists():
            pass
        signal.raise_signal(signal.SIGINT)
    assert runs.result()[2] == -signal.SIGKILL
    assert signal.getsignal(signal.SIGINT) is before
