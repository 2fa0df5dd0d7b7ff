# SPDX-License-Identifier: BSD-3-Clause
"""A cluster that microbenchmarks describe: on a twin they find what its own description has."""

import numpy as np
import pytest

from fabric_checks.metrics import half_octaves
from fabric_checks.parsers import streaming
from fabric_twins.model import description
from fabric_twins.sampling import FEWEST
from tests.twins.simulation import SOURCES, TESTS, simgrid
from tests.twins.trials import described
from tests.twins.trials.replay import rows

LARGEST_B = 1 << 18


@simgrid
def test_a_twin_is_described_as_it_is(simulator, small, tmp_path):
    twin = small(("eager_below_B: 16384", "eager_below_B: 131072"))
    given = (*FEWEST, "--directions", "both", "--max-size", str(LARGEST_B))
    streamed = simulator.output(twin, 2, 1, SOURCES / "streaming.c", *given)
    program = TESTS / "twins" / "trials" / "message_cost.c"
    costs = described.costs(simulator.run(twin, 2, 1, program, str(LARGEST_B), "1e8").stdout, LARGEST_B)
    output = streaming.parse(streamed, half_octaves(0, LARGEST_B), directions="both")
    file = tmp_path / "described.yaml"
    file.write_text(described.description("found", 8, output, costs))
    found = description.load(file)
    assert found.eager_below_B == twin.eager_below_B == costs[2]
    assert found.inter_node.rate_MBps == pytest.approx(twin.inter_node.rate_MBps, rel=0.01)
    assert found.host_bus.together_MBps == pytest.approx(2 * twin.inter_node.rate_MBps, rel=0.01)
    for name in ("send_us", "receive_us", "latency_us"):
        for size in (8, 512, 65536):
            ours, theirs = (
                np.interp(size, *zip(*getattr(each.inter_node, name), strict=True)) for each in (found, twin)
            )
            assert ours == pytest.approx(theirs, abs=0.3), (name, size)


def test_what_is_eager_and_what_is_not():
    head = "# size_B send_us receive_us eager\n"
    found = described.costs(head + "0 1.000 2.000 1\n1 1.500 2.500 1\n2 900.000 3.000 0\n# complete\n", 2)
    assert found == ({0: 1.0, 1: 1.5}, {0: 2.0, 1: 2.5}, 2)
    with pytest.raises(AssertionError):
        described.costs(head + "0 1.000 2.000 1\n", 0)


def test_the_table_has_each_error_and_says_who_shares_cores():
    lines = rows({("lj", 2): [1.0, 2.0, 4.0], ("lj", 8): [1.0]}, {("lj", 2): (2.2, 30.0), ("lj", 8): (0.5, 1.0)})
    assert lines[2] == "| lj | 2 | 2 | 1 to 4 | 2.2 | +10.0 | 30 |"
    assert lines[3] == "| lj | 8, sharing 4 cores | 1 | 1 to 1 | 0.5 | -50.0 | 1 |"
