# SPDX-License-Identifier: BSD-3-Clause
"""Faults of the machine, each made for real in a session under a real Slurm, Flux or OpenPBS."""

import re

import pytest

from fabric_checks.records.record import FIELDS, never_began
from tests.cluster.conftest import Cluster, require
from tests.cluster.session_faults import COMMANDS, FAULTS, heal

#: The numbers of records with a value and without one: of a case that passed, that failed, and that left
#: nothing.
PASSED, FAILED, NOTHING = (24, 0), (0, 1), (0, 0)


@pytest.fixture(scope="module")
def two():
    """Return a function that returns a cluster of two nodes, for all faults of a scheduler."""
    # No parameter of a fixture: pytest would start a cluster for each fault.
    up = {}

    def of(scheduler):
        require(scheduler)
        if scheduler not in up:
            up[scheduler] = Cluster()
            up[scheduler]("up", "--nodes", "2", "--scheduler", scheduler)
        return up[scheduler]

    yield of
    for cluster in up.values():
        cluster.end()


CASES = [(scheduler, fault) for scheduler, faults in FAULTS.items() for fault in faults]


@pytest.mark.parametrize("scheduler, fault", CASES, ids=lambda each: each)
def test_a_fault_is_named_and_costs_no_other_case(
    two, scheduler, fault, tmp_path, report_table
):
    make, text = FAULTS[scheduler][fault]
    cluster = two(scheduler)
    try:
        outcome = make(cluster, COMMANDS[scheduler], tmp_path)
    finally:
        heal(cluster, COMMANDS[scheduler])
    if isinstance(outcome, str):
        pytest.skip(outcome)
    results = {name: case.result for name, case in outcome.cases.items()}
    assert results == {
        "OsuBarrier": "pass",
        "OsuLatency": "fail" if text else "pass",
        "ImbBarrier": "pass",
    }, outcome.printed
    victims = [record for record in outcome.records if record["check"] == "OsuLatency"]
    kept = PASSED if text is None else NOTHING if "disk full" in fault else FAILED
    assert outcome.recorded() == {
        "OsuBarrier": (1, 0),
        "OsuLatency": kept,
        "ImbBarrier": (1, 0),
    }
    assert all(tuple(record) == FIELDS for record in outcome.records)
    gate = (
        0 if text is None else 1 if kept is NOTHING else 3
    )  # without its records a run says too little
    assert (outcome.status, outcome.gate) == (1 if text else 0, gate), outcome.printed
    victim = outcome.cases["OsuLatency"]
    report_table(f"{scheduler}: {fault}", [victim.reason or victim.result])
    if fault in OWN_RULES:
        OWN_RULES[fault](outcome)
    if text is None:
        assert all(record["nodelist"] == ["n1", "n2"] for record in victims)
        assert scheduler == "slurm" or all(record["job_began"] for record in victims)
        return
    # It is on the screen at the end, too.
    for shown in (
        victim.reason,
        outcome.printed[outcome.printed.rindex("\nWhat to look at") :],
    ):
        assert re.search(text, shown), shown
    assert "\n" not in victim.reason
    for record in victims:
        assert record["case_result"] == "fail" and re.search(
            text, record["fail_reason"]
        )
        assert record["jobid"] and record["time"] and record["job_state"]
        # One that never began has no nodes.
        assert record["nodelist"] == (
            ["n1", "n2"] if " ran on " in victim.reason else []
        )
        assert never_began(record) == bool(
            re.search(r"cannot start|is still waiting|had not started", victim.reason)
        )


def a_killed_session_keeps_its_records_and_its_job(outcome):
    """The job has the nodes until it ends by itself: at its time limit at the latest."""
    killed = outcome.notes["killed"]
    assert (killed.status, killed.gate) == (137, 1), killed.printed
    assert killed.recorded() == {
        "OsuBarrier": (1, 0),
        "OsuLatency": (0, 0),
        "ImbBarrier": (0, 0),
    }
    assert outcome.recorded(killed.name) == killed.recorded(), (
        "the second session lost records of the first"
    )
    assert outcome.notes["left"] == "RUNNING" and outcome.notes["limit"] == "10:00"


OWN_RULES = {
    "reframe killed and run again": a_killed_session_keeps_its_records_and_its_job,
}
