# SPDX-License-Identifier: BSD-3-Clause
"""What Flux says of jobs and nodes, read and put in words; tests/golden/flux has what a real one printed."""

import json

import pytest

from fabric_checks.core.errors import OutputError
from fabric_checks.schedulers.flux import jobs as flux
from tests.conftest import GOLDEN

PRINTED = GOLDEN / "flux" / "0.88.0"


def job(name, **more):
    (found,) = flux.parse_jobs(json.dumps(json.loads((PRINTED / f"{name}.json").read_text()) | more)).values()
    return found


def expand(names):
    return {"n[1-4]": ["n1", "n2", "n3", "n4"]}.get(names, [names])


NODES = flux.parse_nodes((PRINTED / "nodes.txt").read_text(), expand)


@pytest.mark.parametrize(
    ("name", "state", "result", "status", "nodes", "reason"),
    [
        ("pending", "SCHED", "", None, "", ""),
        ("held", "SCHED", "", None, "", "it is held (urgency 0)"),
        ("dependency", "DEPEND", "", None, "", "it waits for after-success=ƒ7RKkdom"),
        ("running", "RUN", "", None, "n[3-4]", ""),
        ("completed", "INACTIVE", "COMPLETED", 0, "n[1-2]", ""),
        ("failed", "INACTIVE", "FAILED", 3, "n[3-4]", ""),
        ("timeout", "INACTIVE", "TIMEOUT", 142, "n[1-2]", ""),
        ("cancelled_waiting", "INACTIVE", "CANCELED", -128, "", ""),
    ],
)
def test_jobs(name, state, result, status, nodes, reason):
    found = job(name)
    assert (found.state, found.result, found.exit_status, found.nodelist, found.reason) == (
        state, result, status, nodes, reason,
    )  # fmt: skip
    assert found.least_nodes == 2
    assert found.waits == (state in ("SCHED", "DEPEND")) and found.has_ended == (state == "INACTIVE")
    assert (found.began is not None) == bool(nodes)


def test_several_jobs_and_those_that_flux_does_not_know():
    two = flux.parse_jobs((PRINTED / "two.json").read_text())
    assert {each.result for each in two.values()} == {"FAILED", "COMPLETED"}
    assert len(flux.parse_jobs((PRINTED / "one_unknown.json").read_text())) == 1


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"jobs": 1}', '{"jobs": [{"id": "x"}]}', '{"id": 1}', "3", "null"])
def test_what_is_no_list_of_jobs(text):
    with pytest.raises(OutputError, match="flux jobs printed no list of jobs"):
        flux.parse_jobs(text)


def test_what_steers_a_terminal_is_taken_out():
    found = job("cancelled", exception={"occurred": True, "type": "cancel", "severity": 0, "note": "a\x1b[2Jb\nc"})
    assert found.note.isprintable()


def test_nodes():
    assert flux.faults(NODES) == {
        "n2": "n2 is down", "n3": "n3 is down and is drained (gone)", "n4": "n4 is drained (broken | cable)",
    }  # fmt: skip
    assert [node.name for node in NODES] == ["n1", "n2", "n3", "n4"], "the head is left out"


def test_what_is_no_line_of_a_node():
    with pytest.raises(OutputError, match="flux resource status printed 'avail n1' for"):
        flux.parse_nodes("avail n1\n", expand)


def test_too_few_nodes():
    assert flux.too_few(job("pending"), NODES)
    assert not flux.too_few(job("pending", nnodes=1), NODES)
    assert not flux.too_few(job("pending"), []), "nothing is known"


@pytest.mark.parametrize(
    ("name", "names", "says"),
    [
        ("completed", ["n1", "n2"], None),
        ("failed", ["n3", "n4"], None),
        (
            "timeout",
            ["n1"],
            "job 7 ran on n1; it ran over its time limit (timeout: resource allocation expired)",
        ),
        (
            "cancelled",
            ["n1"],
            "job 7 ran on n1; it was cancelled, but not by this session (cancel: maintenance begins)",
        ),
        ("cancelled_waiting", [], "job 7 had not started; it was cancelled, but not by this session (cancel)"),
        (
            "node_lost",
            ["n1", "n2"],
            "job 7 ran on n1, n2; a node of it failed (node-failure: node failure on n2 (shell rank 1)): n2 is down",
        ),
        (
            "first_node_lost",
            ["n3", "n4"],
            "job 7 ran on n3, n4; a node of it failed (exec: node failure on n3 (rank 3)): "
            "n3 is down and is drained (gone); n4 is drained (broken | cable)",
        ),
        (
            "unsatisfiable",
            [],
            "job 7 had not started; Flux cannot schedule it (alloc: unsatisfiable request: need 9 node(s) with 1 cores "
            "each, only 4 eligible)",
        ),
    ],
)
def test_endings(name, names, says):
    ending = flux.ending("7", job(name), names, NODES)
    assert (ending and ending.text) == says
    if ending:
        assert set(ending.node_faults) == set(names) - {"n1"}


def test_an_exception_that_did_not_end_a_job_is_no_reason():
    oddity = {"occurred": True, "type": "mpi", "severity": 3, "note": "slow"}
    assert flux.ending("7", job("failed", exception=oddity), ["n3"], []) is None


def test_waiting():
    said = flux.waiting("7", 31.4, job("held").reason, NODES, busy=["n1"])
    assert said.text == (
        "job 7 is still waiting after 31 s in the queue and was cancelled; Flux says: it is held (urgency 0): "
        "n2 is down; n3 is down and is drained (gone); n4 is drained (broken | cable); "
        "n1 taken by other jobs (1 of 4 nodes)"
    )
    assert flux.waiting("7", 31.4, "", [], busy=[], hopeless=True).text == (
        "job 7 cannot start after 31 s in the queue and was cancelled; Flux gives no reason"
    )
