# SPDX-License-Identifier: BSD-3-Clause
"""Describe a twin as the trials describe a cluster, and compare with what it was made of.

. ci/env.sh
python -m lab.replay.known_twin config/twins/escher.yaml
"""

import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from fabric_checks.core.metrics import half_octaves
from fabric_checks.parsers import streaming
from fabric_twins.model import description
from fabric_twins.smpirun import FEWEST
from lab.replay import described
from tests.twins.simulation import SOURCES, Simulator

LARGEST_B = 1 << 18
HERE = Path(__file__).resolve().parent


def described_again(simulator, twin, folder):
    """Return the description of a twin by the microbenchmarks of the trials, and the eager limit that they
    found."""
    given = (*FEWEST, "--directions", "both", "--max-size", str(LARGEST_B))
    streamed = simulator.output(twin, 2, 1, SOURCES / "streaming.c", *given)
    costs = described.costs(
        simulator.run(
            twin, 2, 1, HERE / "message_cost.c", str(LARGEST_B), "1e8"
        ).stdout,
        LARGEST_B,
    )
    turns = simulator.run(twin, 3, 1, HERE / "turns.c", str(LARGEST_B)).stdout
    output = streaming.parse(streamed, half_octaves(0, LARGEST_B), directions="both")
    file = folder / "described.yaml"
    file.write_text(
        described.description(
            "found", 8, output, costs, described.in_turn_below(turns, LARGEST_B)
        )
    )
    return description.load(file), costs[2]


def costs_us(*twins, sizes_B=(8, 512, 65536)):
    """Return what messages cost on each twin, by the part of the cost and the size."""
    return {
        (name, size): tuple(
            np.interp(size, *zip(*getattr(each.inter_node, name), strict=True)).item()
            for each in twins
        )
        for name in ("send_us", "receive_us", "latency_us")
        for size in sizes_B
    }


def main(path):
    """Print the rates and costs that were found, next to those of the description."""
    shipped = description.load(Path(path))
    # As on the test cluster, messages leave in turn.
    twin = replace(
        shipped,
        inter_node=replace(
            shipped.inter_node, in_turn_below_B=shipped.eager_below_B // 2
        ),
    )
    with tempfile.TemporaryDirectory() as folder:
        found, eager_below_B = described_again(
            Simulator(Path(folder)), twin, Path(folder)
        )
    print(f"eager_below_B {eager_below_B}, {twin.eager_below_B}")
    print(
        f"rate_MBps {found.inter_node.rate_MBps:.4g}, {twin.inter_node.rate_MBps:.4g}"
    )
    for (name, size), (ours, theirs) in costs_us(found, twin).items():
        print(f"{name} at {size} B {ours:.4g}, {theirs:.4g}")


if __name__ == "__main__":
    main(sys.argv[1])
