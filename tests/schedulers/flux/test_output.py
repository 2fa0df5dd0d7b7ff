# SPDX-License-Identifier: BSD-3-Clause
"""Flux's texts of jobs, nodes and resources are read as meant; those of jobs and nodes are of a real one."""

import json

import pytest

from fabric_checks.schedulers import model
from fabric_checks.schedulers.flux import output as flux
from tests.breakages import refused
from tests.conftest import GOLDEN

PRINTED = GOLDEN / "flux/0.88.0"


def job(name, **more):
    (found,) = parse(
        json.dumps(json.loads((PRINTED / f"{name}.json").read_text()) | more)
    ).values()
    return found


def parse(text):
    return flux.parse_jobs(text)


NODES = flux.parse_nodes((PRINTED / "nodes.txt").read_text(), busy="n1")


@pytest.mark.parametrize(
    "name, state, status, nodes, reason",
    [
        ("pending", "PENDING", None, (), ""),
        ("held", "PENDING", None, (), "it is held (urgency 0)"),
        ("dependency", "PENDING", None, (), "it waits for after-success=ƒ7RKkdom"),
        ("running", "RUNNING", None, ("n3", "n4"), ""),
        ("completed", "COMPLETED", 0, ("n1", "n2"), ""),
        ("failed", "FAILED", 3, ("n3", "n4"), ""),
        ("timeout", "TIMEOUT", 142, ("n1", "n2"), ""),
        ("cancelled_waiting", "CANCELLED", -128, (), ""),
    ],
)
def test_jobs(name, state, status, nodes, reason):
    found = job(name)
    assert found.state == state
    assert found.exit_status == status
    assert found.nodes == nodes
    assert found.reason == reason
    assert found.least_nodes == 2
    assert found.waits == (state == "PENDING") and found.has_ended == (
        state not in ("PENDING", "RUNNING")
    )
    assert (found.began is not None) == bool(nodes)


def test_several_jobs_and_one_that_is_unknown():
    two = parse((PRINTED / "two.json").read_text())
    assert {each.state for each in two.values()} == {"FAILED", "COMPLETED"}
    assert len(parse((PRINTED / "one_unknown.json").read_text())) == 1


@pytest.mark.parametrize("text", ["", "{}", '{"jobs": [{"id": "x"}]}', "null"])
def test_another_text_is_no_list_of_jobs(text):
    with refused("flux jobs printed no list of jobs"):
        parse(text)


def test_terminal_controls_are_taken_out():
    found = job(
        "cancelled",
        exception={
            "occurred": True,
            "type": "cancel",
            "severity": 0,
            "note": "a\x1b[2Jb\nc",
        },
    )
    assert found.note.isprintable()


def test_nodes():
    assert model.faults(NODES) == {
        "n2": "n2 is down", "n3": "n3 is down and is drained (gone)", "n4": "n4 is drained (broken | cable)",
    }  # fmt: skip
    assert [node.name for node in NODES] == ["n1", "n2", "n3", "n4"], (
        "the head is left out"
    )
    assert [node.name for node in NODES if node.is_busy] == ["n1"]


def test_another_line_is_no_node():
    with refused("flux resource status printed 'avail n1' for"):
        flux.parse_nodes("avail n1\n")


@pytest.mark.parametrize(
    "name, more, text",
    [
        ("completed", {}, None),
        ("failed", {}, None),
        ("timeout", {},
         "ran on n1, n2; it ran over its time limit (timeout: resource allocation expired): n2 is down"),
        ("cancelled", {"nodelist": "n1"},
         "ran on n1; it was cancelled, but not by this session (cancel: maintenance begins)"),
        ("cancelled_waiting", {}, "had not started; it was cancelled, but not by this session (cancel)"),
        ("node_lost", {},
         "ran on n1, n2; a node of it failed (node-failure: node failure on n2 (shell rank 1)): n2 is down"),
        ("first_node_lost", {}, "ran on n3, n4; a node of it failed (exec: node failure on n3 (rank 3)): "
         "n3 is down and is drained (gone); n4 is drained (broken | cable)"),
        ("unsatisfiable", {},
         "had not started; Flux cannot schedule it (alloc: unsatisfiable request: need 9 node(s) "
         "with 1 cores each, only 4 eligible)"),
    ],
)  # fmt: skip
def test_exit_reasons(name, more, text):
    reason = flux.exit_reason("7", job(name, **more), NODES)
    assert (reason and reason.text) == (text and f"job 7 {text}")
    if reason:
        assert set(reason.node_faults) == set(job(name, **more).nodes) - {"n1"}


def test_an_exception_that_did_not_end_a_job_is_no_exit_reason():
    oddity = {"occurred": True, "type": "mpi", "severity": 3, "note": "slow"}
    assert flux.exit_reason("7", job("failed", exception=oddity), []) is None


def resources(*groups, **properties):
    lite = [{"rank": rank, "children": {"core": core}} for rank, core in groups]
    return json.dumps(
        {"version": 1, "execution": {"R_lite": lite, "properties": properties}}
    )


def test_without_queues_it_is_one():
    (one,) = flux.queues(resources(("0-2", "0-3"), ("7", "0-1")))
    assert (one.name, one.nodes, one.cores, one.differ, one.is_default) == (
        "",
        4,
        2,
        True,
        True,
    )


def test_queues_are_properties():
    one, two = flux.queues(resources(("0-7", "0-3,8-11"), a="0-5", b="6,7"))
    assert [(queue.name, queue.nodes, queue.cores) for queue in (one, two)] == [
        ("a", 6, 8),
        ("b", 2, 8),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "flux-resource: ERROR",
        "[]",
        resources(("x", "0")),
        resources(("9-1000009999", "0")),
    ],
)
def test_another_text_is_no_list_of_resources(text):
    with refused("not a list of Flux resources"):
        flux.queues(text)


def test_no_node():
    with refused("Flux has no node"):
        flux.queues(resources())
