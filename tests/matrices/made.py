# SPDX-License-Identifier: BSD-3-Clause
"""Matrices of pairs whose faults are known, in the formats that sites have them in."""

import numpy as np

from fabric_checks.matrices.model import End, PairTable, Row


def matrix(nodes, seed, node=(), pair=(), sender=(), noise=0.01, usual=12.3):
    """Return rates by sender and receiver; ``node``, ``pair`` and ``sender`` end with the share of the slow
    one."""
    values = usual * np.exp(
        np.random.default_rng(seed).normal(0, noise, (nodes, nodes))
    )
    if node:
        values[node[0]] *= node[1]
        values[:, node[0]] *= node[1]
    if sender:
        values[sender[0]] *= sender[1]
    if pair:
        values[pair[0], pair[1]] *= pair[2]
    return values


def csv_text(values, *said, names=None, unit="GB/s, larger is better"):
    """Return a matrix as CSV, with further lines ``# key: value``."""
    names = names or [f"n{number:02}" for number in range(len(values))]
    lines = [f"# unit: {unit}", *(f"# {line}" for line in said), ",".join(("", *names))]
    for sender, row in zip(names, values, strict=True):
        cells = (
            "" if sender == receiver else f"{value:.4f}"
            for receiver, value in zip(names, row, strict=True)
        )
        lines.append(",".join((sender, *cells)))
    return "\n".join(lines) + "\n"


def clusterkit_text(values, kind="bandwidth", unit="MB/s"):
    """Return a symmetric matrix as ClusterKit prints it."""
    values = np.triu(np.round(values, 2), 1)
    values = values + values.T
    off = values[values > 0]
    lines = [
        f"{name} {kind}: {value:.3f} {unit}"
        for name, value in (
            ("Minimum", off.min()),
            ("Maximum", off.max()),
            ("Average", off.mean()),
        )
    ]
    lines += [
        "",
        "    Rank:         " + "".join(f"{rank:10d}" for rank in range(len(values))),
    ]
    lines += [
        f"{rank:8d} (node{rank}):   " + "".join(f"{value:10.2f}" for value in row)
        for rank, row in enumerate(values)
    ]
    return "\n".join(lines) + "\n"


def table(
    values, *, alone=True, both_ways=False, metric="bandwidth", devices=None, title=""
):
    """Return a matrix as a table, without pairs that are NaN; with ``devices`` each host has that many."""
    ends = [
        End(f"n{rank // devices}", f"gpu {rank % devices}")
        if devices
        else End(f"n{rank}")
        for rank in range(len(values))
    ]
    rows = tuple(
        Row(one, other, float(values[at, to]))
        for at, one in enumerate(ends)
        for to, other in enumerate(ends)
        if at != to and (at < to or not both_ways) and not np.isnan(values[at, to])
    )
    return PairTable("Tool", metric, rows, alone, both_ways, kind=title)
