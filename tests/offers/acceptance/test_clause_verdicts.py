# SPDX-License-Identifier: BSD-3-Clause
"""Verdicts from records: what counts as a unit, what does not and why, and that choosing among runs never
helps."""

import itertools
import shutil
from datetime import timedelta

import numpy as np
import pytest

from fabric_offers.acceptance import clause_verdicts
from fabric_offers.acceptance.clauses import ClauseError
from fabric_offers.acceptance.sequential import MET, OPEN, VIOLATED
from tests.conftest import TESTS
from tests.offers.acceptance.made import CLAUSE, FIRST, contract, failed, run

ROTATE = TESTS / "golden/rotate"
NODES = {
    "name": "nodes",
    "check": "A",
    "over": "nodes",
    "quantity": "slowest",
    "of": "median",
    "spread": 0.02,
}


def judge(tmp_path, records, *given, **top):
    """Judge the only clause."""
    (found,) = clause_verdicts.judge(
        contract(tmp_path, *given, **top), records, tmp_path
    )
    return found


@pytest.mark.parametrize("value, word", [(101, MET), (88, VIOLATED)])
def test_a_machine_is_judged_as_soon_as_the_risks_allow(tmp_path, value, word):
    found = judge(tmp_path, [run(day, value + day % 2) for day in range(20)])
    assert found.word == word and found.state.units == 3
    assert judge(tmp_path, [run(day, value) for day in range(2)]).word == OPEN
    assert judge(tmp_path, [run(0, value)]).left == found.clause.design.most_units - 1


def values_of(found):
    return [unit.value for unit in found.observed.units]


def test_passes_of_a_day_are_one_unit(tmp_path):
    runs = [
        run(day, 90 + 10 * number, output=f"output/{number}")
        for day in range(3)
        for number in range(3)
    ]
    assert values_of(judge(tmp_path, runs, {**CLAUSE, "runs": 3})) == [100, 100, 100]
    assert (
        judge(tmp_path, runs, {**CLAUSE, "runs": 3, "quantity": "slowest"}).estimate
        == 90
    )
    assert (
        judge(
            tmp_path, runs, {**CLAUSE, "runs": 3, "quantity": "quantile", "share": 0.6}
        ).estimate
        == 100
    )


def test_a_day_without_a_session_and_a_failed_run_count_as_the_worst(tmp_path):
    found = judge(tmp_path, [run(0), failed(1), run(3)])
    assert values_of(found) == [100, None, None, 100]
    failure, missing = found.observed.lines
    assert "failed (node n1 is down); it counts as the worst" in failure
    assert (
        missing
        == "2026-11-03: no session began that day; it counts as the worst that a unit can be"
    )


def test_only_sessions_of_the_period_count_and_its_first_days_do(tmp_path):
    days = [(FIRST + timedelta(days=day)).date() for day in (1, 3)]
    found = judge(
        tmp_path,
        [run(day) for day in range(2, 9)],
        period={"from": days[0], "to": days[1]},
    )
    assert found.observed.units[0].name == "2026-11-02" and values_of(found) == [
        None,
        100,
        100,
    ]


def test_a_session_that_is_repeated_until_it_suits_does_not_count(tmp_path):
    found = judge(tmp_path, [run(0, 80), run(0, 120, hours=3), run(1, 80), run(2, 80)])
    assert values_of(found) == [80, 80, 80] and found.word == VIOLATED
    assert "repeated: one session a unit counts, the first" in found.observed.lines[0]


def test_no_choice_of_runs_turns_a_verdict_into_met(tmp_path):
    """Whatever days are removed of a machine that does not meet the clause, it does not meet it either."""
    values = [88, 103, 91, 89, 101, 88, 93]
    assert (
        judge(tmp_path, [run(day, value) for day, value in enumerate(values)]).word
        != MET
    )
    for count in range(1, len(values) + 1):
        for kept in itertools.combinations(range(len(values)), count):
            if 0 in kept:  # the first day of the contract is agreed
                assert (
                    judge(tmp_path, [run(day, values[day]) for day in kept]).word != MET
                ), kept


