# SPDX-License-Identifier: BSD-3-Clause
"""Collect records into values: name their machines, and join the runs of each series."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from fabric_checks.analysis.statistics import bootstrap
from fabric_checks.comparison.verdicts import MIN_RUNS
from fabric_checks.core.plugins import systems_of_machines
from fabric_checks.core.text import clean
from fabric_checks.records.findings import parsed
from fabric_checks.records.record import FIELDS, is_success
from fabric_checks.records.series import series
from fabric_checks.report.values import Failure, Results, Seen, Value, case_text, parameters_of

#: The fields that the report reads: all but the largest, which it does not show.
COLUMNS = tuple(name for name in FIELDS if name not in ("spec", "format", "sizes_B", "placement"))

_KEY = ("machine", "check", "test", "layout", "environ", "metric", "unit")


def names_of_machines(keys: Iterable[tuple[str, str, str, str]]) -> dict[tuple[str, str, str, str], str]:
    """Return the name of the machine of each record.

    A system with one partition goes by its name, others by ``system:partition``, and where each partition is
    a machine by the partition's; the environment is added where there are several, and the label of the
    source where several have the machine.

    :param keys: (side, system, partition, environ) of the records.
    """
    keys = sorted(set(keys))
    partitions: dict[str, set[str]] = {}
    for _, system, partition, _ in keys:
        partitions.setdefault(system, set()).add(partition)

    def base(system: str, partition: str) -> str:
        if system in systems_of_machines():
            return partition
        return system if len(partitions[system]) == 1 else f"{system}:{partition}"

    names = {}
    for side, system, partition, environ in keys:
        name = base(system, partition)
        same = [other for other in keys if base(*other[1:3]) == name]
        if len({other[3] for other in same}) > 1:
            name = f"{name}, {environ}"
        if len({other[0] for other in same}) > 1:
            name = f"{side}: {name}"
        names[side, system, partition, environ] = clean(name) or "(no name)"
    return names


def with_machines(frame: pl.DataFrame) -> pl.DataFrame:
    """Return records with a column ``machine``, see :func:`names_of_machines`."""
    key = ("side", "system", "partition", "environ")
    frame = frame.with_columns(pl.col(name).fill_null("") for name in key)
    rows = [(*each, name) for each, name in names_of_machines(frame.select(key).unique().iter_rows()).items()]
    names = pl.DataFrame(rows, dict.fromkeys((*key, "machine"), pl.String), orient="row")
    return frame.join(names, on=key, how="left", maintain_order="left")


def collect(frame: pl.DataFrame, faults: Sequence[str] = ()) -> Results:
    """Turn records into values.

    :param frame: of :func:`fabric_checks.records.reader.load`, with at least :data:`COLUMNS`.
    """
    frame = with_machines(frame)
    measured = frame.filter(pl.col("metric").is_not_null() & pl.col("value").is_finite())
    others = [
        name for name in COLUMNS if name not in (*_KEY, "time", "session", "value") and name in frame.columns
    ]
    rows_of_series = list(series(measured, _KEY, each=("session",), latest=others).iter_rows(named=True))
    spreads = _intervals([row["values"] for row in rows_of_series])
    values = tuple(_value(row, spread) for row, spread in zip(rows_of_series, spreads, strict=True))
    machines = tuple(sorted(frame["machine"].unique()))
    of_case = ("check", "parameters", "layout", "case_result", "fail_reason", "time", "session", "findings")
    latest = frame.group_by(("machine", "test", "environ"), maintain_order=True).agg(
        pl.col(name).last() for name in of_case
    )
    cases = latest.to_dicts()
    return Results(
        machines,
        values,
        tuple(filter(None, map(_failure, cases))),
        _counts(machines, cases),
        _sessions(machines, frame),
        _not_offered(frame),
        _findings(cases),
        tuple(map(clean, faults)),
        frame.height,
    )


def _is_bad(case: Mapping[str, Any]) -> bool:
    return not is_success(case["case_result"]) and case["case_result"] != "skip"


def _failure(case: Mapping[str, Any]) -> Failure | None:
    """Return the failure of a case, also an expected one; None if it did not fail."""
    is_expected = case["case_result"] == "xfail"
    if not (_is_bad(case) or is_expected):
        return None
    why = clean(case["fail_reason"] or "the record gives no reason")
    return Failure(case["machine"], case_text(case), why, case["time"], is_expected)


def _counts(machines: Sequence[str], cases: Iterable[Mapping[str, Any]]) -> dict[str, tuple[int, int]]:
    """Return how many cases each machine has, and how many of these failed."""
    found = dict.fromkeys(machines, (0, 0))
    for case in cases:
        ran, failed = found[case["machine"]]
        found[case["machine"]] = (ran + 1, failed + _is_bad(case))
    return found


def _findings(cases: Iterable[Mapping[str, Any]]) -> dict[str, tuple[Seen, ...]]:
    """Return the findings of cases by machine, each once."""
    found: dict[str, dict[Seen, None]] = {}
    for case in cases:
        for finding in parsed(json.loads(case["findings"] or "[]")):
            seen = Seen(case_text(case), finding.severity, clean(finding.text), finding.key)
            found.setdefault(case["machine"], {})[seen] = None
    return {machine: tuple(listed) for machine, listed in found.items()}


def _sessions(machines: Sequence[str], frame: pl.DataFrame) -> dict[str, tuple[str, ...]]:
    """Return the sessions of each machine."""
    found: dict[str, dict[str, None]] = {machine: {} for machine in machines}
    for machine, session in frame.select("machine", "session").unique(maintain_order=True).iter_rows():
        if session:
            found[machine][clean(session)] = None
    return {machine: tuple(names) for machine, names in found.items()}


def _not_offered(frame: pl.DataFrame) -> dict[str, dict[str, str]]:
    """Return by machine the suites that its environment does not have, and why."""
    found: dict[str, dict[str, str]] = {}
    for machine, text in frame.select("machine", "not_offered").unique(maintain_order=True).iter_rows():
        suites = json.loads(text or "{}")
        found.setdefault(machine, {}).update({clean(name): clean(why) for name, why in suites.items()})
    return found


def _intervals(lists: Sequence[Sequence[float]]) -> list[tuple[float | None, float | None]]:
    """Return the interval of each series' median at 95 %, as `compare` has it; of too few runs there is
    none."""
    found: list[tuple[float | None, float | None]] = [(None, None)] * len(lists)
    by_length: dict[int, list[int]] = {}
    for number, values in enumerate(lists):
        by_length.setdefault(len(values), []).append(number)
    for runs, numbers in by_length.items():
        if runs >= MIN_RUNS:
            of = bootstrap.median([lists[number] for number in numbers])
            for number, low, high in zip(numbers, of.low, of.high, strict=True):
                found[number] = (float(low), float(high))
    return found


def _value(row: Mapping[str, Any], interval: tuple[float | None, float | None]) -> Value:
    low, high = interval
    median = statistics.median(row["values"])
    runs = tuple(zip(row["times"], (clean(s or "") for s in row["session"]), row["values"], strict=True))
    record = {name: value for name, value in row.items() if name in (*_KEY, *COLUMNS) and name != "session"}
    record |= {name: json.loads(record[name]) for name in ("compared", "headline", "limits") if record[name]}
    record["nodelist"] = list(map(clean, json.loads(record["nodelist"] or "[]")))
    return Value(row["machine"], record, parameters_of(row["parameters"]), median, low, high, runs)
