# SPDX-License-Identifier: BSD-3-Clause
"""What a case makes of its job's end, and of records that cannot be written."""

import logging
import runpy
from types import SimpleNamespace

import pytest
from reframe.core.exceptions import LoggingError, SanityError

from fabric_checks.core.paths import ROOT
from fabric_checks.reframe_ext.mixins import JobMixin
from fabric_checks.reframe_ext.mixins.perflog import PerflogHandler, PerflogMixin
from fabric_checks.schedulers.model import ExitReason
from tests.records.test_perflog import attributes


def case(scheduler=None, **extras):
    return SimpleNamespace(
        current_partition=SimpleNamespace(extras=extras),
        max_pending_time=None,
        job=SimpleNamespace(scheduler=scheduler),
        facts=SimpleNamespace(),
        last_error_line=lambda: "; the last line is 'x'",
    )


def test_how_long_a_job_may_wait():
    """The command line goes before the partition, and no job waits for ever."""
    for extras, given, expected in (({}, None, "1d"), ({"max_pending_time": "12h"}, None, "12h"), ({}, 15.0, 15.0)):
        check = case(**extras)
        check.max_pending_time = given
        JobMixin.bound_pending_time(check)
        assert check.max_pending_time == expected


@pytest.mark.parametrize(("extras", "expected"), [({}, 600.0), ({"launcher_bounds_time": True}, None)])
def test_a_launcher_that_bounds_the_time_of_what_it_starts_is_left_to_it(extras, expected):
    check = case(**extras)
    check.time_limit = 600.0
    JobMixin.leave_time_to_the_launcher(check)
    assert check.time_limit == expected


def test_the_launcher_of_the_simulated_clusters_does():
    systems = runpy.run_path(str(ROOT / "config" / "systems" / "twins.py"))["systems"]
    assert all(part["extras"]["launcher_bounds_time"] for system in systems for part in system["partitions"])


def test_what_the_scheduler_knows_of_a_failed_job_is_the_reason():
    ending = ExitReason("job 7 ran on n1; it was cancelled", {"n1": "n1 is down"})
    check = case(SimpleNamespace(why_failed=lambda job: ending))
    with pytest.raises(SanityError, match=r"^job 7 ran on n1; it was cancelled; the last line is 'x'$"):
        JobMixin.require_finished_job(check)
    assert check.facts.node_faults == {"n1": "n1 is down"}


@pytest.mark.parametrize("scheduler", [SimpleNamespace(), SimpleNamespace(why_failed=lambda job: None)])
def test_a_job_of_which_the_scheduler_knows_nothing_bad_goes_on(scheduler):
    JobMixin.require_finished_job(case(scheduler))


def test_a_case_whose_records_are_not_written_fails_once(tmp_path):
    class Check(PerflogMixin):
        pass

    check = Check.__new__(Check)
    handler = PerflogHandler(tmp_path)
    handler.emit(logging.makeLogRecord(attributes(__rfm_check__=check)))
    check.require_records()
    (tmp_path / "s" / "p" / "A.jsonl").unlink()
    (tmp_path / "s" / "p" / "A.jsonl").mkdir()
    with pytest.raises(LoggingError, match=r"A\.jsonl: Is a directory: 2 records are not in the perflog"):
        handler.emit(logging.makeLogRecord(attributes(__rfm_check__=check)))
    with pytest.raises(LoggingError, match=r"A\.jsonl: Is a directory: 2 records are not in the perflog"):
        check.require_records()
    check.require_records()
