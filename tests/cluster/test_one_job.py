# SPDX-License-Identifier: BSD-3-Clause
"""All cases as steps of one allocation of a real Slurm, with faults made while it is held."""

import re

import pytest

from fabric_checks.records import repeats
from fabric_checks.schedulers import in_job
from fabric_checks.schedulers.in_job import session as in_job_session
from tests.cluster.conftest import cluster_of
from tests.cluster.session_faults import (
    COMMANDS,
    Session,
    begin_held,
    heal,
    job,
    perflog_full,
    release,
)
from tests.guard import wait_for

two = cluster_of("--nodes", "2")
SLURM = COMMANDS["slurm"]
#: No barrier takes a nanosecond; the latency is that of the output that is played back.
REFERENCES = """
no_reference:
- {why: of no matter here}
OsuBarrier:
  $index: [layout]
  1x2: {latency: [0.001, null, 0.1, us]}
OsuLatency:
  $index: [layout]
  2x1: {latency_1024B: [4.5, null, 0.1, us]}
"""


@pytest.fixture(autouse=True)
def healed(two):
    yield
    heal(two, SLURM)


def results_of(outcome):
    return {name: case.result for name, case in outcome.cases.items()}


def is_free(cluster):
    return not cluster.on("head", "squeue", "-h").strip()


ALL_PASS = dict.fromkeys(("OsuBarrier", "OsuLatency", "ImbBarrier"), "pass")


def test_all_cases_are_steps_of_one_allocation_on_their_nodes(two, tmp_path):
    outcome = Session(two, tmp_path, one_job=True).end()
    assert results_of(outcome) == ALL_PASS, outcome.printed
    assert (outcome.status, outcome.gate) == (0, 0), outcome.printed
    jobs = {record["jobid"].split("/")[0] for record in outcome.records}
    assert len(jobs) == 1
    nodes = {record["check"]: record["nodelist"] for record in outcome.records}
    assert nodes == {
        "OsuBarrier": ["n1"],
        "OsuLatency": ["n1", "n2"],
        "ImbBarrier": ["n1"],
    }
    # The load is that of the first node, not of the host of ReFrame.
    assert all(
        record["job_began"] and record["elapsed_s"] for record in outcome.records
    )
    assert is_free(two)
    allocated = two.on("head", "sacct", "-aXnP", f"--jobs={jobs.pop()}", "-o", "NNodes")
    assert allocated.strip() == "2"
    assert re.search(r"2 nodes held for [\d.]+ s; cases ran for", outcome.printed)


def test_misses_are_measured_again_in_the_allocation_and_elsewhere_in_it(two, tmp_path):
    references = tmp_path / "references"
    references.mkdir()
    (references / "minicluster.yaml").write_text(REFERENCES)
    again = {
        repeats.TIMES: "2",
        "RFM_REFERENCE_PREFIX": str(references),
    }
    session = Session(two, tmp_path, one_job=True, **again)
    well = (session.hold / "osu_latency.txt").read_text()
    slow = re.sub(r"(?m)^( *1024\s+)\S+", r"\g<1>50.00", well)
    (session.hold / f"osu_latency.txt.{session.name}").write_text(slow)
    outcome = session.end()
    assert results_of(outcome) == {
        "OsuBarrier": "fail",
        "OsuLatency": "unconfirmed",
        "ImbBarrier": "pass",
    }, outcome.printed
    assert (outcome.status, outcome.gate) == (1, 3), outcome.printed
    assert len({record["jobid"].split("/")[0] for record in outcome.records}) == 1
    found = {
        record["check"]: record["confirmation"]
        for record in outcome.session.records
        if record["confirmation"]
    }
    assert (found["OsuBarrier"]["missed"], found["OsuBarrier"]["of"]) == (3, 3)
    (elsewhere,) = found["OsuBarrier"]["elsewhere"]
    assert (elsewhere["nodelist"], elsewhere["result"]) == (["n2"], "fail")
    assert found["OsuLatency"]["values"] == [50.0, 4.43, 4.43]
    assert found["OsuLatency"]["elsewhere"] == []
    assert is_free(two)


def node_lost(cluster):
    cluster("kill", "n2")


def node_of_script_lost(cluster):
    """Kill the node on which the script of the case runs: srun of Slurm 22.05 then ends with 0."""
    cluster("kill", "n1")


def step_killed(cluster):
    steps = cluster.on("head", "squeue", "-h", "-s", "-o", "%i").split()
    cluster.on(
        "head", "scancel", *[each for each in steps if each.split(".")[1].isdecimal()]
    )


def rank_stopped(cluster):
    """Stop a rank so that it takes no signal but the last."""
    cluster.on("n2", "pkill", "-STOP", "-f", "hold.sh")


