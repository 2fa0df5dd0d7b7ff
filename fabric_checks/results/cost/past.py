# SPDX-License-Identifier: BSD-3-Clause
"""What cases cost before: by case, and for a case that never ran here, by what is most like it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import polars as pl

from fabric_checks.layouts import Layout
from fabric_checks.results.cost.plan import PlannedCase

#: The fields of records that are read, and those of them that are costs.
FIELDS = (
    *(
        "session",
        "time",
        "system",
        "partition",
        "environ",
        "check",
        "test",
        "parameters",
        "layout",
        "metric",
        "evidence",
    ),
    *("elapsed_s", "traffic_B", "disk_B"),
)
COSTS = ("elapsed_s", "traffic_B", "disk_B")

#: What a figure may rest on, the best first.
DEFINITION = "definition"
OWN = "own"
SYSTEM = "same test on the system"
LAYOUT = "nearest layout on the system"
ELSEWHERE = "same test on another system"
DECLARED = "declared"
BOUND = "time limit"
UNKNOWN = "unknown"
BASES = (DEFINITION, OWN, SYSTEM, LAYOUT, ELSEWHERE, DECLARED, BOUND, UNKNOWN)

#: Of how many runs of a case the median is taken: the latest.
LATEST = 9
#: What a case leaves, as records and other files of this collection have it: bytes a metric, and beside them.
_RECORD_B, _KEPT_B = 1600, 6000


@dataclass(frozen=True)
class Figure:
    """A cost of a case, and what it rests on, one of :data:`BASES`; the value is None if that is ``UNKNOWN``."""

    value: float | None
    basis: str


@dataclass(frozen=True)
class _Seen:
    """What a case cost: the median of its latest runs."""

    layout: Layout | None
    simulated: bool
    costs: Mapping[str, float | None]


@dataclass
class Past:
    """What cases cost, ready to be looked up."""

    _own: dict[tuple[str, ...], list[_Seen]] = field(default_factory=dict)
    _on_system: dict[tuple[str, ...], list[_Seen]] = field(default_factory=dict)
    _by_layout: dict[tuple[str, ...], list[_Seen]] = field(default_factory=dict)
    _elsewhere: dict[tuple[str, ...], list[_Seen]] = field(default_factory=dict)

    @classmethod
    def of(cls, frame: pl.DataFrame) -> Past:
        """Take over records.

        :param frame: from :func:`fabric_checks.results.store.reading.load`, with :data:`FIELDS`. Cases that failed
            before they had figures do not count: they ended early.
        """
        past = cls()
        case = ("system", "partition", "environ", "check", "test", "layout")
        runs = (
            frame.filter(pl.col("metric").is_not_null())
            .group_by(*case, "session", "time")
            .agg(
                *(pl.col(name).first() for name in (*COSTS, "parameters")),
                pl.col("evidence").is_not_null().any().alias("simulated"),
            )
            .sort("time")
            .group_by(*case, maintain_order=True)
            .agg(
                *(pl.col(name).drop_nulls().tail(LATEST).median() for name in COSTS),
                pl.col("simulated").any(),
                pl.col("parameters").last(),
            )
        )
        for row in runs.iter_rows(named=True):
            seen = _Seen(_layout(row["layout"]), row["simulated"], {name: row[name] for name in COSTS})
            system, test = row["system"], row["test"]
            past._own.setdefault((system, row["partition"], row["environ"], test), []).append(seen)
            past._on_system.setdefault((system, test), []).append(seen)
            past._by_layout.setdefault((system, row["check"], row["parameters"] or "{}"), []).append(seen)
            past._elsewhere.setdefault((test,), []).append(seen)
        return past

    def find(self, case: PlannedCase, cost: str) -> Figure:
        """Return what a case will cost.

        :param cost: one of :data:`COSTS`. Where nothing is known, the time is that of the case's limit.
        """
        layout = _layout(case.layout)
        if cost == "traffic_B" and (case.nodes == 1 or case.simulated):
            return Figure(0, DEFINITION)
        own = self._own.get((case.system, case.partition, case.environ, case.test), ())
        for basis, seen in (
            (OWN, own),
            (SYSTEM, self._on_system.get((case.system, case.test), ())),
            (
                LAYOUT,
                _nearest(layout, self._by_layout.get((case.system, case.check, _text_of(case.parameters)), ()), cost),
            ),
            (ELSEWHERE, self._like(case)),
        ):
            values = [_scaled(each, layout, cost) for each in seen]
            known = [value for value in values if value is not None]
            if known:
                return Figure(median(known), basis)
        return _declared(case, cost)

    def _like(self, case: PlannedCase) -> list[_Seen]:
        return [seen for seen in self._elsewhere.get((case.test,), ()) if seen.simulated == case.simulated]


def _declared(case: PlannedCase, cost: str) -> Figure:
    if cost == "disk_B":
        return Figure(_KEPT_B + _RECORD_B * case.metrics, DECLARED)
    if cost == "traffic_B":
        return Figure(case.traffic_B, UNKNOWN if case.traffic_B is None else DECLARED)
    return Figure(case.limit_s, UNKNOWN if case.limit_s is None else BOUND)


def _layout(text: str | None) -> Layout | None:
    try:
        return Layout.of(text or "")
    except ValueError:
        return None


def _text_of(parameters: Mapping[str, Any]) -> str:
    """Return parameters as tables of records have them."""
    return json.dumps(parameters, ensure_ascii=False)


def _nearest(layout: Layout | None, seen: Iterable[_Seen], cost: str) -> Sequence[_Seen]:
    """Return what ran in the layouts nearest to one, in steps of a factor of two of nodes and of processes a node.

    What stays within a node moves nothing between nodes, so the two kinds are not compared.
    """
    if layout is None:
        return ()
    found: dict[float, list[_Seen]] = {}
    for each in seen:
        if each.layout and (each.layout.nodes > 1) == (layout.nodes > 1) and each.costs[cost] is not None:
            nodes, ppn = each.layout.nodes / layout.nodes, each.layout.ppn / layout.ppn
            found.setdefault(abs(math.log2(nodes)) + abs(math.log2(ppn)), []).append(each)
    return found[min(found)] if found else ()


def _scaled(seen: _Seen, layout: Layout | None, cost: str) -> float | None:
    """Return a cost; bytes between nodes are taken to grow with their number, from a layout that differs."""
    value = seen.costs[cost]
    if value is None or cost != "traffic_B" or not (seen.layout and layout):
        return value
    return value * layout.nodes / seen.layout.nodes
