# SPDX-License-Identifier: BSD-3-Clause
"""The noise of a run, where few controls bound how much nodes differ."""

import numpy as np
import pytest

from fabric_checks.diagnosis.cross_section import noise

REPEAT, OF_NODES = 0.02, 0.2


def samples(count, *, seed, levels=0.0):
    """Return four measurements of each of so many healthy pairs, at one level or at their own."""
    draw = np.random.default_rng(seed)
    return np.broadcast_to(np.atleast_1d(levels), count)[:, None] + draw.normal(
        0, REPEAT, (count, 4)
    )


def of_controls(suspects, reached_alone):
    """Return the noise by eight controls and by suspects."""
    rows = np.concatenate((samples(8, seed=1), suspects))
    nodes = OF_NODES, 0.3, reached_alone
    return noise.of_controls(rows, np.arange(len(rows)) < 8, REPEAT, (0.03, 50), nodes)


@pytest.mark.parametrize("reached_alone, is_bounded", [(0.9, True), (0.5, False)])
def test_suspects_that_are_healthy_alone_bound_the_spread_of_nodes(
    reached_alone, is_bounded
):
    """Where links are shared, the rates of nodes in the scan differ without any node being slow."""
    suspects = samples(40, seed=2)
    suspects[:10] = samples(10, seed=3, levels=-0.3)  # some are slow
    found = of_controls(suspects, reached_alone)
    assert (found.nodes < OF_NODES / 5) is is_bounded and (
        found.nodes == OF_NODES
    ) is not is_bounded


def test_suspects_that_differ_leave_the_spread_of_nodes_as_it_is():
    differ = samples(40, seed=2, levels=np.linspace(-0.5, 0.0, 40))
    assert of_controls(differ, 1.0).nodes == pytest.approx(OF_NODES)
