# SPDX-License-Identifier: BSD-3-Clause
"""What PBS says of nodes and queues."""

import pytest

from fabric_checks.core.errors import OutputError
from fabric_checks.schedulers.pbs import queues as pbs

NODES = (
    "n1\n     state = free\n     resources_available.ncpus = 8\n\nn2\n     state = down\n     np = 4\n     queue = b\n"
)
QUEUE = "Queue: {}\n    queue_type = Execution\n    enabled = {}\n    started = True\n\n"


def test_a_node_of_a_queue_is_of_no_other():
    one, two = pbs.queues(NODES, QUEUE.format("a", True) + QUEUE.format("b", True), "a")
    assert [(queue.name, queue.nodes, queue.cores, queue.is_default) for queue in (one, two)] == [
        ("a", 1, 8, True), ("b", 1, 4, False),
    ]  # fmt: skip


def test_queues_that_take_no_jobs():
    (one,) = pbs.queues(NODES, QUEUE.format("a", False))
    assert not one.takes_jobs
    assert pbs.queues(NODES, "Queue: r\n    queue_type = Route\n") == []


def test_a_queue_of_several_nodes():
    (one,) = pbs.queues(NODES.replace("queue = b", "queue = a, c"), QUEUE.format("c", True))
    assert (one.nodes, one.cores) == (1, 4)


def test_texts_that_are_none():
    with pytest.raises(OutputError, match="no node: 'pbsnodes: Server has no node list"):
        pbs.queues("pbsnodes: Server has no node list MSG", "")
    with pytest.raises(OutputError, match="line 1: an attribute that belongs to nothing"):
        pbs.queues("   state = free", "")
