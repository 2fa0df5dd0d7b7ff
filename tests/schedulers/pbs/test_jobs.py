# SPDX-License-Identifier: BSD-3-Clause
"""What PBS says of jobs and nodes, read and put in words; tests/golden/pbs has what a real OpenPBS printed."""

import json
from datetime import datetime

import pytest

from fabric_checks.core.errors import OutputError
from fabric_checks.schedulers.pbs import jobs as pbs
from tests.conftest import GOLDEN

PRINTED = GOLDEN / "pbs" / "23.06.06"


def job(name, **more):
    (printed,) = json.loads((PRINTED / f"{name}.json").read_text())["Jobs"].values()
    (found,) = pbs.parse_jobs(json.dumps({"Jobs": {"7.head": printed | more}})).values()
    return found


NODES = pbs.parse_nodes((PRINTED / "nodes.json").read_text())
BUSY = pbs.parse_nodes((PRINTED / "busy_nodes.json").read_text())


@pytest.mark.parametrize(
    ("name", "state", "status", "hosts", "reason"),
    [
        ("pending", "Q", None, (), "Server job limit has been reached."),
        ("never", "Q", None, (), "Can Never Run: Not enough total nodes available"),
        ("held", "H", None, (), "it is held (Hold_Types u)"),
        ("dependency", "H", None, (), "it waits for afterok:5.head@head"),
        ("running", "R", None, ("n1", "n2"), ""),
        ("completed", "F", 0, ("n1", "n2"), ""),
        ("failed", "F", 3, ("n1", "n2"), ""),
        ("timeout", "F", -29, ("n1", "n2"), ""),
        ("cancelled_waiting", "F", None, (), ""),
    ],
)
def test_jobs(name, state, status, hosts, reason):
    found = job(name)
    assert (found.state, found.exit_status, found.hosts, found.reason) == (state, status, hosts, reason)
    assert found.least_nodes == (9 if name == "never" else 2)
    assert found.waits == (state in "QH") and found.has_ended == (state == "F")
    assert (found.began is not None) == bool(hosts)


def test_when_a_job_began():
    assert job("completed").began == datetime(2026, 11, 22, 16, 58, 30)


def test_several_jobs_and_those_that_pbs_does_not_know():
    # Two were asked for: OpenPBS prints the first.
    assert [each.exit_status for each in pbs.parse_jobs((PRINTED / "two.json").read_text()).values()] == [0]
    assert list(pbs.parse_jobs((PRINTED / "one_unknown.json").read_text())) == ["2.head"]
    assert pbs.parse_jobs('{"timestamp": 1}') == {}


@pytest.mark.parametrize("text", ["", "[]", "3", '{"Jobs": 1}', '{"Jobs": {"1": {}}}', "qstat: Unknown Job Id"])
def test_what_is_no_list_of_jobs(text):
    with pytest.raises(OutputError, match="qstat printed no list of jobs"):
        pbs.parse_jobs(text)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"nodes": {"n1": {}}}', "pbsnodes: Server has no node list"])
def test_what_is_no_list_of_nodes(text):
    with pytest.raises(OutputError, match="pbsnodes printed no list of nodes"):
        pbs.parse_nodes(text)


def test_what_steers_a_terminal_is_taken_out():
    assert job("cancelled", comment="a\x1b[2Jb\nc").comment.isprintable()


def test_nodes():
    assert pbs.faults(NODES) == {"n2": "n2 is down", "n3": "n3 is down", "n4": 'n4 is offline (broken "cable")'}
    assert [node.name for node in BUSY if node.is_busy] == ["n1", "n2"] and not pbs.faults(BUSY)


def test_too_few_nodes():
    assert pbs.too_few(job("pending"), NODES) and not pbs.too_few(job("pending"), BUSY)
    assert not pbs.too_few(job("pending"), []), "nothing is known"


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
def test_endings(name, says):
    nodes = NODES if "lost" in name else BUSY
    ending = pbs.ending("7.head", job(name), nodes)
    if says is None:
        assert ending is None
        return
    assert ending.text.startswith(f"job 7.head {says}")
    assert set(ending.node_faults) == {"node_lost": {"n2"}, "first_node_lost": {"n3", "n4"}}.get(name, set())
    assert name != "node_lost" or ending.text.endswith("): n2 is down")


def test_a_job_that_ended_without_success_or_reason_is_not_taken_for_one_that_passed():
    assert "PBS ended it (Exit_status 0;" in pbs.ending("7", job("node_lost"), []).text


def test_waiting():
    said = pbs.waiting("7", 31.4, job("never").reason, BUSY, hopeless=True)
    assert said.text == (
        "job 7 cannot start after 31 s in the queue and was cancelled; PBS says: Can Never Run: Not enough total nodes "
        "available: n1, n2 taken by other jobs (2 of 4 nodes)"
    )
