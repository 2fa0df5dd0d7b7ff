# SPDX-License-Identifier: BSD-3-Clause
"""Forked processes: what they must not keep of their parent, how they end, and how they are waited for."""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# How long a command may take to end after it was told to.
GRACE = 10.0

_SI_KERNEL = 0x80


def fork(work: Callable[[], int]) -> int:
    """Run a function in a child process and return its number; the child ends with what the function returns."""
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


def close_all_but(*keep: int) -> None:
    """Close what a forked process has from its parent, but standard input and output and what is named."""
    for descriptor in sorted({int(path.name) for path in Path("/proc/self/fd").iterdir()} - {0, 1, 2, *keep}):
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

    The signals must be blocked. A child that takes too long to end when it was told to is killed.
    """
    deadline = None
    while True:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code
        left = 3600.0 if deadline is None else deadline - time.monotonic()
        caught = signal.sigtimedwait((*ENDING, signal.SIGCHLD), max(left, 0))
        if caught is None and deadline is not None:
            os.kill(child, signal.SIGKILL)
        elif caught is not None and caught.si_signo in ENDING:
            deadline = deadline or time.monotonic() + GRACE
            if caught.si_code != _SI_KERNEL:  # the terminal sends to both
                os.kill(child, caught.si_signo)
