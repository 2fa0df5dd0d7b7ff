# SPDX-License-Identifier: BSD-3-Clause
"""Collect the runs of a series with their references, and the circumstances that changed between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any

import polars as pl

from fabric_checks.records.record import SERIES, Record, bounds, case_name
from fabric_checks.records.series import records_by_series

#: Circumstances that may change between two runs, and the fields that record them.
_CHANGES = {
    "MPI": "mpi",
    "compiler": "compiler",
    "program": "program",
    "release": "program_version",
    "hash": "spec_hash",
    "image": "image_digest",
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
class Line:
    """One series.

    :param series: the values of ``SERIES`` by field.
    :param records: of its runs, in the order of time.
    :param failed: how many cases of the test failed before they had values.
    """

    series: Mapping[str, Any]
    records: Sequence[Record]
    failed: int

    @property
    def title(self) -> str:
        """Return the series in words; of a simulation with the kind of value that it is."""
        evidence = self.records[-1]["evidence"]
        return f"{self.series['metric']} of {case_name(self.series)}{f' ({evidence})' if evidence else ''}"

    @property
    def values(self) -> list[float]:
        """Return the value of each run."""
        return [record["value"] for record in self.records]

    @property
    def median(self) -> float:
        """Return the median of all runs."""
        return median(self.values)

    @property
    def missed(self) -> list[int]:
        """Return the positions of the runs that missed their reference."""
        return [at for at, record in enumerate(self.records) if record["result"] == "fail"]

    def changes(self) -> list[dict[str, Any]]:
        """Return ``what`` changed, ``before`` and ``after``, and the position ``at`` of the first run with
        it."""
        found: list[dict[str, Any]] = []
        for what, column in _CHANGES.items():
            values = [record[column] for record in self.records]
            if column == _COLLECTION:
                values = [value.split("+")[0] if value else value for value in values]
            found += [
                {"at": at, "what": what, "before": before, "after": after}
                for at, (before, after) in enumerate(pairwise(values), 1)
                if before != after
            ]
        return sorted(found, key=lambda change: int(change["at"]))

    def as_json(self) -> dict[str, Any]:
        """Return the series as plain data: its runs, and what changed between them."""
        runs = []
        for record in self.records:
            low, high = bounds(record)
            run = {name: record[name] for name in ("session", "value", "reference", "result")}
            runs.append(run | {"time": record["time"].isoformat(), "low": low, "high": high})
        last = {name: self.records[-1][name] for name in ("better", "evidence")}
        return {
            **self.series, **last, "median": self.median, "failed": self.failed, "runs": runs,
            "changes": self.changes()
        }  # fmt: skip


def lines(frame: pl.DataFrame) -> list[Line]:
    """Return the series of a table of records with :data:`COLUMNS`, in the order of first appearance.

    Records without a metric are of failed cases; they are counted where their test has a series.
    """
    case = ("system", "partition", "environ", "test")
    failed = {
        key: group.height
        for key, group in frame.filter(pl.col("metric").is_null()).group_by(case, maintain_order=True)
    }
    return [
        Line(series, records, failed.get(tuple(series[name] for name in case), 0))
        for series, records in records_by_series(frame)
    ]
