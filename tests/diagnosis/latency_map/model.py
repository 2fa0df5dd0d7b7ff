# SPDX-License-Identifier: BSD-3-Clause
"""A fabric whose latencies are known, and the output of `latency_map` on it."""

import numpy as np

from fabric_checks.parsers import fabric, rotate_patterns
from lab.rotate import patterns

NEAR_US, HOP_US = 1.2, 0.3


def latencies(leaf, *, node=None, pair=None):
    """Return the latency of every pair in us by the leaf of each node; nodes and pairs that are slower by so
    much."""
    leaf = np.asarray(leaf)
    found = NEAR_US + HOP_US * (leaf[:, None] != leaf[None, :])
    for rank, more in (node or {}).items():
        found[rank, :] += more
        found[:, rank] += more
    for (one, other), more in (pair or {}).items():
        found[one, other] += more
        found[other, one] += more
    return found


def text_of(
    latency_us, *, noise=0.0, own=0.0, seed=1, passes=2, shifts=0, hosts=None, digits=6
):
    """Return the output of the program on a fabric.

    :param noise: standard deviation of the logarithm of a measurement; :param own: of what a node has of its
        own; :param digits: behind the point.
    """
    nodes = len(latency_us)
    random = np.random.default_rng(seed)
    of_node = np.exp(own * random.standard_normal(nodes))
    rounds = np.array(patterns.round_robin_rounds(nodes, shifts), dtype=np.int32)
    starter, other = patterns.pairs("round-robin", nodes, rounds)
    lines = [
        "# fabric-checks latency_map 1",
        "# mpi: a model",
        "# compiler: none",
        f"# ranks: {nodes}",
    ]
    lines += [
        f"# rank {rank}: host {(hosts or [f'n{r:03}' for r in range(nodes)])[rank]}"
        for rank in range(nodes)
    ]
    lines.append(
        f"# options: size 8 samples 30 repetitions 4 warmup 10 passes {passes} shifts {shifts}"
    )
    lines.append(f"# shifts: {len(rounds)} of {2 * rotate_patterns.turns(nodes)}")
    lines.append("# columns: pass round starter other latency_us least_us")
    rows = []
    for number in range(passes):
        for round_, ones, others in zip(rounds, starter, other, strict=True):
            true = latency_us[ones, others] * np.sqrt(of_node[ones] * of_node[others])
            for one, two, value in zip(
                ones,
                others,
                true * np.exp(noise * random.standard_normal(len(ones))),
                strict=True,
            ):
                value = round(float(value), digits)
                rows.append(
                    f"{number} {round_} {one} {two} {value:.6g} {0.99 * value:.6g}"
                )
    text = "\n".join([*lines, *rows, "# elapsed: 100 s"]) + "\n"
    return text + fabric.last_line(text, len(rows))
