# SPDX-License-Identifier: BSD-3-Clause
"""Records as samples of time series, for stores of metrics.

What differs from run to run (session, nodes, job, versions) is no label: each would begin a series of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from fabric_checks.results.perflogs.moments import moment
from fabric_checks.results.record import bounds, is_success
from fabric_checks.text import printable

#: The series and what they are.
HELP = {
    "fabric_checks_value": "A figure, in the unit that its label says",
    "fabric_checks_reference": "What the figure is held to",
    "fabric_checks_lower_bound": "The least value that passes",
    "fabric_checks_upper_bound": "The greatest value that passes",
    "fabric_checks_passed": "1 if the figure is within its bounds, or has none, else 0",
    "fabric_checks_case_passed": "1 if the case passed, else 0",
    "fabric_checks_time_seconds": "When the case was run, in seconds since the epoch",
}

#: Labels of a case, and of a figure. Those that a record has no value for are left out.
CASE_LABELS = ("system", "partition", "environ", "check", "test", "layout")
FIGURE_LABELS = (*CASE_LABELS, "metric", "quantity", "size_B", "unit", "better", "evidence")


@dataclass(frozen=True)
class Sample:
    """A value of a series at a time."""

    name: str
    labels: Mapping[str, str]
    value: float
    time: datetime


def samples(records: Sequence[Mapping[str, Any]]) -> Iterator[Sample]:
    """Return the samples of records: those of each figure, and one or two for each case."""
    cases: dict[tuple[tuple[tuple[str, str], ...], datetime], float] = {}
    for record in records:
        when = moment(record)
        case = _labels(record, CASE_LABELS)
        passed = float(is_success(record["case_result"]))
        key = (tuple(case.items()), when)
        cases[key] = min(passed, cases.get(key, passed))
        if record["metric"] is None:
            continue
        labels = _labels(record, FIGURE_LABELS)
        lower, upper = bounds(record)
        for name, value in (
            ("value", record["value"]),
            ("reference", record["reference"]),
            ("lower_bound", lower),
            ("upper_bound", upper),
            ("passed", float(is_success(record["result"]))),
        ):
            if value is not None:
                yield Sample(f"fabric_checks_{name}", labels, value, when)
    for (items, when), passed in cases.items():
        yield Sample("fabric_checks_case_passed", dict(items), passed, when)
        yield Sample("fabric_checks_time_seconds", dict(items), when.timestamp(), when)


def _labels(record: Mapping[str, Any], names: Sequence[str]) -> dict[str, str]:
    return {name: printable(str(record[name])) for name in names if record[name] not in (None, "")}
