# SPDX-License-Identifier: BSD-3-Clause
"""Fold the names of nodes, and the CPUs of ranks, as the lines of cases have them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet, NodeSetException

#: No job has more nodes, or more ranks on one.
MOST = 2**20
_RANGE = re.compile(r"(\d+)-(\d+)")


def folded(nodes: Any) -> Any:
    """Return names of nodes as ``n[1-8]``; as they are, if they are not folded without loss."""
    try:
        text = str(NodeSet.fromlist(nodes, resolver=RESOLVER_NOGROUP))
        return text if len(nodes) > 1 and unfolded(text) == nodes else nodes
    except (NodeSetException, ValueError, TypeError, AttributeError):
        return nodes


def as_text(nodes: Sequence[str]) -> str:
    """Return names of nodes in one text, ``n[1-8]`` where that is without loss, else separated by commas.

    Linux accepts no variable or argument of more than 128 KiB: ten thousand names by themselves are longer.
    """
    try:
        text = str(NodeSet.fromlist(nodes, resolver=RESOLVER_NOGROUP))
        if {*unfolded(text)} == {*nodes}:
            return text
    except (NodeSetException, ValueError):
        pass
    return ",".join(nodes)


def unfolded(nodes: str | Sequence[str]) -> list[str]:
    """Return names of nodes, each for itself.

    :raises ValueError: if that is no list of nodes.
    """
    return list(_names(nodes) if isinstance(nodes, str) else nodes)


@lru_cache(maxsize=16)
def _names(nodes: str) -> tuple[str, ...]:
    """Return the names that a text stands for: the cases of a night are on the same nodes.

    :raises ValueError: if that is no list of nodes.
    """
    if any(
        len(last) > 9 or int(last) - int(first) > MOST
        for first, last in _RANGE.findall(nodes)
    ):
        raise ValueError("a range of nodes that no machine has")
    try:
        found = NodeSet(nodes, resolver=RESOLVER_NOGROUP)
    except NodeSetException as error:
        raise ValueError(f"not a list of nodes: {error}") from None
    return tuple(found)


def folded_ranks(ranks: Any) -> Any:
    """Return node and CPUs of ranks, each ``node:cpus``, with equal ones of nodes in turn once."""
    if not isinstance(ranks, list) or not all(
        isinstance(rank, str) and ":" in rank for rank in ranks
    ):
        return ranks
    pairs = [rank.rpartition(":")[::2] for rank in ranks]
    nodes = [
        (node, [cpus for _, cpus in of])
        for node, of in groupby(pairs, key=itemgetter(0))
    ]
    return [
        _row([node for node, _ in of], cpus)
        for cpus, of in groupby(nodes, key=itemgetter(1))
    ]


def _row(nodes: list[str], cpus: list[str]) -> list[Any]:
    names = folded(nodes)
    is_same = len(cpus) > 1 and len(set(cpus)) == 1
    return [names, cpus[0], len(cpus)] if is_same else [names, cpus]


class Ranks(NamedTuple):
    """The ranks of some nodes, of which each has the same.

    :param nodes: their names, folded or not; :param cpus: the CPUs of each rank, or those that all have.
    :param times: how many ranks have these.
    """

    nodes: str | tuple[str, ...]
    cpus: str | tuple[str, ...]
    times: int = 1


@lru_cache(maxsize=16)
def unfolded_ranks(rows: tuple[str | Ranks, ...]) -> list[str]:
    """Return node and CPUs of each rank, as in a record; cases of equal rows share the list, which nobody is
    to change.

    :raises ValueError: if that is no placement.
    """
    ranks: list[str] = []
    for row in rows:
        if isinstance(row, str):
            ranks.append(row)
            continue
        if not 0 < row.times <= MOST:
            raise ValueError("more ranks on a node than any machine has")
        cpus = [row.cpus] * row.times if isinstance(row.cpus, str) else row.cpus
        ranks += [f"{node}:{each}" for node in unfolded(row.nodes) for each in cpus]
    return ranks
