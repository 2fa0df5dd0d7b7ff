# SPDX-License-Identifier: BSD-3-Clause
"""A case waits for another session's job on its host before its own time counts."""

from types import SimpleNamespace

import pytest

from fabric_checks.core import locks
from fabric_checks.reframe_ext.mixins import HostLockMixin
from tests.core.test_locks import Holder


def wait(extras, dry_run=False):
    check = SimpleNamespace(
        current_partition=SimpleNamespace(extras=extras), is_dry_run=lambda: dry_run, display_name="a check"
    )
    HostLockMixin.wait_for_host(check)


def test_it_says_for_whom_it_waits_and_leaves_the_lock_to_the_job(tmp_path, monkeypatch):
    holder = Holder(tmp_path / "lock")
    said = []

    def info(text):
        said.append(text)
        holder.let_go()

    monkeypatch.setattr("fabric_checks.reframe_ext.mixins.host_lock.getlogger", lambda: SimpleNamespace(info=info))
    wait({"host_lock": str(tmp_path / "lock")})
    (text,) = said
    assert text.startswith(f"a check waits for another session's job on this host: process {holder.process.pid} of ")
    with locks.exclusive(tmp_path / "lock", 0):  # raises if it is still held
        pass


def test_the_wait_has_an_end(tmp_path, monkeypatch):
    monkeypatch.setattr(locks, "HOST_WAIT_S", 0)
    with (
        locks.exclusive(tmp_path / "lock", 0),
        pytest.raises(locks.LockedError, match="lock: locked by process"),
    ):
        wait({"host_lock": str(tmp_path / "lock")})


def test_nobody_waits_who_has_no_lock_or_does_not_run(tmp_path):
    with locks.exclusive(tmp_path / "lock", 0):
        wait({})
        wait({"host_lock": str(tmp_path / "lock")}, dry_run=True)
