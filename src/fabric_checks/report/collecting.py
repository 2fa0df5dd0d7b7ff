# SPDX-License-Identifier: BSD-3-Clause
"""Collect records into values: name their machines, and join the runs of each series."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from fabric_checks.analysis.statistics import bootstrap
from fabric_checks.comparison.verdicts import MIN_RUNS
from fabric_checks.core.plugins import systems_of_machines
from fabric_checks.core.text import clean
from fabric_checks.records.record import FIELDS, is_success
from fabric_checks.records.series import series
from fabric_checks.report.values import Failure, Results, Value, case_text, json_of, parameters_of, texts

#: The fields that the report reads: all but the largest, which it does not show.
COLUMNS = tuple(name for name in FIELDS if name not in ("spec", "format", "sizes_B", "placement"))

_KEY = ("machine", "check", "test", "layout", "environ", "metric", "unit")


def names_of_machines(places: Iterable[tuple[str, str, str, str]]) -> dict[tuple[str, str, str, str], str]:
    """Return the name of the machine of each record.

    A system with one partition goes by its name, others by ``system:partition``, and where each partition is a machine
    by the partition's; the environment is added where there are several, and the label of the source where several
    have the machine.

    :param places: (side, system, partition, environ) of the records.
    """
    places = sorted(set(places))
    partitions: dict[str, set[str]] = {}
    for _, system, partition, _ in places:
        partitions.setdefault(system, set()).add(partition)
    bases = {}
    for place in places:
        _, system, partition, _ = place
        if system in systems_of_machines():
            bases[place] = partition
        else:
            bases[place] = system if len(partitions[system]) == 1 else f"{system}:{partition}"
    names = {}
    for place, base in bases.items():
        side, _, _, environ = place
        same = [other for other, its in bases.items() if its == base]
        name = base if len({other[3] for other in same}) == 1 else f"{base}, {environ}"
        names[place] = name if len({other[0] for other in same}) == 1 else f"{side}: {name}"
    return {place: clean(name) or "(no name)" for place, name in names.items()}


def with_machines(frame: pl.DataFrame) -> pl.DataFrame:
    """Return records with a column ``machine``, see :func:`names_of_machines`."""
    place = ("side", "system", "partition", "environ")
    frame = frame.with_columns(pl.col(name).fill_null("") for name in place)
    names = names_of_machines(frame.select(place).unique().iter_rows())
    rows = [(*key, name) for key, name in names.items()]
    table = pl.DataFrame(rows, dict.fromkeys((*place, "machine"), pl.String), orient="row")
    return frame.join(table, on=place, how="left", maintain_order="left")


def collect(frame: pl.DataFrame, faults: Sequence[str] = ()) -> Results:
    """Turn records into values.

    :param frame: of :func:`fabric_checks.records.reading.load`, with at least :data:`COLUMNS`.
    """
    frame = with_machines(frame)
    measured = frame.filter(pl.col("metric").is_not_null() & pl.col("value").is_finite())
    others = [name for name in COLUMNS if name not in (*_KEY, "time", "session", "value") and name in frame.columns]
    rows_of_series = list(series(measured, _KEY, each=("session",), latest=others).iter_rows(named=True))
    spreads = _intervals([row["values"] for row in rows_of_series])
    values = tuple(_value(row, spread) for row, spread in zip(rows_of_series, spreads, strict=True))
    machines = tuple(sorted(frame["machine"].unique()))
    latest = frame.group_by(("machine", "test", "environ"), maintain_order=True).agg(
        *(
            pl.col(name).last()
            for name in ("check", "parameters", "layout", "case_result", "fail_reason", "time", "session")
        ),
        pl.col("findings").last(),
    )
    rows = list(latest.iter_rows(named=True))
    return Results(
        machines,
        values,
        tuple(_failures(rows)),
        {name: _counts(row for row in rows if row["machine"] == name) for name in machines},
        {
            name: tuple(dict.fromkeys(clean(s) for s in frame.filter(pl.col("machine") == name)["session"] if s))
            for name in machines
        },
        _not_offered(frame),
        _findings(rows),
        tuple(clean(line) for line in faults),
        frame.height,
    )


def _intervals(lists: Sequence[Sequence[float]]) -> list[tuple[float | None, float | None]]:
    """Return the interval of each series' median at 95 %, as `compare` has it; of too few runs there is none."""
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
    record["nodelist"] = texts(record.get("nodelist"))
    record |= {name: json_of(record.get(name)) for name in ("compared", "headline")}
    return Value(row["machine"], record, parameters_of(row["parameters"]), median, low, high, runs)


def _failures(rows: Iterable[Mapping[str, Any]]) -> Iterable[Failure]:
    for row in rows:
        if row["case_result"] == "xfail" or _is_bad(row["case_result"]):
            why = clean(row["fail_reason"] or "the record gives no reason")
            yield Failure(row["machine"], case_text(row), why, row["time"], row["case_result"] == "xfail")


def _counts(rows: Iterable[Mapping[str, Any]]) -> tuple[int, int]:
    results = [row["case_result"] for row in rows]
    return len(results), sum(map(_is_bad, results))


def _is_bad(result: str | None) -> bool:
    return not is_success(result) and result != "skip"


def _not_offered(frame: pl.DataFrame) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for machine, text in frame.select("machine", "not_offered").unique(maintain_order=True).iter_rows():
        suites = json_of(text)
        if isinstance(suites, dict):
            found.setdefault(machine, {}).update({clean(name): clean(why) for name, why in suites.items()})
    return found


def _findings(rows: Iterable[Mapping[str, Any]]) -> dict[str, tuple[tuple[str, str, str], ...]]:
    found: dict[str, dict[tuple[str, str, str], None]] = {}
    for row in rows:
        listed = json_of(row["findings"])
        for finding in listed if isinstance(listed, list) else ():
            if isinstance(finding, dict) and finding.get("text"):
                line = (case_text(row), clean(finding.get("kind", "")), clean(finding["text"]))
                found.setdefault(row["machine"], {})[line] = None
    return {machine: tuple(lines) for machine, lines in found.items()}
