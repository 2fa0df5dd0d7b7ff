# SPDX-License-Identifier: BSD-3-Clause
"""Summarize each node that any run has used, and find those that stand out."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import polars as pl
from scipy.special import betaincinv

from fabric_checks.records.findings import findings_of
from fabric_checks.records.record import is_success

#: The fields of records that this needs.
COLUMNS = (
    *("session", "time", "system", "partition", "environ", "test"),
    *("case_result", "nodelist", "findings"),
)
#: Intervals of shares cover so much; for one of many nodes, as much for all of them together.
CONFIDENCE = 0.95
#: Records that agree in these are of one run of a case.
_RUN = ("side", "session", "system", "partition", "environ", "test")


@dataclass
class Node:
    """A node.

    :param system: the system it belongs to; :param name: its own name.
    :param last_seen: when the last case on it ended.
    :param cases: in how many cases it was; :param blamed: in how many of them it was named as slow or at
        fault.
    :param failed: how many others failed without naming any node.
    :param low: the least and :param high: the greatest share of bad cases that its cases are compatible with.
    :param others: the share of all other nodes of the system together; None where there are none.
    :param stands_out: whether its share is significantly above theirs.
    """

    system: str
    name: str
    last_seen: datetime
    cases: int = 0
    blamed: int = 0
    failed: int = 0
    low: float = 0.0
    high: float = 1.0
    others: float | None = None
    stands_out: bool = False

    @property
    def bad(self) -> int:
        """Return in how many cases it was blamed, or which failed without a node being named."""
        return self.blamed + self.failed


def nodes_of(frame: pl.DataFrame) -> list[Node]:
    """Return the nodes of records, by system: those that stand out first, then those with the largest share.

    :param frame: records with at least :data:`COLUMNS`, in the order of time.
    """
    found: dict[tuple[str, str], Node] = {}
    # Of the columns that are needed, as the others of a large machine take a gigabyte.
    cases = frame.select("side", *COLUMNS)
    cases = cases.unique(_RUN, keep="last", maintain_order=True).drop_nulls("nodelist")
    for (system, names), same in cases.group_by(
        "system", "nodelist", maintain_order=True
    ):
        blamed, failed = _bad(same)
        last_seen = max(same["time"].to_list())
        for name in json.loads(str(names)):
            node = found.setdefault(
                (str(system), name), Node(str(system), name, last_seen)
            )
            node.cases += same.height
            node.last_seen = max(node.last_seen, last_seen)
            node.blamed += blamed[name]
            node.failed += failed
    by_system: dict[str, list[Node]] = {}
    for node in found.values():
        by_system.setdefault(node.system, []).append(node)
    for nodes in by_system.values():
        _compare(nodes)
    return sorted(
        found.values(),
        key=lambda node: (node.system, not node.stands_out, -node.low, node.name),
    )


def _bad(cases: pl.DataFrame) -> tuple[Counter[str], int]:
    """Return in how many cases each node was blamed, and how many failed without naming any."""
    blamed = Counter[str]()
    failed = 0
    for result, text in cases.select("case_result", "findings").iter_rows():
        found = findings_of({"findings": text and json.loads(text)})
        named = [each.hosts for each in found if each.is_fault and each.hosts]
        blamed.update({hosts[0] for hosts in named if len(hosts) == 1})
        failed += not named and not is_success(result)
    return blamed, failed


def _compare(nodes: Sequence[Node]) -> None:
    """Fill in the intervals of the shares of bad cases (Clopper and Pearson, 1934), and who stands out."""
    cases, bad = (sum(getattr(node, key) for node in nodes) for key in ("cases", "bad"))
    for node in nodes:
        node.low, node.high = _interval(node.bad, node.cases, CONFIDENCE)
        if cases > node.cases:
            node.others = (bad - node.bad) / (cases - node.cases)
            # Of many nodes one is above the others by chance: each gets its part of that.
            least, _ = _interval(
                node.bad, node.cases, 1 - (1 - CONFIDENCE) / len(nodes)
            )
            _, most = _interval(bad - node.bad, cases - node.cases, CONFIDENCE)
            node.stands_out = least > most


def _interval(count: int, of: int, confidence: float) -> tuple[float, float]:
    tail = (1 - confidence) / 2
    low = float(betaincinv(count, of - count + 1, tail)) if count else 0.0
    high = float(betaincinv(count + 1, of - count, 1 - tail)) if count < of else 1.0
    return low, high
