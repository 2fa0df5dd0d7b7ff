# SPDX-License-Identifier: BSD-3-Clause
"""Run simulations: at most one a processor at a time, each for a limited time, and none outlives its
caller."""

from __future__ import annotations

import fcntl
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO, TypeVar

from fabric_checks.core.paths import home
from fabric_twins.errors import TwinError

_K = TypeVar("_K", bound=Hashable)
_T = TypeVar("_T")

#: How often a process that waits for a slot looks again, in s.
_WAIT_S = 0.05

#: The simulations that run now, in any thread.
_running: set[subprocess.Popen[str]] = set()


def count() -> int:
    """Return the number of processors that this process may use: more simulations at once gain nothing."""
    return len(os.sched_getaffinity(0))


@contextmanager
def slot(folder: Path | None = None, number: int | None = None) -> Iterator[None]:
    """Wait for a free slot of this machine and hold it; it is free again when its process ends, however that
    is.

    :param folder: the files that stand for slots; ``twins/slots`` in the home of the installation if it is
        not given.
    :param number: of slots; that of the processors if it is not given.
    :raises OSError: if the folder cannot be written.
    """
    folder = folder or home() / "twins/slots"
    folder.mkdir(parents=True, exist_ok=True)
    files = [_slot(folder / str(index)) for index in range(number or count())]
    try:
        while not any(_is_taken(file) for file in files):
            time.sleep(_WAIT_S)
        yield
    finally:
        for file in files:
            file.close()


def _slot(path: Path) -> TextIO:
    """Open the file of a slot, which no other user can lock."""
    file = path.open("w")
    path.chmod(0o600)
    return file


def _is_taken(file: TextIO) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def run(
    command: Sequence[str],
    environment: dict[str, str],
    folder: str,
    limit_s: float,
    what: str,
) -> tuple[str, str, int]:
    """Run a command, and return its output, its errors without reports of progress, and its status.

    :param limit_s: wall time; then the command is killed, and all that it started.
    :param what: the name of the simulation, for messages.
    :raises TwinError: if it takes too long.
    """
    with subprocess.Popen(
        command,
        env=environment,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        _running.add(process)
        try:
            stdout, stderr = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            raise TwinError(
                f"{what}: the simulation is not done after {limit_s:g} s; give it fewer nodes or fewer"
                " --shifts, or raise --time-limit"
            ) from None
        finally:
            _kill(process)
            _running.discard(process)
    return stdout, re.sub(r"(?m)^\w+: .* s left$\n?", "", stderr), process.returncode


def _kill(process: subprocess.Popen[str]) -> None:
    with suppress(ProcessLookupError):  # it has ended since
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)


def run_all(
    jobs: Mapping[_K, Callable[[], _T]], at_once: int | None = None
) -> dict[_K, _T]:
    """Call functions that simulate, each in a thread; return their results by the same keys.

    If one fails, or this is interrupted, the simulations of the others are killed.

    :param at_once: how many run at a time; as many as there are processors if it is not given.
    """
    futures: dict[_K, Future[_T]] = {}
    with ThreadPoolExecutor(at_once or count()) as threads:
        try:
            for key, job in jobs.items():
                with _uninterrupted():
                    futures[key] = threads.submit(job)
            left = set(futures.values())
            while left:
                # The system may hand an interrupt to any thread; the main one learns of it when it wakes up.
                done, left = wait(left, timeout=0.5, return_when=FIRST_EXCEPTION)
                for future in done:
                    future.result()
            return {key: future.result() for key, future in futures.items()}
        finally:
            with _uninterrupted():
                _end(futures.values())


def _end(futures: Iterable[Future[Any]]) -> None:
    """Kill the simulations that threads wait for; a thread whose simulation is killed begins no other."""
    left = [future for future in futures if not future.cancel()]
    while left:
        for process in list(_running):
            _kill(process)
        left = list(wait(left, timeout=0.1).not_done)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Let an interrupt wait for the end of the block.

    In the middle of starting a thread it would leave one that nobody ends, and that Python waits for before
    it exits.
    """
    before = signal.getsignal(signal.SIGINT)
    if before is None or threading.current_thread() is not threading.main_thread():
        yield  # no interrupt comes to Python, or none to this thread
        return
    came: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        signal.raise_signal(signal.SIGINT)
