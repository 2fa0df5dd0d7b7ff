# SPDX-License-Identifier: BSD-3-Clause
"""The run of a night: ``ci/run`` as a process of its own, which is ended with its night."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fabric_checks.core.paths import ROOT
from fabric_checks.nightly import journal
from fabric_checks.nightly.plan import Plan, Trouble
from fabric_checks.nightly.service import nobody_in_service

#: A night does not begin with less room than this for its results.
LEAST_ROOM_B = 256 * 2**20
#: So long a run has to tidy up when its night is ended.
GRACE_S = 60


def run(plan: Plan, lock: int, trouble: Trouble) -> float | None:
    """Run the level.

    :param lock: a descriptor that the run inherits.
    :param trouble: gets why there was no run, or why it did not end as a run does.
    :returns: how long it took; None if it could not begin.
    """
    if why := _no_room(plan.results) or nobody_in_service(plan.system):
        trouble.failures.append(f"nothing was run: {why}")
        return None
    if not trouble.attempt("the journal", lambda: journal.begin(plan.journal, plan.session, plan.level)):
        return None
    began = time.monotonic()
    line = [
        str(ROOT / "ci" / "run"), "--system", plan.system, "--mode", plan.level,
        "--report-junit", str(plan.files / "cases.xml"), *plan.options,
    ]  # fmt: skip
    env = os.environ | {"FABRIC_SESSION": plan.session, "FABRIC_RESULTS": str(plan.results)}
    with (plan.files / "run.log").open("w") as log:
        status = status_of(lambda: subprocess.Popen(
            line, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, pass_fds=(lock,),
            start_new_session=True,
        ))  # fmt: skip
    elapsed_s = time.monotonic() - began
    # 0 is a run in which all passed, 1 one in which something failed, which the report tells better.
    if status not in (0, 1):
        trouble.failures.append(f"ci/run ended with status {status}: {_last_line(plan.files / 'run.log')}")
    elif not (plan.results / "logs" / f"{plan.session}.log").exists():
        trouble.failures.append(f"ci/run failed before it could start ReFrame: {_last_line(plan.files / 'run.log')}")
    return elapsed_s


def _no_room(results: Path) -> str | None:
    """Return why a night cannot keep what it measures, if so."""
    room_B = shutil.disk_usage(results).free
    if room_B >= LEAST_ROOM_B:
        return None
    return (
        f"{results}: {room_B / 2**20:.0f} MiB are free, and a night needs {LEAST_ROOM_B / 2**20:.0f}; make room, for "
        "example by deleting the folders of old runs below stage and output"
    )


def status_of(start: Callable[[], subprocess.Popen[Any]]) -> int:
    """Start a run, in a session of its own, and return its exit status; whoever ends this process ends it too."""
    run: subprocess.Popen[Any] | None = None
    came: int | None = None

    def end(number: int, _frame: object = None) -> None:
        nonlocal came
        came = number
        if run is None:
            return  # it is just being started, and is ended as soon as it is known
        # ReFrame ends in order by an interrupt: it cancels its jobs. Its processes are a group of their own.
        os.killpg(run.pid, signal.SIGINT)
        raise SystemExit(128 + number)

    # First of all: a run inherits what is ignored, as interrupts are where a script starts a night in the background.
    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
    try:
        run = start()
        if came is not None:
            end(came)
        return run.wait()
    except SystemExit:
        assert run is not None
        try:
            run.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            os.killpg(run.pid, signal.SIGKILL)
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _last_line(path: Path) -> str:
    lines = [line for line in path.read_text(errors="replace").splitlines() if line.strip()]
    return lines[-1].strip()[:300] if lines else "it printed nothing"
