# SPDX-License-Identifier: BSD-3-Clause
"""The limits of a case's job, the wait for another session's job on its host, and a system without
environments."""

from types import SimpleNamespace

import pytest

from fabric_checks.core import locks
from fabric_checks.reframe_ext.mixins import LayoutMixin
from tests.core.test_locks import Holder


def case(dry_run=False, **extras):
    return SimpleNamespace(
        current_partition=SimpleNamespace(extras=extras),
        display_name="a check",
        is_dry_run=lambda: dry_run,
        max_pending_time=None,
        time_limit=600.0,
    )


@pytest.mark.parametrize(
    ("extras", "given", "expected"),
    [
        ({}, None, "1d"),
        ({"max_pending_time": "12h"}, None, "12h"),
        ({"max_pending_time": "12h"}, 15.0, 15.0),
    ],
)
def test_the_command_line_then_the_partition_bounds_the_time_in_the_queue(
    extras, given, expected
):
    check = case(**extras)
    check.max_pending_time = given
    LayoutMixin.bound_pending_time(check)
    assert check.max_pending_time == expected


@pytest.mark.parametrize(
    ("extras", "expected"), [({}, 600.0), ({"launcher_bounds_time": True}, None)]
)
def test_a_launcher_that_bounds_the_time_replaces_the_jobs_limit(extras, expected):
    check = case(**extras)
    LayoutMixin.leave_time_to_the_launcher(check)
    assert check.time_limit == expected


def test_the_holder_of_the_host_is_named_and_the_lock_is_left_to_the_job(
    tmp_path, monkeypatch
):
    holder = Holder(tmp_path / "lock")
    texts = []

    def info(text):
        texts.append(text)
        holder.release()

    monkeypatch.setattr(
        "fabric_checks.reframe_ext.mixins.layout.getlogger",
        lambda: SimpleNamespace(info=info),
    )
    LayoutMixin.wait_for_host(case(host_lock=str(tmp_path / "lock")))
    (text,) = texts
    assert text.startswith(
        f"a check waits for another session's job on this host: process {holder.process.pid} of "
    )
    with locks.exclusive(tmp_path / "lock", 0):  # raises if it is still held
        pass


def test_the_wait_for_the_host_has_an_end(tmp_path, monkeypatch):
    monkeypatch.setattr(locks, "HOST_WAIT_S", 0)
    with (
        locks.exclusive(tmp_path / "lock", 0),
        pytest.raises(locks.LockedError, match="lock: locked by process"),
    ):
        LayoutMixin.wait_for_host(case(host_lock=str(tmp_path / "lock")))


def test_a_case_goes_on_with_a_warning_without_a_folder_for_the_lock(
    tmp_path, monkeypatch
):
    warnings = []
    logger = SimpleNamespace(warning=lambda text, cache: warnings.append((text, cache)))
    monkeypatch.setattr(
        "fabric_checks.reframe_ext.mixins.layout.getlogger", lambda: logger
    )
    (tmp_path / "taken").symlink_to("/")
    LayoutMixin.wait_for_host(case(host_lock=str(tmp_path / "taken" / "lock")))
    ((text, is_once),) = warnings
    assert (
        is_once
        and text.startswith(f"{tmp_path}/taken belongs to ")
        and text.endswith("values: have it removed")
    )


def test_without_a_lock_or_in_a_dry_run_there_is_no_wait(tmp_path):
    with locks.exclusive(tmp_path / "lock", 0):
        LayoutMixin.wait_for_host(case())
        LayoutMixin.wait_for_host(case(dry_run=True, host_lock=str(tmp_path / "lock")))
