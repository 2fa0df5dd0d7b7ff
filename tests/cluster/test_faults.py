# SPDX-License-Identifier: BSD-3-Clause
"""Faults of the machine, each made for real in a session on a real Slurm, and the table of how the sessions ended."""

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from fabric_checks.records.record import FIELDS, never_began
from tests.cluster import faults

#: What a case that passed, that failed without values, and that left nothing has in the perflog.
PASSED, FAILED, NOTHING = (24, 0), (0, 1), (0, 0)


@dataclass(frozen=True)
class Expected:
    """How the session with a fault has to end.

    :param ended_by: in words, for the table; :param says: a pattern of the victim's message, None if it passes.
    :param recorded: how many records of the victim have a value, and how many have none.
    """

    ended_by: str
    says: str | None
    recorded: tuple[int, int]


#: By the words of the list of faults that were asked for; one without a row here, or the other way round, fails.
EXPECTED = {
    "slurmd killed in mid-job": Expected(
        "Slurm: node silent for 10 s",
        r"job \d+ ran on n1, n2; a node of it failed \(NODE_FAIL\): n2 (does not respond|is down)",
        FAILED,
    ),
    "node drained before the job": Expected(
        "cancelled: too few nodes for 30 s",
        r"job \d+ cannot start after \d+ s in the queue and was cancelled; Slurm says: .*: "
        r"n2 is drained \(broken cable\)",
        FAILED,
    ),
    "job cancelled": Expected(
        "scancel by somebody else",
        r"job \d+ ran on n1, n2; it was cancelled, but not by this session \(CANCELLED\)",
        FAILED,
    ),
    "job over its time limit": Expected(
        "Slurm: limit of 1 min",
        r"job \d+ ran on n1, n2; it ran over its time limit \(TIMEOUT\)",
        FAILED,
    ),
    "job stuck in the queue": Expected(
        "cancelled: max_pending_time of 15 s",
        r"job \d+ is still waiting after \d+ s in the queue and was cancelled; Slurm says: .*: "
        r".*\bn2 taken by other jobs",
        FAILED,
    ),
    "slurmctld restarted": Expected("submitted again; then nothing noticed", None, PASSED),
    "sacct unavailable": Expected("the controller was asked instead", None, PASSED),
    "the perflog's disk full": Expected(
        "its records not written",
        r"/results/perflogs/minicluster/pmi2/OsuLatency[.]jsonl: No space left on device: 24 records are not in the "
        r"perflog of OsuLatency %layout=2x1; make room",
        NOTHING,
    ),
    "reframe killed and run again": Expected("the next session, after the job that was left", None, PASSED),
}


@pytest.fixture(scope="module")
def outcomes(machine, tmp_path_factory):
    """What came of each fault, as futures; the faults have clusters of their own and are made side by side."""

    def make(fault):
        cluster = faults.up()
        try:
            return faults.FAULTS[fault](cluster, tmp_path_factory.mktemp("fault"))
        finally:
            cluster.end()

    with ThreadPoolExecutor(max_workers=5) as pool:
        longest_first = sorted(faults.FAULTS, key=lambda fault: faults.FAULTS[fault] not in faults.LONG)
        yield {fault: pool.submit(make, fault) for fault in longest_first}


def outcome_of(outcomes, fault):
    outcome = outcomes[fault].result()
    if isinstance(outcome, str):
        pytest.skip(outcome)
    return outcome


@pytest.mark.parametrize("fault", EXPECTED)
def test_a_fault_is_named_and_costs_no_other_case(outcomes, fault):
    outcome, expected = outcome_of(outcomes, fault), EXPECTED[fault]
    results = {name: case.result for name, case in outcome.cases.items()}
    victim = "pass" if expected.says is None else "fail"
    assert results == {"OsuBarrier": "pass", "OsuLatency": victim, "ImbBarrier": "pass"}, outcome.said
    assert outcome.recorded() == {"OsuBarrier": (1, 0), "OsuLatency": expected.recorded, "ImbBarrier": (1, 0)}
    for record in outcome.records:
        assert tuple(record) == FIELDS
    if expected.says is None:
        assert (outcome.status, outcome.gate) == (0, 0), outcome.said
        return
    assert (outcome.status, outcome.gate) == (1, 1), outcome.said
    reason = outcome.cases["OsuLatency"].reason
    assert re.search(expected.says, reason), reason
    assert "\n" not in reason
    # It is what the reader sees at the end, too.
    shown = outcome.said[outcome.said.rindex("\nFailed:") :]
    assert re.search(expected.says, shown), shown
    for record in outcome.records:
        if record["check"] == "OsuLatency":
            assert record["case_result"] == "fail" and re.search(expected.says, record["fail_reason"])


@pytest.mark.parametrize("fault", [fault for fault in EXPECTED if EXPECTED[fault].recorded == FAILED])
def test_the_nodes_of_a_job_that_failed_are_on_record(outcomes, fault):
    """And none of one that never began."""
    outcome = outcome_of(outcomes, fault)
    (record,) = [record for record in outcome.records if record["check"] == "OsuLatency"]
    assert record["nodelist"] == (["n1", "n2"] if " ran on " in record["fail_reason"] else [])
    assert record["jobid"] and record["time"] and record["job_state"]
    assert never_began(record) == bool(
        re.search(r"cannot start|is still waiting|had not started", record["fail_reason"])
    )


def test_a_session_without_accounting_says_so_once(outcomes):
    said = outcome_of(outcomes, "sacct unavailable").said
    assert said.count("WARNING: sacct fails (") == 1, said


def test_what_a_killed_session_leaves(outcomes):
    """Its records so far, and its job, which has the nodes until it ends by itself: at its time limit at the latest."""
    outcome = outcome_of(outcomes, "reframe killed and run again")
    killed = outcome.notes["killed"]
    assert (killed.status, killed.gate) == (137, 1), killed.said
    assert killed.recorded() == {"OsuBarrier": (1, 0), "OsuLatency": (0, 0), "ImbBarrier": (0, 0)}
    assert outcome.recorded(killed.name) == killed.recorded(), "the second session lost records of the first"
    assert outcome.notes["left"] == "RUNNING" and outcome.notes["limit"] == "10:00"


def test_every_fault_that_was_asked_for_has_a_row(outcomes, report_table):
    assert set(EXPECTED) == set(faults.FAULTS) == set(faults.ASKED_FOR)
    rows = [("fault", "what ended it", "exit", "other cases", "s", "what the case says")]
    for fault in faults.ASKED_FOR:
        try:
            outcome = outcomes[fault].result()
        except Exception as error:
            rows.append((fault, "the test itself failed", "-", "-", "-", str(error).splitlines()[0]))
            continue
        if isinstance(outcome, str):
            rows.append((fault, "not tried here", "-", "-", "-", outcome))
            continue
        others = [case.result for name, case in outcome.cases.items() if name != "OsuLatency"]
        status = f"{outcome.status}/{outcome.gate}"
        victim = outcome.cases["OsuLatency"]
        says = victim.reason or victim.result
        if outcome.notes:
            says += f"; job {outcome.notes['jobid']} of the killed session was left {outcome.notes['left']}"
        rows.append((fault, EXPECTED[fault].ended_by, status, " ".join(others), f"{outcome.seconds:.0f}", says))
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    report_table(
        "Faults of the machine, in real sessions (exit: reframe's/of the gate)",
        ["  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[5]]) for row in rows],
    )
    assert len(rows) == 1 + len(faults.ASKED_FOR)
