# SPDX-License-Identifier: BSD-3-Clause
"""Simulations at once: all end, whichever fails. That an interrupt ends them is in tests/cli/test_streams.py."""

import signal

import pytest

from fabric_twins import simulate
from fabric_twins.errors import TwinError
from fabric_twins.pool import pool
from tests.guard import GUARD_S


def endless(folder):
    """Simulate something that does not end, and tell that it has begun."""
    return simulate._run(["sh", "-c", "touch begun; exec sleep 600"], {"PATH": "/usr/bin:/bin"}, folder, GUARD_S, "it")


def fails(begun):
    while not begun.exists():
        pass
    raise TwinError("it cannot be simulated")


def test_what_is_asked_is_done():
    with pool(2) as threads:
        asked = [threads.ask(pow, 2, exponent) for exponent in range(9)]
        threads.wait()
        assert [future.result() for future in asked] == [2**exponent for exponent in range(9)]


def test_what_fails_ends_the_others(tmp_path):
    """One runs, one waits for its turn."""
    with pytest.raises(TwinError, match="cannot be simulated"), pool(2) as threads:
        runs, failed = threads.ask(endless, tmp_path), threads.ask(fails, tmp_path / "begun")
        waits = threads.ask(endless, tmp_path)
        threads.wait()
        failed.result()
    assert runs.result()[2] == -signal.SIGKILL and not simulate._running
    # The thread of the one that failed may have begun it.
    assert waits.cancelled() or waits.result()[2] == -signal.SIGKILL


def test_an_interrupt_is_taken_as_before(tmp_path):
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), pool(1) as threads:
        runs = threads.ask(endless, tmp_path)
        assert signal.getsignal(signal.SIGINT) is before
        while not (tmp_path / "begun").exists():
            pass
        signal.raise_signal(signal.SIGINT)
    assert runs.result()[2] == -signal.SIGKILL
    assert signal.getsignal(signal.SIGINT) is before
