# SPDX-License-Identifier: BSD-3-Clause
"""A case's facts of its job's end, of a program that failed, and of records that cannot be written."""

import logging
import re
from functools import partial
from types import SimpleNamespace

import pytest
from reframe.core.exceptions import LoggingError, SanityError

from fabric_checks.core.layouts import Layout
from fabric_checks.core.metrics import Headline, Metric
from fabric_checks.reframe_ext.handlers import PerflogHandler
from fabric_checks.reframe_ext.mixins import RecordMixin
from fabric_checks.reframe_ext.mixins.record import AFTER, BEFORE
from fabric_checks.schedulers.model import ExitReason
from tests.parsers.test_launch_errors import CUT
from tests.records.test_perflog import attributes


def case(scheduler=None, stage=None, **attributes):
    of_job = {
        "job": SimpleNamespace(scheduler=scheduler),
        "stagedir": stage,
        "time_limit": 600.0,
    }
    files = {"stderr": "rfm_job.err", "stdout": "rfm_job.out"}
    check = SimpleNamespace(facts=SimpleNamespace(), **of_job, **files, **attributes)
    check.with_cause = lambda what: f"{what}; the last line is 'x'"
    check._text_of = lambda name: RecordMixin._text_of(check, name)
    return check


def test_a_failed_jobs_reason_is_that_of_the_scheduler():
    ending = ExitReason("job 7 ran on n1; it was cancelled", {"n1": "n1 is down"})
    check = case(SimpleNamespace(why_failed=lambda job: ending))
    with pytest.raises(
        SanityError, match=r"^job 7 ran on n1; it was cancelled; the last line is 'x'$"
    ):
        RecordMixin.require_finished_job(check)
    assert check.facts.node_faults == {"n1": "n1 is down"}


@pytest.mark.parametrize(
    "how, faults",
    [
        ("a node of it failed (NODE_FAIL): n2 is down", {"n2": "n2 is down"}),
        ("it was cancelled, but not by this session (CANCELLED)", {}),
    ],
)
def test_a_launcher_has_no_say_where_the_scheduler_knows_the_cause(how, faults):
    """It prints of another node that it failed, or of a signal with which the scheduler ended its tasks."""
    text = f"job 7 ran on n1, n2; {how}"
    ending = ExitReason(text, faults)
    check = case(SimpleNamespace(why_failed=lambda job: ending))
    with pytest.raises(SanityError, match=f"^{re.escape(text)}$"):
        RecordMixin.require_finished_job(check)


@pytest.mark.parametrize(
    "scheduler", [SimpleNamespace(), SimpleNamespace(why_failed=lambda job: None)]
)
def test_a_job_without_a_known_fault_continues(scheduler):
    RecordMixin.require_finished_job(case(scheduler))


@pytest.mark.parametrize(
    "began, ended, expected",
    [
        ("n1\n100.00 7.00\n", "n1\n112.34 9.00\n", 12.34),
        (None, "n1\n112.34 9.00\n", None),
        ("n1\n100.00 7.00\n", None, None),
        ("n1\n112.34 9.00\n", "n1\n100.00 7.00\n", None),
        ("n1\n100.00 7.00\n", "n1\n9000.00 7.00\n", None),
        ("n2\n100.00 7.00\n", "n1\n112.34 9.00\n", None),
        ("", "n1\n112.34 9.00\n", None),
    ],
)
def test_the_elapsed_time_needs_both_uptimes_within_twice_the_limit(
    tmp_path, began, ended, expected
):
    for name, text in ((BEFORE, began), (AFTER, ended)):
        if text is not None:
            (tmp_path / name).write_text(text)
    assert RecordMixin.elapsed_s(case(stage=tmp_path)) == expected


def test_the_load_is_that_of_the_host_before_and_after(tmp_path):
    (tmp_path / BEFORE).write_text("n1\n100.00 7.00\n0.50 2.00 3.00 1/400 7\n2\n")
    (tmp_path / AFTER).write_text("n1\n112.34 9.00\n24.00 2.00 3.00 26/400 7\n2\n")
    check = case(stage=tmp_path)
    RecordMixin.note_load(check)
    assert vars(check.facts) == {
        **{"load_1min_before": 0.5, "runnable_processes_before": 1, "host_cores": 2},
        **{"load_1min_after": 24.0, "runnable_processes_after": 26},
    }
    (tmp_path / BEFORE).write_text("n1\n100.00 7.00\n")
    (tmp_path / AFTER).unlink()
    RecordMixin.note_load(check := case(stage=tmp_path))
    assert not vars(check.facts)


