# SPDX-License-Identifier: BSD-3-Clause
"""The computed cost: what each expected of a case rests on, and what comes of them."""

import math
import re
from dataclasses import replace

import pytest

from fabric_checks.records.cost import past
from fabric_checks.records.cost.estimate import Beside, beside_jobs, estimate
from fabric_checks.records.cost.past import BOUND, ELSEWHERE, LAYOUT, OWN, SYSTEM, UNKNOWN, Expected, Past
from fabric_checks.records.cost.plan import Partition, Plan, PlannedCase
from fabric_checks.report.terminal import cost_table
from tests.records.samples import failed, load, record, write

CASE = PlannedCase(
    system="s", partition="p", environ="e", check="A", test="A %layout=4x2", parameters={}, layout="4x2", nodes=4,
    simulated=False, limit_s=600.0,
)  # fmt: skip
PLAN = Plan("--mode nightly", 1, "s", (Partition("p", 8, 1),), (CASE,))


def ran(run=0, layout="4x2", test="A", **fields):
    """Return the records of a case: two metrics, and of each what the case cost."""
    costs = {"elapsed_s": 10.0, "disk_B": 300}
    nodes, ppn = map(int, layout.split("x"))
    common = (
        costs
        | {"check": test.split()[0], "test": f"{test} %layout={layout}", "layout": layout, "nodes": nodes, "ppn": ppn}
        | fields
    )
    return [record(run, metric=metric, **common) for metric in ("one", "two")]


@pytest.fixture
def known(tmp_path):
    """Return a function that makes a past of cases."""

    def make(*cases):
        return Past.of(load(write(tmp_path / "a.jsonl", [each for case in cases for each in case]), past.FIELDS).frame)

    return make


def test_a_case_costs_the_median_of_its_own_runs(known):
    found = known(*(ran(run, elapsed_s=time) for run, time in enumerate([9.0, 10.0, 99.0])), ran(5, environ="f"))
    assert found.find(CASE, "elapsed_s") == Expected(10.0, OWN)
    assert found.find(CASE, "disk_B") == Expected(300, OWN)


def test_of_many_runs_the_latest_count(known):
    found = known(*(ran(run, elapsed_s=10.0 if run < 20 else 30.0) for run in range(29)))
    assert found.find(CASE, "elapsed_s").value == 30.0


def test_a_case_that_failed_before_it_had_values_does_not_count(known):
    early = [failed(1, test="A %layout=4x2", layout="4x2", elapsed_s=0.5)]
    assert known(early, ran(0)).find(CASE, "elapsed_s").value == 10.0
    assert known(early).find(CASE, "elapsed_s").basis == BOUND


def test_without_own_runs_the_same_test_on_the_system_counts(known):
    found = known(ran(0, environ="f", elapsed_s=20.0), ran(0, partition="q", elapsed_s=30.0), ran(0, layout="4x1"))
    assert found.find(CASE, "elapsed_s") == Expected(25.0, SYSTEM)


def test_then_the_nearest_layout(known):
    found = known(ran(0, "2x2"), ran(0, "2x1", elapsed_s=1.0), ran(0, "1x2", elapsed_s=2.0))
    assert found.find(CASE, "elapsed_s") == Expected(10.0, LAYOUT)
    # What stays within a node is like nothing that does not.
    assert known(ran(0, "1x2")).find(CASE, "elapsed_s").basis == BOUND
    # Other parameters are another test.
    assert known(ran(0, "2x2", test="A %size=big")).find(CASE, "elapsed_s").basis == BOUND


def test_then_another_system_but_no_simulated_one(known):
    assert known(ran(0, system="t")).find(CASE, "elapsed_s") == Expected(10.0, ELSEWHERE)
    twin = ran(0, system="t", evidence="simulated")
    assert known(twin).find(CASE, "elapsed_s").basis == BOUND
    assert known(twin).find(replace(CASE, simulated=True), "elapsed_s").basis == ELSEWHERE


