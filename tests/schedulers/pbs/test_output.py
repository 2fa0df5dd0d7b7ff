# SPDX-License-Identifier: BSD-3-Clause
"""PBS's texts of jobs, nodes and queues are read as meant; those of jobs and nodes are of a real OpenPBS."""

import json
from datetime import datetime

import pytest

from fabric_checks.core.errors import OutputError
from fabric_checks.schedulers import model
from fabric_checks.schedulers.pbs import output as pbs
from tests.conftest import GOLDEN

PRINTED = GOLDEN / "pbs" / "23.06.06"


def job(name, **more):
    (printed,) = json.loads((PRINTED / f"{name}.json").read_text())["Jobs"].values()
    (found,) = pbs.parse_jobs(json.dumps({"Jobs": {"7.head": printed | more}})).values()
    return found


NODES = pbs.parse_nodes((PRINTED / "nodes.json").read_text())
BUSY = pbs.parse_nodes((PRINTED / "busy_nodes.json").read_text())


@pytest.mark.parametrize(
    ("name", "state", "status", "nodes", "reason"),
    [
        ("pending", "QUEUED", None, (), "Server job limit has been reached."),
        ("never", "QUEUED", None, (), "Can Never Run: Not enough total nodes available"),
        ("held", "HELD", None, (), "it is held (Hold_Types u)"),
        ("dependency", "HELD", None, (), "it waits for afterok:5.head@head"),
        ("running", "RUNNING", None, ("n1", "n2"), ""),
        ("completed", "COMPLETED", 0, ("n1", "n2"), ""),
        ("failed", "FAILED", 3, ("n1", "n2"), ""),
        ("timeout", "TIMEOUT", -29, ("n1", "n2"), ""),
        ("cancelled", "CANCELLED", 0, ("n1", "n2"), ""),
        ("cancelled_waiting", "CANCELLED", None, (), ""),
        ("node_lost", "FAILED", 0, ("n1", "n2"), ""),
        ("first_node_lost", "FAILED", -20, ("n3", "n4"), ""),
    ],
)
def test_jobs(name, state, status, nodes, reason):
    found = job(name)
    assert (found.state, found.exit_status, found.nodes, found.reason) == (state, status, nodes, reason)
    assert found.least_nodes == (9 if name == "never" else 2)
    assert found.waits == (state in ("QUEUED", "HELD"))
    assert found.has_ended == (state not in ("QUEUED", "HELD", "RUNNING"))
    assert (found.began is not None) == bool(nodes)


def test_a_job_began_in_the_time_zone_of_this_host():
    began = datetime.fromisoformat(job("completed").began)
    assert began.tzinfo and began.replace(tzinfo=None) == datetime(2026, 11, 22, 16, 58, 30)


def test_several_jobs_and_one_that_is_unknown():
    # Two were asked for: OpenPBS prints the first.
    assert [each.exit_status for each in pbs.parse_jobs((PRINTED / "two.json").read_text()).values()] == [0]
    assert list(pbs.parse_jobs((PRINTED / "one_unknown.json").read_text())) == ["2.head"]
    assert pbs.parse_jobs('{"timestamp": 1}') == {}


@pytest.mark.parametrize("text", ["", "[]", "3", '{"Jobs": 1}', '{"Jobs": {"1": {}}}', "qstat: Unknown Job Id"])
def test_another_text_is_no_list_of_jobs(text):
    with pytest.raises(OutputError, match="qstat printed no list of jobs"):
        pbs.parse_jobs(text)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"nodes": {"n1": {}}}', "pbsnodes: Server has no node list"])
def test_another_text_is_no_list_of_nodes(text):
    with pytest.raises(OutputError, match="pbsnodes printed no list of nodes"):
        pbs.parse_nodes(text)


def test_terminal_controls_are_taken_out():
    assert job("cancelled", comment="a\x1b[2Jb\nc").comment.isprintable()


def test_nodes():
    assert model.faults(NODES) == {"n2": "n2 is down", "n3": "n3 is down", "n4": 'n4 is offline (broken "cable")'}
    assert [node.name for node in BUSY if node.is_busy] == ["n1", "n2"] and not model.faults(BUSY)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("completed", None),
        ("failed", None),
        ("timeout", "ran on n1, n2; it ran over its time limit (Exit_status -29; Job run at Sun Nov 22"),
        ("cancelled", "ran on n1, n2; it was cancelled, but not by this session (Exit_status 0; Job run at Sun Nov"),
        ("cancelled_waiting", "had not started; it was cancelled, but not by this session (substate 91)"),
        ("node_lost", "ran on n1, n2; a node of it failed (Exit_status 0; Job run at Sun Nov 22"),
        ("first_node_lost", "ran on n3, n4; a node of it failed (Exit_status -20; Job run at Sun Nov 22"),
    ],
)
def test_exit_reasons(name, says):
    nodes = NODES if "lost" in name else BUSY
    reason = pbs.exit_reason("7.head", job(name), nodes)
    if says is None:
        assert reason is None
        return
    assert reason.text.startswith(f"job 7.head {says}")
    assert set(reason.node_faults) == {"node_lost": {"n2"}, "first_node_lost": {"n3", "n4"}}.get(name, set())
    assert name != "node_lost" or reason.text.endswith("): n2 is down")


def test_an_end_without_success_or_reason_is_a_failure():
    assert "PBS ended it (Exit_status 0;" in pbs.exit_reason("7", job("node_lost"), []).text


LISTED = (
    "n1\n     state = free\n     resources_available.ncpus = 8\n\nn2\n     state = down\n     np = 4\n     queue = b\n"
)
QUEUE = "Queue: {}\n    queue_type = Execution\n    enabled = {}\n    started = True\n\n"


def test_a_node_of_a_queue_is_of_no_other():
    one, two = pbs.queues(LISTED, QUEUE.format("a", True) + QUEUE.format("b", True), "a")
    assert [(queue.name, queue.nodes, queue.cores, queue.is_default) for queue in (one, two)] == [
        ("a", 1, 8, True), ("b", 1, 4, False),
    ]  # fmt: skip


def test_queues_that_take_no_jobs():
    (one,) = pbs.queues(LISTED, QUEUE.format("a", False))
    assert not one.takes_jobs
    assert pbs.queues(LISTED, "Queue: r\n    queue_type = Route\n") == []


def test_a_queue_of_several_nodes():
    (one,) = pbs.queues(LISTED.replace("queue = b", "queue = a, c"), QUEUE.format("c", True))
    assert (one.nodes, one.cores) == (1, 4)


def test_another_text_is_no_list_of_queues():
    with pytest.raises(OutputError, match="no node: 'pbsnodes: Server has no node list"):
        pbs.queues("pbsnodes: Server has no node list MSG", "")
    with pytest.raises(OutputError, match="line 1: an attribute that belongs to nothing"):
        pbs.queues("   state = free", "")