@pytest.mark.parametrize(
    "valid, changes, text",
    [
        (
            {"quiet": True},
            {"runnable_processes_before": 9, "host_cores": 4},
            "other processes took cores",
        ),
        (
            {"one": ["compiler"]},
            {"compiler": "gcc 9"},
            "compiler is gcc 9, but gcc 12 in the first run",
        ),
        (
            {"transport": True},
            {"ports": None},
            "nothing shows which network carried it",
        ),
        (
            {"blind_from": 0.1},
            {"limits": {"node": 0.3}},
            "it would have named a node only from 30 % on",
        ),
        ({"blind_from": 0.1}, {"limits": None}, "it would have named no slow node"),
    ],
)
def test_an_invalid_run_does_not_count_and_says_why(tmp_path, valid, changes, text):
    sound = {
        "compiler": "gcc 12",
        "ports": {"fabric": ["mlx5_*"]},
        "limits": {"node": 0.05},
    }
    found = judge(
        tmp_path,
        [run(0, **sound), run(1, **(sound | changes)), run(2, **sound)],
        **valid,
    )
    assert len(found.observed.units) == 2 and found.observed.excluded == 1
    assert text in found.observed.lines[0]


def test_more_invalid_units_than_agreed_leave_a_clause_open(tmp_path):
    runs = [run(day, binding="none" if day in (1, 2) else "core") for day in range(9)]
    assert judge(tmp_path, runs, most_excluded=2, one=["binding"]).word == MET
    found = judge(tmp_path, runs, most_excluded=1, one=["binding"])
    assert found.word == OPEN
    assert "2 units do not count, more than the 1 allowed" in found.notes[0]


def test_more_scatter_than_agreed_is_said_and_decides_nothing_early(tmp_path):
    values = 96 + 15 * np.array([-1, 1, 1, -1, 0.5, -0.5, 1, -1] * 3)
    found = judge(
        tmp_path, [run(day, float(value)) for day, value in enumerate(values)]
    )
    assert found.word == OPEN
    assert "not the agreed 3; judged by that" in found.notes[0]
    assert "the units allowed do not decide" in found.notes[1]


def test_one_wild_day_does_not_widen_the_scatter(tmp_path):
    values = [100, 101, 99, 100, 400, 101, 99]
    assert (
        judge(tmp_path, [run(day, value) for day, value in enumerate(values)]).notes
        == ()
    )


def test_a_share_of_days_is_judged(tmp_path):
    share = {
        **CLAUSE,
        "quantity": "share",
        "at_least": 95,
        "good": 0.95,
        "bad": 0.5,
        "most": 30,
    }
    share.pop("spread")
    assert judge(tmp_path, [run(day, 99) for day in range(30)], share).word == MET
    found = judge(
        tmp_path, [run(day, 99 if day % 2 else 80) for day in range(30)], share
    )
    assert found.word == VIOLATED and 0 < found.estimate < 1


def test_the_line_rate_is_that_of_the_clause_or_else_of_the_record(tmp_path):
    clause = {**CLAUSE, "of": "line rate", "good": 0.95, "bad": 0.85}
    for link_MBps, given in ((100.0, {}), (50.0, {"link_MBps": 100.0})):
        runs = [run(day, 96 + day % 2, link_MBps=link_MBps) for day in range(6)]
        found = judge(tmp_path, runs, {**clause, **given})
        assert found.word == MET and 0.96 <= found.estimate <= 0.97
    with pytest.raises(ClauseError, match="the line rate is not known; add link_MBps"):
        judge(tmp_path, [run(0, 96, link_MBps=None)], clause)


