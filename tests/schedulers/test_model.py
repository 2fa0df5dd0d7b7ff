# SPDX-License-Identifier: BSD-3-Clause
"""Queues, nodes and exit reasons as all schedulers have them."""

from types import SimpleNamespace

import pytest
from reframe.core.backends import getlauncher

from fabric_checks.schedulers import launchers, model  # noqa: F401  (launchers registers)
from fabric_checks.schedulers.model import Node, Queue


def test_a_job_may_have_fewer_nodes_than_there_are():
    assert Queue("a", 10, most_nodes=4).usable == 4 and Queue("a", 10).usable == 10
    assert Queue("a", 2, most_nodes=4).usable == 2


def test_of_many_nodes_some_are_named():
    found = {f"n{i}": f"n{i} is down" for i in range(20)}
    *some, last = model.listed(found).split("; ")
    assert len(some) == model.MOST_SHOWN - 1 and last == "and 13 more"
    assert model.listed(dict(list(found.items())[:2])) == "n0 is down; n1 is down"


def test_the_exit_reason_of_a_wait_names_what_the_job_waited_for():
    # One that is out of service and still busy is named once.
    nodes = [Node("a", "a is down", is_busy=True), Node("b", is_busy=True), Node("c")]
    reason = model.timed_out("7", 9.6, "X", "no", nodes)
    assert reason.node_faults == {"a": "a is down"}
    assert reason.text == (
        "job 7 is still waiting after 10 s in the queue and was cancelled; X says: no: a is down; "
        "b taken by other jobs (1 of 3 nodes)"
    )
    assert model.timed_out("7", 5, "X", "", [], unschedulable=True).text == (
        "job 7 cannot start after 5 s in the queue and was cancelled; X gives no reason"
    )


@pytest.mark.parametrize("ppn, nodes", [(4, 2), (None, 8)])
def test_a_launcher_asks_for_as_many_nodes_as_the_layout_has(ppn, nodes):
    job = SimpleNamespace(num_tasks=8, num_tasks_per_node=ppn)
    assert f"--nodes={nodes}" in getlauncher("flux-run")().command(job)
