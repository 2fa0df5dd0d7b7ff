# SPDX-License-Identifier: BSD-3-Clause
"""The fluid model of ``lab`` against rates computed by hand, and its output against the parser."""

import numpy as np
import pytest

from fabric_checks.parsers import rotate
from lab.fluid import flows
from lab.fluid.fabric import Level, fat_tree
from lab.fluid.machine import Machine


@pytest.mark.parametrize(
    ("paths", "weights", "capacity", "expected"),
    [
        ([[0, 3], [0, 1], [1, 3]], [[1, 0], [1, 1], [1, 0]], [10, 4], [8, 2, 2]),
        ([[0, 3], [0, 3]], [[0.5, 0], [1, 0]], [9, 1], [6, 6]),
        ([[0, 1], [0, 2], [1, 2]], [[1, 1]] * 3, [2, 10, 10], [1, 1, 9]),
    ],
)
def test_rates_are_max_min_fair(paths, weights, capacity, expected):
    links = np.array([*capacity, *[np.inf] * (4 - len(capacity))], dtype=float)
    assert flows.max_min(np.array(paths), np.array(weights, dtype=float), links) == pytest.approx(expected)


def test_flow_that_ends_frees_its_links():
    ends = flows.finish(
        np.array([[0], [0]]), np.ones((2, 1)), np.array([10, 30]), 0, lambda now: (np.array([10, np.inf]), np.inf)
    )
    assert ends == pytest.approx([2, 4], rel=1e-5)


@pytest.mark.parametrize("routing", ["static", "adaptive", "spray", "hash", "message"])
def test_output_is_read_by_the_parser(routing):
    fabric = fat_tree(10, 4, 2, routing=routing)
    fabric.levels.append(Level(fabric.host(3), 0.5, begin_at=0.5))
    output = rotate.parse(Machine(fabric, np.random.default_rng(1)).run(5))
    assert len(output.hosts) == 10 and set(output.phases["alone"].sender) | set(output.phases["alone"].receiver)