def test_one_process_a_node_is_compared_with_more_of_the_same_session(tmp_path):
    ratio = {
        **CLAUSE,
        "layout": "1x2",
        "good": 1.5,
        "bad": 1.3,
        "of": {"layout": "2x1"},
    }
    other = {"layout": "2x1", "test": "A %layout=2x1"}
    runs = [
        each
        for day in range(3)
        for each in (run(day, 160 + day), run(day, 100 + day, **other))
    ]
    assert judge(tmp_path, runs, {**ratio, "good": 1.9, "bad": 1.7}).word == VIOLATED
    with pytest.raises(
        ClauseError,
        match=r"there are no records of \{'layout': '4x1'\}, which it compares with",
    ):
        judge(tmp_path, runs, {**ratio, "of": {"layout": "4x1"}})


def test_nodes_and_pairs_are_read_from_the_outputs(tmp_path):
    """The output of each session is a recorded one of eight nodes."""
    runs = [run(day, layout="8x1") for day in range(4)]
    for each in runs:
        folder = tmp_path / each["output"]
        folder.mkdir(parents=True)
        shutil.copy(ROTATE / "mpich-5.0.2.round-robin.txt", folder / "rfm_job.out")
    assert 0 < judge(tmp_path, runs, {**NODES, "good": 0.9, "bad": 0.5}).estimate <= 1
    pairs = {**NODES, "over": "pairs", "good": 0.9, "bad": 0.5}
    slowest, median = (
        judge(tmp_path, runs, {**pairs, "quantity": quantity}).estimate
        for quantity in ("slowest", "median")
    )
    assert slowest <= median == 1
    (tmp_path / runs[1]["output"] / "rfm_job.out").unlink()
    lost = judge(tmp_path, runs, pairs)
    assert lost.observed.excluded == 1
    assert "cannot be read: No such file" in lost.observed.lines[0]


def test_records_of_two_cases_are_refused(tmp_path):
    with pytest.raises(ClauseError, match="it fits 2 cases: .* narrow it to one"):
        judge(tmp_path, [run(0), run(1, environ="other")])
    with pytest.raises(ClauseError, match="it fits 2 metrics: rate, rate2; narrow it"):
        judge(
            tmp_path, [run(0), run(0, metric="rate2")], {**CLAUSE, "metric": "rate.*"}
        )
    assert judge(tmp_path, [run(0, system="other")]).notes == (
        "no run of this case has a value yet",
    )


def test_the_contract_is_violated_if_one_clause_is_and_met_if_all_are(tmp_path):
    far = {**CLAUSE, "name": "far", "good": 200, "bad": 150}
    for given, word in (([CLAUSE], MET), ([CLAUSE, far], VIOLATED)):
        agreed = contract(tmp_path, *given)
        assert (
            clause_verdicts.overall(
                clause_verdicts.judge(agreed, [run(day) for day in range(9)], tmp_path)
            )
            == word
        )
    assert clause_verdicts.joint_risks(agreed) == (0.1, 0.05)


def test_runs_in_which_a_fault_is_named_for_certain_do_not_reach_their_share(tmp_path):
    clause = {
        "name": "ports", "check": "A", "quantity": "share", "free_of": ["port"], "good": 0.95, "bad": 0.3,
        "least": 3,
    }  # fmt: skip
    lost, unsure = (
        {"kind": "port", "severity": severity, "text": "n1: segments were lost"}
        for severity in ("fault", "suspect")
    )
    counted = {"nodes": {"n1": {}}}
    sound = [run(day, findings=[unsure], ports=counted) for day in range(6)]
    assert judge(tmp_path, sound, clause).word == MET
    bad = [run(day, findings=[lost], ports=counted) for day in range(6)]
    assert judge(tmp_path, bad, clause).word == VIOLATED
    assert judge(tmp_path, bad, {**clause, "free_of": ["cable"]}).word == MET
    blind = judge(tmp_path, [run(day, findings=[]) for day in range(6)], clause)
    assert blind.word == OPEN
    assert "its ports were not counted" in blind.observed.lines[0]