def test_then_the_limit_is_a_bound_of_the_time_and_nothing_is_known_of_the_disk():
    nothing = Past()
    assert nothing.find(CASE, "elapsed_s") == Expected(600.0, BOUND)
    assert nothing.find(replace(CASE, limit_s=None), "elapsed_s") == Expected(None, UNKNOWN)
    assert nothing.find(CASE, "disk_B") == Expected(None, UNKNOWN)


def test_each_cost_falls_back_by_itself(known):
    """A node that did not tell the time says something of the disk all the same."""
    found = known(ran(0, elapsed_s=None), ran(0, environ="f", elapsed_s=7.0))
    assert found.find(CASE, "disk_B").basis == OWN and found.find(CASE, "elapsed_s") == Expected(7.0, SYSTEM)


def test_records_of_earlier_releases_say_nothing_of_costs(known):
    old = [{name: each[name] for name in each if name not in past.COSTS} for each in ran(0)]
    assert known(old).find(CASE, "elapsed_s").basis == BOUND


def test_the_cost_of_a_run_is_that_of_its_cases_in_all_passes(known):
    here = known(ran(0), ran(0, "1x2", test="B", elapsed_s=50.0))
    other = replace(CASE, test="B %layout=1x2", layout="1x2", nodes=1)
    found = estimate(replace(PLAN, passes=5, cases=(CASE, other)), here, Beside(2.0, 100.0, 1))
    assert (found.jobs, found.nodes, found.level) == (10, 4, "nightly")
    assert math.isclose(found.node_minutes, 5 * (4 * 10 + 50) / 60, abs_tol=1e-3)
    assert math.isclose(found.job_minutes, 5 * (10 + 50) / 60, abs_tol=1e-3)
    assert math.isclose(found.wall_minutes, (5 * (10 + 50) + 10 * 2) / 60, abs_tol=1e-3)
    assert found.disk_B == 5 * 600 + 10 * 100
    assert found.rests == {"elapsed_s": {OWN: 10}, "disk_B": {OWN: 10}} and not found.bounded_minutes
    (share,) = found.partitions
    assert (share.jobs, share.nodes, share.of) == (10, 4, 8)


def test_a_bound_is_called_one_and_what_is_not_known_is_no_number():
    found = estimate(PLAN, Past(), Beside(2.0, 100.0, 1))
    assert found.bounded_minutes == found.job_minutes == 10 and found.disk_B is None
    told = "\n".join(str(line) for line in cost_table.computed(found))
    assert "0.033, and at most 10 more by time limits" in told and re.search(r"disk: +unknown$", told, re.MULTILINE)
    endless = estimate(replace(PLAN, cases=(replace(CASE, limit_s=None),)), Past(), Beside())
    assert re.search("node-minutes: +unknown\n", "\n".join(str(line) for line in cost_table.computed(endless)))


def line(jobs, wall, **fields):
    measured = {"kind": "measured", "system": "s", "jobs": jobs, "timed_jobs": jobs, "wall_minutes": wall}
    return measured | {"job_minutes": 10.0, "disk_B": 5000, "cases_disk_B": 3000} | fields


def test_what_a_run_takes_beside_its_jobs_is_that_of_runs_of_like_size():
    lines = [line(20, 12.0), line(100, 15.0), line(110, 15.5), line(100, 99.0, system="t")]
    found = beside_jobs(lines, "s", 105)
    assert found.runs == 2 and math.isclose(found.seconds, 3.0) and 15 < found.disk_B < 25
    assert beside_jobs(lines, "s", 20).seconds == 6.0
    assert beside_jobs(lines, "u", 20) == Beside()


@pytest.mark.parametrize(
    "wrong", [{"wall_minutes": None}, {"timed_jobs": 19}, {"wall_minutes": 9.0}, {"kind": "computed"}], ids=str
)
def test_a_run_that_does_not_tell_it_is_left_out(wrong):
    """Such as one whose jobs ran side by side."""
    assert beside_jobs([line(20, 12.0) | wrong], "s", 20) == Beside()
