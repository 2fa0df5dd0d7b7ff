# SPDX-License-Identifier: BSD-3-Clause
"""Collect the runs of a series with their references, and the circumstances that changed between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from statistics import median
from typing import Any

import polars as pl

from fabric_checks.records.record import SERIES, bounds, case_name
from fabric_checks.records.series import records_by_series

#: Circumstances that may change between two runs, and the fields that record them.
_CHANGES = {
    "MPI": "mpi",
    "compiler": "compiler",
    "program": "program",
    "release": "program_version",
    "hash": "spec_hash",
    "collection": "collection",
}
COLUMNS = (
    *SERIES,
    *("session", "time", "value", "better", "evidence", "reference", "lower", "upper", "reference_source"),
    *("result", "case_result", *_CHANGES.values()),
)
#: The commit of the collection changes daily where it is developed; only its version is of interest.
_COLLECTION = "collection"


@dataclass(frozen=True)
class Difference:
    """A change of a circumstance, named ``what``, before the run at position ``at``."""

    at: int
    what: str
    before: str | None
    after: str | None


@dataclass(frozen=True)
class Line:
    """One series, in the order of time.

    :param series: the values of ``SERIES`` by field.
    :param low: and :param high: the bounds of each run, None: none; :param references: the values that they are about.
    :param missed: the positions of runs that missed their reference.
    :param failed: how many cases of the test failed before they had values.
    :param evidence: of a simulation, what kind of value it is.
    """

    series: Mapping[str, Any]
    better: str
    sessions: tuple[str, ...]
    times: tuple[datetime, ...]
    values: tuple[float, ...]
    references: tuple[float | None, ...]
    low: tuple[float | None, ...]
    high: tuple[float | None, ...]
    missed: tuple[int, ...]
    changes: tuple[Difference, ...]
    failed: int
    evidence: str | None

    @property
    def title(self) -> str:
        """Return the series in words."""
        of = self.series
        kind = f" ({self.evidence})" if self.evidence else ""
        return f"{of['metric']} of {case_name(of)}{kind}"

    @property
    def median(self) -> float:
        """Return the median of all runs."""
        return median(self.values)


def lines(frame: pl.DataFrame) -> list[Line]:
    """Return the series of a table of records with :data:`COLUMNS`, in the order of first appearance.

    Records without a metric are of failed cases; they are counted where their test has a series.
    """
    case = ("system", "partition", "environ", "test")
    failed = {
        key: group.height for key, group in frame.filter(pl.col("metric").is_null()).group_by(case, maintain_order=True)
    }
    return [
        _line(series, records, failed.get(tuple(series[name] for name in case), 0))
        for series, records in records_by_series(frame)
    ]


def _line(series: Mapping[str, Any], records: Sequence[Mapping[str, Any]], failed: int) -> Line:
    references = [record["reference"] for record in records]
    return Line(
        series=series,
        better=records[-1]["better"],
        sessions=tuple(record["session"] for record in records),
        times=tuple(record["time"] for record in records),
        values=tuple(record["value"] for record in records),
        references=tuple(references),
        low=tuple(bounds(record)[0] for record in records),
        high=tuple(bounds(record)[1] for record in records),
        missed=tuple(position for position, record in enumerate(records) if record["result"] == "fail"),
        changes=tuple(_changes(records)),
        failed=failed,
        evidence=records[-1]["evidence"],
    )


def _changes(records: Sequence[Mapping[str, Any]]) -> list[Difference]:
    found = []
    for what, column in _CHANGES.items():
        values = [record[column] for record in records]
        if column == _COLLECTION:
            values = [value.split("+")[0] if value else value for value in values]
        pairs = pairwise(values)
        found += [Difference(at, what, before, after) for at, (before, after) in enumerate(pairs, 1) if before != after]
    return sorted(found, key=lambda change: change.at)


def as_json(line: Line) -> dict[str, Any]:
    """Return a series as plain data: the runs, with the changes before each."""
    runs = [
        {"session": session, "time": time.isoformat(), "value": value, "reference": reference, "low": low, "high": high}
        for session, time, value, reference, low, high in zip(
            line.sessions, line.times, line.values, line.references, line.low, line.high, strict=True
        )
    ]
    for at, run in enumerate(runs):
        run["missed"] = at in line.missed
        changes = [change for change in line.changes if change.at == at]
        run["changes"] = [{"what": each.what, "before": each.before, "after": each.after} for each in changes]
    return {
        **line.series,
        "better": line.better,
        "evidence": line.evidence,
        "median": line.median,
        "cases_failed_without_figures": line.failed,
        "runs": runs,
    }