@pytest.mark.parametrize(
    "fault, options, text",
    [
        (
            node_lost,
            (),
            r"case \S+ ran on n1, n2; a node of it failed: n2 (does not respond|is down)",
        ),
        (
            node_of_script_lost,
            (),
            r"case \S+ ran on n1, n2; a node of it failed: n1 (does not respond|is down)",
        ),
        (step_killed, (), "exit status|was cancelled|CANCELLED"),
        (None, ("-S", "OsuLatency.time_limit=5s"), r"ran over its time limit \(5 s\)"),
        (
            rank_stopped,
            ("-S", "OsuLatency.time_limit=20s"),
            r"ran over its time limit \(20 s\)",
        ),
    ],
    ids=lambda each: getattr(each, "__name__", None),
)
def test_a_fault_fails_its_case_and_the_others_go_on(
    two, tmp_path, fault, options, text
):
    session = begin_held(two, tmp_path, *options, one_job=True)
    if fault:
        fault(two)
    outcome = session.end()
    assert results_of(outcome) == ALL_PASS | {"OsuLatency": "fail"}, outcome.printed
    assert re.search(text, outcome.cases["OsuLatency"].reason), outcome.cases[
        "OsuLatency"
    ].reason
    assert is_free(two)


def test_a_launch_that_slurm_refuses_is_its_line_and_the_others_go_on(two, tmp_path):
    options = ("-S", "OsuLatency.env_vars=SLURM_MPI_TYPE:nonsense")
    outcome = Session(two, tmp_path, *options, one_job=True).end()
    assert results_of(outcome) == ALL_PASS | {"OsuLatency": "fail"}, outcome.printed
    assert "nonsense" in outcome.cases["OsuLatency"].reason
    assert is_free(two)


def test_a_full_disk_is_named_and_the_others_are_recorded(two, tmp_path):
    outcome = perflog_full(two, SLURM, tmp_path, one_job=True)
    if isinstance(outcome, str):
        pytest.skip(outcome)
    assert results_of(outcome) == ALL_PASS | {"OsuLatency": "fail"}, outcome.printed
    assert "No space left on device" in outcome.cases["OsuLatency"].reason
    counts = outcome.recorded()
    assert (counts["OsuBarrier"], counts["ImbBarrier"]) == ((1, 0), (1, 0))
    assert is_free(two)


def test_cases_beside_each_other_have_nodes_of_their_own(two, tmp_path):
    """The victim is on both nodes, so the other two run beside each other behind it."""
    beside = {in_job.BESIDE: in_job.BETWEEN}
    outcome = Session(two, tmp_path, one_job=True, **beside).end()
    assert results_of(outcome) == ALL_PASS, outcome.printed
    nodes = {record["check"]: record["nodelist"] for record in outcome.records}
    assert nodes["OsuLatency"] == ["n1", "n2"]
    assert sorted(nodes["OsuBarrier"] + nodes["ImbBarrier"]) == ["n1", "n2"]
    assert is_free(two)


def test_a_restart_of_the_controller_costs_nothing(two, tmp_path):
    session = begin_held(two, tmp_path, one_job=True)
    two.on("head", "pkill", "-TERM", "-x", "slurmctld")
    wait_for(lambda: "slurmctld IS DEAD" in two("status"), "slurmctld does not end")
    two("start", "slurmctld")
    release(session)
    outcome = session.end()
    assert results_of(outcome) == ALL_PASS, outcome.printed


def test_an_allocation_that_is_cancelled_loses_nothing_and_is_continued(two, tmp_path):
    session = begin_held(two, tmp_path, one_job=True)
    two.sh(SLURM.cancel.format(id=job(two, SLURM.running)))
    outcome = session.end()
    assert results_of(outcome) == {
        "OsuBarrier": "pass",
        "OsuLatency": "fail",
        "ImbBarrier": "abort",
    }, outcome.printed
    reason = outcome.cases["OsuLatency"].reason
    assert "it was cancelled, but not by this session" in reason
    assert "signal" not in reason  # with which Slurm ends its tasks
    release(session)
    heal(two, SLURM)
    more = {in_job_session.CONTINUED: outcome.name}
    rest = Session(
        two, tmp_path, name="20260101T000100Z-test", one_job=True, **more
    ).end()
    assert results_of(rest) == {"ImbBarrier": "pass"}, rest.printed


def test_nothing_is_held_when_reframe_is_killed(two, tmp_path):
    session = begin_held(two, tmp_path, one_job=True)
    # The victim starts in the moment in which the case before it ends, whose value is to be recorded first.
    session.wait_until_printed("] (2/4) OsuBarrier")
    two.on("head", "kill", "-KILL", session.pid.read_text().strip())
    wait_for(lambda: is_free(two), "the allocation is still held")
    assert session.end().recorded()["OsuBarrier"] == (1, 0)
