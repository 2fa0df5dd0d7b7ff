# SPDX-License-Identifier: BSD-3-Clause
"""Simulations wait for each other."""

import os
import signal
import subprocess
import sys
import time

import pytest

from fabric_twins import slots
from tests.guard import GUARD_S

HOLDER = """\
import sys, time
from pathlib import Path
from fabric_twins.slots import slot
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
    with slots.slot(tmp_path, 1):
        assert time.monotonic() - begin < GUARD_S / 2


def test_there_are_as_many_as_processors(tmp_path):
    with slots.slot(tmp_path):
        assert len(list(tmp_path.iterdir())) == len(os.sched_getaffinity(0))
