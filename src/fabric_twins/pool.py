# SPDX-License-Identifier: BSD-3-Clause
"""Several simulations at once, each in a thread; what is left of them ends with the block that asked for them."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

from fabric_twins import simulate

_P = ParamSpec("_P")
_T = TypeVar("_T")


class Pool:
    """What was asked for; see :func:`pool`."""

    def __init__(self, threads: ThreadPoolExecutor) -> None:
        self._threads = threads
        self._asked: list[Future[Any]] = []

    def ask(self, function: Callable[_P, _T], *arguments: _P.args, **named: _P.kwargs) -> Future[_T]:
        """Let a thread call a function that simulates; return what becomes of it."""
        with _uninterrupted():
            future = self._threads.submit(function, *arguments, **named)
            self._asked.append(future)
        return future

    def wait(self) -> None:
        """Wait until all is done, or something failed.

        The system may hand an interrupt to any thread, and the main one learns of it when it wakes up, as it does here.
        """
        left = set(self._asked)
        while left:
            done, left = wait(left, timeout=0.5, return_when=FIRST_EXCEPTION)
            if any(future.exception() for future in done):
                return

    def end(self) -> None:
        """End the simulations that threads wait for; a thread whose simulation is killed begins no other."""
        left = [future for future in self._asked if not future.cancel()]
        while left:
            simulate.end_running()
            left = list(wait(left, timeout=0.1).not_done)


@contextmanager
def pool(at_once: int) -> Iterator[Pool]:
    """Give a pool of threads; if the block fails or is interrupted, what they simulate is ended.

    :param at_once: how many simulations run at a time.
    """
    with ThreadPoolExecutor(at_once) as threads:
        asked = Pool(threads)
        try:
            yield asked
        finally:
            with _uninterrupted():
                asked.end()


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Let an interrupt wait for the end of the block.

    In the middle of starting a thread it would leave one that nobody ends, and that Python waits for before it exits.
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
