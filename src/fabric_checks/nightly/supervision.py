# SPDX-License-Identifier: BSD-3-Clause
"""Run ``ci/run`` or ReFrame as processes of their own, which end with the process that started them."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fabric_checks.core.paths import ROOT
from fabric_checks.core.text import uncoloured
from fabric_checks.nightly import journal
from fabric_checks.nightly.model import Night
from fabric_checks.nightly.plan import Plan, Trouble
from fabric_checks.nightly.service import why_no_job_can_start

#: A night does not begin with less room than this for its results.
LEAST_ROOM_B = 256 * 2**20
#: How long a run may tidy up when it is interrupted.
GRACE_S = 60


def run(plan: Plan, lock: int, trouble: Trouble) -> float | None:
    """Run the level.

    :param lock: a descriptor that the run inherits.
    :param trouble: gets why there was no run, or why it did not end as a run does.
    :returns: how long it took, in seconds; None if it could not begin.
    """
    if why := _no_room(plan.results) or why_no_job_can_start(plan.system):
        trouble.failures.append(f"nothing was run: {why}")
        return None
    begins = Night(plan.session, plan.system, plan.level, ended=False)
    trouble.attempt("the journal", lambda: journal.append(plan.journal, begins))
    if trouble.failures:
        return None
    began = time.monotonic()
    line = [
        # What the options say of it comes later, and counts.
        str(ROOT / "ci" / "run"), "--one-job=declared", "--system", plan.system, "--mode", plan.level,
        "--report-junit", str(plan.files / "junit.xml"), *plan.options,
    ]  # fmt: skip
    env = os.environ | {
        "FABRIC_SESSION": plan.session,
        "FABRIC_RESULTS": str(plan.results),
    }
    with (plan.files / "run.log").open("w") as log, supervised() as start:
        process = start(line, env=env, stdout=log, pass_fds=(lock,))
        status = process.wait()
    elapsed_s = time.monotonic() - began
    # 0: all passed; 1: something failed, which the report explains better.
    if status not in (0, 1):
        trouble.failures.append(
            f"ci/run ended with status {status}: {_last_line(plan.files / 'run.log')}"
        )
    elif not plan.log.exists():
        trouble.failures.append(
            f"ci/run failed before it could start ReFrame: {_last_line(plan.files / 'run.log')}"
        )
    return elapsed_s if plan.log.exists() else None


def _no_room(results: Path) -> str | None:
    """Return why a night cannot keep its results, or None if it can."""
    room_B = shutil.disk_usage(results).free
    if room_B >= LEAST_ROOM_B:
        return None
    return (
        f"{results}: {room_B / 2**20:.0f} MiB are free, and a night needs {LEAST_ROOM_B / 2**20:.0f}; make"
        " room, for example by deleting the folders of old runs below stage and output"
    )


@contextmanager
def supervised() -> Iterator[Callable[..., subprocess.Popen[Any]]]:
    """Yield a function that starts commands as :class:`subprocess.Popen` does, and end those that are left.

    A signal that ends this process ends them too: ReFrame cancels its jobs when it is interrupted. Each
    process is a session of its own, so that it gets no signal of the terminal.
    """
    running: list[subprocess.Popen[Any]] = []
    came: int | None = None
    is_deferred = False

    def end(number: int, _frame: object = None) -> None:
        nonlocal came
        came = number
        if not is_deferred:
            raise SystemExit(128 + number)

    def start(line: list[str], **options: Any) -> subprocess.Popen[Any]:
        nonlocal is_deferred
        is_deferred = True  # a process that is just being started is to be known before this one ends
        try:
            running.append(
                subprocess.Popen(
                    line,
                    stdin=subprocess.DEVNULL,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                    **options,
                )
            )
        finally:
            is_deferred = False
        if came is not None:
            end(came)
        return running[-1]

    # Before anything is started: processes inherit ignored signals, as interrupts are where a script runs in
    # the background.
    before = {
        number: signal.signal(number, end)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    }
    try:
        yield start
    finally:
        is_deferred = True
        for process in running:
            if process.poll() is None:
                _interrupt(process)
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt(process: subprocess.Popen[Any]) -> None:
    os.killpg(process.pid, signal.SIGINT)
    try:
        process.wait(GRACE_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _last_line(path: Path) -> str:
    """Return the last error in the output of a run, or else its last line."""
    lines = [
        line.strip()
        for line in uncoloured(path.read_text(errors="replace")).splitlines()
        if line.strip()
    ]
    errors = [line for line in lines if line.lower().startswith("error: ")]
    return (errors or lines or ["it printed nothing"])[-1][:300]
