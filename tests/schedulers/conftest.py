# SPDX-License-Identifier: BSD-3-Clause
"""A clock that only a test moves."""

import time
from types import SimpleNamespace

import pytest

from fabric_checks.schedulers import patience


@pytest.fixture
def clock(monkeypatch):
    """Return the clock by which Flux's and PBS's jobs are waited for; it stands still at ``now``."""
    stands = SimpleNamespace(now=time.time())
    stands.time = stands.monotonic = lambda: stands.now
    monkeypatch.setattr(patience, "time", stands)
    return stands
