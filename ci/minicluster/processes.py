# SPDX-License-Identifier: BSD-3-Clause
"""Forked processes: what they must not keep of their parent, how they end, and how they are waited for."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NoReturn

from .errors import ClusterError

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# The longest time that a command may take to end after a signal to end.
GRACE = 10.0
# A bound for every other wait for one thing; on a busy machine a daemon takes many times as long as it needs.
PATIENCE = 60.0

_SI_KERNEL = 0x80


def fork(work: Callable[[], int]) -> int:
    """Run a function in a child process and return its number; the child ends with what the function
    returns."""
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        _work(work)
    return child


def _work(work: Callable[[], int]) -> NoReturn:
    status = 1
    try:
        status = work()
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def readable(descriptor: int, seconds: float) -> bool:
    """Wait so long until something can be read, or until a process has ended, of which this is the
    descriptor."""
    return bool(select.select([descriptor], [], [], max(seconds, 0))[0])


def read_all(descriptor: int, seconds: float, what: str) -> str:
    """Return what comes through a pipe until its end, and close it."""
    deadline, text = time.monotonic() + seconds, b""
    with os.fdopen(descriptor, "rb", buffering=0) as pipe:
        while readable(descriptor, deadline - time.monotonic()):
            more = pipe.read(65536)
            if not more:
                return text.decode()
            text += more
    raise ClusterError(f"{what} takes more than {seconds:g} s")


def wait_for_end(child: int, seconds: float, what: str) -> int:
    """Reap a child that is about to end, and return its exit status as `Popen` has it.

    Even SIGKILL does not end a process that waits for a disk or a driver: what is left then is named.
    """
    process = os.pidfd_open(child)
    try:
        if not readable(process, seconds):
            raise ClusterError(
                f"{what} has not ended after {seconds:g} s: {', '.join(_left(child))}"
            )
    finally:
        os.close(process)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _left(process: int) -> list[str]:
    """Return a process and all below it that live, each with its state and where in the kernel it waits:
    proc(5)."""
    parents, lines = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
            name, wait = (
                (folder / "comm").read_text().strip(),
                (folder / "wchan").read_text(),
            )
        except OSError:
            continue  # it has ended by now, or is somebody else's
        parents[folder.name] = parent
        if state != "Z":
            lines[folder.name] = f"{name} ({folder.name}) is in state {state} at {wait}"

    def below(number: str) -> bool:
        return number == str(process) or (number in parents and below(parents[number]))

    return [line for number, line in lines.items() if below(number)]


def run_program(
    command: list[str],
    seconds: float,
    text: str = "",
    environment: Mapping[str, str] | None = None,
    before: Callable[[], None] | None = None,
) -> str:
    """Run a program that reads a text, does one thing and ends; return its output.

    :param before: what its process does before it becomes the program.
    :raises ClusterError: with the program's own words if it fails, or if it takes too long: then it is
        killed, and not waited for, because it may not be able to die.
    """
    pipe = subprocess.PIPE
    with_environment = None if environment is None else os.environ | environment
    process = subprocess.Popen(
        command,
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        text=True,
        env=with_environment,
        preexec_fn=before,
    )
    try:
        out, err = process.communicate(text, timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        raise ClusterError(f"{command[0]} takes more than {seconds:g} s") from None
    if process.returncode != 0:
        lines = (err.strip() or out.strip() or "no message").splitlines()
        raise ClusterError(f"{command[0]} failed: {lines[-1]}")
    return out


def close_all_but(*keep: int) -> None:
    """Close what a forked process has from its parent, but standard input and output and what is named."""
    for descriptor in sorted(
        {int(path.name) for path in Path("/proc/self/fd").iterdir()} - {0, 1, 2, *keep}
    ):
        try:
            os.close(descriptor)
        except OSError:
            continue  # the one that listed the folder, which is closed by now


def reset_signals() -> None:
    for number in (*ENDING, signal.SIGCHLD, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def block_signals() -> None:
    """Keep the signals that end a command, and those of children, for `wait_for`."""
    signal.pthread_sigmask(signal.SIG_BLOCK, (*ENDING, signal.SIGCHLD))


def wait_for(child: int) -> int:
    """Wait for a child and return its exit status; what is sent to this process meanwhile goes to the child.

    The signals must be blocked. A child that takes too long to end after its signal is killed; one that does
    not even end by that is left.
    """
    deadline, killed = None, False
    while True:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code
        left = 3600.0 if deadline is None else deadline - time.monotonic()
        caught = signal.sigtimedwait((*ENDING, signal.SIGCHLD), max(left, 0))
        if caught is None and killed:
            print(
                f"error: after SIGKILL the command is left: {', '.join(_left(child))}",
                file=sys.stderr,
            )
            return 128 + signal.SIGKILL
        if caught is None and deadline is not None:
            os.kill(child, signal.SIGKILL)
            deadline, killed = time.monotonic() + GRACE, True
        elif caught is not None and caught.si_signo in ENDING:
            deadline = deadline or time.monotonic() + GRACE
            if caught.si_code != _SI_KERNEL:  # the terminal sends to both
                os.kill(child, caught.si_signo)