def test_a_dry_run_leaves_no_record(tmp_path):
    check = SimpleNamespace(is_dry_run=lambda: True)
    PerflogHandler(tmp_path).emit(
        logging.makeLogRecord(attributes(__rfm_check__=check))
    )
    assert not list(tmp_path.iterdir())


def test_a_case_whose_records_are_not_written_fails_once(tmp_path):
    class Check(RecordMixin):
        def is_dry_run(self):
            return False

    check = Check.__new__(Check)
    check.stagedir = str(tmp_path)
    handler = PerflogHandler(tmp_path)
    handler.emit(logging.makeLogRecord(attributes(__rfm_check__=check)))
    check.require_records()
    (tmp_path / "s/p/A.jsonl").unlink()
    (tmp_path / "s/p/A.jsonl").mkdir()
    with pytest.raises(
        LoggingError,
        match=r"A\.jsonl: Is a directory: 2 records are not in the perflog",
    ):
        handler.emit(logging.makeLogRecord(attributes(__rfm_check__=check)))
    with pytest.raises(
        LoggingError,
        match=r"A\.jsonl: Is a directory: 2 records are not in the perflog",
    ):
        check.require_records()
    check.require_records()


def test_a_failure_is_explained_by_the_files_of_its_job(tmp_path):
    (tmp_path / "rfm_job.out").write_text("a table\n")
    explained = partial(
        RecordMixin.with_cause, case(stage=tmp_path, program_logs="nccl/*.txt")
    )
    assert (
        explained("it failed") == "it failed; the last line of rfm_job.out is 'a table'"
    )
    (tmp_path / "rfm_job.err").write_text(CUT)
    assert explained("it failed").startswith("MPICH could not start, ") and explained(
        "it failed"
    ).endswith("(it failed)")


def test_the_cause_may_be_in_what_nccl_logs_alone(tmp_path):
    (tmp_path / "rfm_job.out").write_text(
        "a7: Test NCCL failure common.cu:958 'remote process exited'\n"
    )
    (tmp_path / "nccl").mkdir()
    (tmp_path / "nccl/a2.11.txt").write_text(
        "a2:11:40 [0] NCCL INFO Connected all rings\n"
    )
    (tmp_path / "nccl/a7.12.txt").write_text(
        "a7:12:40 [1] NCCL INFO Connected all rings\n"
        "a7:12:41 [1] ib_plugin.c:1615 NCCL WARN NET/IB : Got completion from peer 10.9.0.3<41000> with"
        " status=12 opcode=1 len=0 vendor err 129 (Send) localGid ::ffff:10.9.0.7 remoteGids::ffff:10.9.0.3"
        " hca mlx5_1\na7:12:41 [1] NCCL INFO proxy.cc:698 -> 6\n"
    )
    said = RecordMixin.with_cause(
        case(stage=tmp_path, program_logs="nccl/*.txt"), "it failed"
    )
    assert "no answer from 10.9.0.3 over mlx5_1 (status 12, vendor error 129)" in said
    bare = RecordMixin.with_cause(case(stage=tmp_path, program_logs=""), "it failed")
    assert "10.9.0.3" not in bare and "remote process exited" in bare


@pytest.mark.parametrize(
    "benchmark, layout, title",
    [("bw", "2x1", "peak"), ("bibw", "2x1", None), ("bw", "1x1", None)],
)
def test_a_metric_carries_the_headline_that_fits_it(benchmark, layout, title):
    headline = Headline(
        "peak", "bandwidth", "Pairs", 1, least_tasks=2, parameters={"benchmark": "bw"}
    )
    own = {
        "headlines": (headline,),
        "own_parameters": {"benchmark": benchmark},
        "current_layout": Layout.of(layout),
    }
    metrics = [
        Metric("bandwidth_8B", "MB/s", "larger", "bandwidth", 8, one_way=True),
        Metric("rate", "1/s", "larger"),
    ]
    found = RecordMixin._facts_of(case(**own), metrics)
    assert (found["bandwidth_8B"].headline or {}).get("title") == title and found[
        "bandwidth_8B"
    ].one_way
    assert found["rate"].headline is None and not found["rate"].one_way
