# SPDX-License-Identifier: BSD-3-Clause
"""Whole sessions of the checks of our own programs: healthy, and with one rank of each program killed."""

import contextlib
import os
import signal
import threading
import time
from pathlib import Path

from fabric_checks.records import runs
from tests.conftest import ROOT, TESTS
from tests.sessions import Run

PROGRAMS = {path.stem for path in (ROOT / "checks/fabric/src").glob("*.c")} - {
    "placement"
}


def session(results, *arguments):
    """Run reframe for real and return its status and what it left."""
    settings = TESTS / "settings.py"
    done = Run(results, *arguments, settings=settings, suites=["fabric"]).wait()
    return done.status, done.session


@contextlib.contextmanager
def killer(results):
    """Kill one rank of each of our programs that runs below a folder, as soon as it is seen."""
    killed, over = set(), threading.Event()

    def watch():
        while not over.is_set():
            for process in Path("/proc").glob("[0-9]*"):
                with contextlib.suppress(OSError):
                    program = (process / "exe").readlink()
                    # The ranks of one launch have one launcher: one of them is enough.
                    parent = (process / "stat").read_text().rsplit(")", 1)[1].split()[1]
                    if (
                        program.name in PROGRAMS
                        and results in program.parents
                        and parent not in killed
                    ):
                        killed.add(parent)
                        os.kill(int(process.name), signal.SIGKILL)
            time.sleep(0.02)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def test_a_killed_rank_fails_every_check_and_says_so(tmp_path):
    with killer(tmp_path):
        # One case of each: `rotate` in another pattern is the same program.
        left_out = "queue_depth=(16|32)|poll=test|pattern=(rotate|shift|bisection)|wait=blocking"
        status, found = session(tmp_path, "--tag", "fabric", "-x", left_out)
    assert status != 0
    assert runs.verdict(found)
    cases = [case for case in found.cases if not case.fixture]
    assert {case.name.split()[0] for case in cases} == {
        "BufferReuse", "CollectiveOverlap", "HotSpot", "LatencyMap", "Notification", "Overlap", "Rotate",
        "Streaming", "StreamingQueue",
    }  # fmt: skip
    for case in cases:
        assert case.result == "fail", case.name
        assert "the program ended with exit status" in case.reason, (
            case.name,
            case.reason,
        )
    assert not [record for record in found.records if record["metric"] is not None]


def test_findings_are_kept_with_the_values(tmp_path):
    status, found = session(tmp_path, "-n", "Rotate")
    assert status == 0
    kinds = {
        finding["kind"] for record in found.records for finding in record["findings"]
    }
    assert {"slowest pair", "plateaus"} <= kinds
