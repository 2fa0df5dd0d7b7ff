# SPDX-License-Identifier: BSD-3-Clause
"""What Flux says of its resources."""

import json

import pytest

from fabric_checks.core.errors import OutputError
from fabric_checks.schedulers.flux import queues as flux


def resources(*groups, **properties):
    lite = [{"rank": rank, "children": {"core": core}} for rank, core in groups]
    return json.dumps({"version": 1, "execution": {"R_lite": lite, "properties": properties}})


def test_without_queues_it_is_one():
    (one,) = flux.queues(resources(("0-2", "0-3"), ("7", "0-1")))
    assert (one.name, one.nodes, one.cores, one.differ, one.is_default) == ("", 4, 2, True, True)


def test_queues_are_properties():
    one, two = flux.queues(resources(("0-7", "0-3,8-11"), a="0-5", b="6,7"))
    assert [(queue.name, queue.nodes, queue.cores) for queue in (one, two)] == [("a", 6, 8), ("b", 2, 8)]


@pytest.mark.parametrize(
    "text", ["", "flux-resource: ERROR", "[]", resources(("x", "0")), resources(("9-1000009999", "0"))]
)
def test_texts_that_are_none(text):
    with pytest.raises(OutputError, match="not a list of Flux resources"):
        flux.queues(text)


def test_no_node():
    with pytest.raises(OutputError, match="Flux has no node"):
        flux.queues(resources())
