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

from fabric_checks.core.layouts import Layout
from fabric_checks.records.cost.plan import PlannedCase

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
    *("elapsed_s", "disk_B"),
)
COSTS = ("elapsed_s", "disk_B")

#: What a value may rest on, the best first.
OWN = "own"
SYSTEM = "same test on the system"
LAYOUT = "nearest layout on the system"
ELSEWHERE = "same test on another system"
BOUND = "time limit"
UNKNOWN = "unknown"
BASES = (OWN, SYSTEM, LAYOUT, ELSEWHERE, BOUND, UNKNOWN)

#: Of how many runs of a case the median is taken: the latest.
LATEST = 9


@dataclass(frozen=True)
class Expected:
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

        :param frame: from :func:`fabric_checks.records.reading.load`, with :data:`FIELDS`. Cases that failed
            before they had values do not count: they ended early.
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

    def find(self, case: PlannedCase, cost: str) -> Expected:
        """Return what a case will cost.

        :param cost: one of :data:`COSTS`. Where nothing is known, the time is that of the case's limit.
        """
        in_layouts = self._by_layout.get((case.system, case.check, _text_of(case.parameters)), ())
        for basis, seen in (
            (OWN, self._own.get((case.system, case.partition, case.environ, case.test), ())),
            (SYSTEM, self._on_system.get((case.system, case.test), ())),
            (LAYOUT, _nearest(_layout(case.layout), in_layouts, cost)),
            (ELSEWHERE, self._like(case)),
        ):
            values = [value for each in seen if (value := each.costs[cost]) is not None]
            if values:
                return Expected(median(values), basis)
        bound = case.limit_s if cost == "elapsed_s" else None
        return Expected(bound, UNKNOWN if bound is None else BOUND)

    def _like(self, case: PlannedCase) -> list[_Seen]:
        return [seen for seen in self._elsewhere.get((case.test,), ()) if seen.simulated == case.simulated]


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

    What stays within a node uses no network, so the two kinds are not compared.
    """
    if layout is None:
        return ()
    found: dict[float, list[_Seen]] = {}
    for each in seen:
        if each.layout and (each.layout.nodes > 1) == (layout.nodes > 1) and each.costs[cost] is not None:
            nodes, ppn = each.layout.nodes / layout.nodes, each.layout.ppn / layout.ppn
            found.setdefault(abs(math.log2(nodes)) + abs(math.log2(ppn)), []).append(each)
    return found[min(found)] if found else ()
