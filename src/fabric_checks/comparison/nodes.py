# SPDX-License-Identifier: BSD-3-Clause
"""Summarize each node that any run has used, and find those that stand out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import polars as pl
from scipy.special import betaincinv

from fabric_checks.records.findings import parsed
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
    for row in frame.unique(_RUN, keep="last", maintain_order=True).iter_rows(
        named=True
    ):
        names = _data(row, "nodelist") or []
        findings = [
            each
            for each in parsed(_data(row, "findings") or ())
            if each.is_fault and each.hosts
        ]
        bad = not is_success(row["case_result"])
        for name in names:
            node = found.setdefault(
                (row["system"], name), Node(row["system"], name, row["time"])
            )
            node.cases += 1
            node.last_seen = max(node.last_seen, row["time"])
            node.blamed += any(each.hosts == (name,) for each in findings)
            node.failed += bad and not findings
    by_system: dict[str, list[Node]] = {}
    for node in found.values():
        by_system.setdefault(node.system, []).append(node)
    for nodes in by_system.values():
        _compare(nodes)
    return sorted(
        found.values(),
        key=lambda node: (node.system, not node.stands_out, -node.low, node.name),
    )


def _data(row: Mapping[str, Any], name: str) -> Any:
    return json.loads(row[name]) if row[name] else None


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
