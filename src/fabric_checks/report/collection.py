# SPDX-License-Identifier: BSD-3-Clause
"""Collect records into values: name their machines, and join the runs of each series."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Any

import polars as pl

from fabric_checks.core.grouping import by_key
from fabric_checks.core.plugins import systems_of_machines
from fabric_checks.core.text import clean
from fabric_checks.records import runs
from fabric_checks.records.record import FIELDS, Record
from fabric_checks.records.repeats import judged
from fabric_checks.records.series import series
from fabric_checks.records.table import record_of
from fabric_checks.report.values import Results, Value

#: The fields that the report reads: all but the largest, which it does not show.
COLUMNS = tuple(
    name for name in FIELDS if name not in ("spec", "format", "sizes_B", "placement")
)

_MISSING = dict.fromkeys(FIELDS)
_PLACE = ("side", "system", "partition", "environ")
_CASE = ("machine", "test", "environ")
_KEY = (*_CASE, "check", "layout", "metric", "unit")


def with_machines(frame: pl.DataFrame) -> pl.DataFrame:
    """Return records with a column ``machine``.

    A system with one partition goes by its name, others by ``system:partition``, and where each partition is
    a machine by the partition's; the environment is added where there are several, and the label of the
    source where several have the machine.
    """
    frame = frame.with_columns(pl.col(name).fill_null("") for name in _PLACE)
    side, system, partition, environ = map(pl.col, _PLACE)
    base = (
        pl.when(system.is_in(systems_of_machines()))
        .then(partition)
        .when(partition.n_unique().over(system) == 1)
        .then(system)
        .otherwise(pl.concat_str(system, partition, separator=":"))
    )
    places = frame.select(_PLACE).unique(maintain_order=True).with_columns(machine=base)
    parts = (
        pl.when(side.n_unique().over("machine") > 1)
        .then(side + ": ")
        .otherwise(pl.lit("")),
        "machine",
        pl.when(environ.n_unique().over("machine") > 1)
        .then(", " + environ)
        .otherwise(pl.lit("")),
    )
    named = places.with_columns(machine=pl.concat_str(parts))
    machine = pl.col("machine").map_elements(
        lambda name: clean(name) or "(no name)", pl.String
    )
    return frame.join(
        named.with_columns(machine), on=_PLACE, how="left", maintain_order="left"
    )


def collect(
    frame: pl.DataFrame,
    faults: Sequence[str] = (),
    repeats: pl.DataFrame | None = None,
) -> Results:
    """Turn records into values.

    :param frame: of :func:`fabric_checks.records.reader.load`, with at least :data:`COLUMNS`.
    :param repeats: those of repeats, by which misses are judged.
    """
    frame = with_machines(frame)
    measured = frame.filter(
        pl.col("metric").is_not_null() & pl.col("value").is_finite()
    )
    rows = series(measured, _KEY, each=("session",), latest=COLUMNS).iter_rows(
        named=True
    )
    values = tuple(map(_value, rows))
    last = {
        tuple(case): session
        for *case, session in frame.select(*_CASE, "session").iter_rows()
    }
    machines = tuple(sorted(frame["machine"].unique()))
    failed = frame.filter(pl.col("metric").is_null())
    again = [] if repeats is None else _records(repeats)
    records = judged([*_records(failed), *(v.record for v in values), *again])
    values = tuple(
        replace(value, record=record)
        for value, record in zip(values, records[failed.height :], strict=True)
    )
    places = [*failed["machine"], *(v.machine for v in values)]
    latest = [
        (machine, record)
        for machine, record in zip(places, records, strict=True)
        if record["session"] == last[machine, record["test"], record["environ"]]
    ]
    cases = [
        case
        for of_machine in by_key(latest, itemgetter(0)).values()
        for case in runs.of_records("", [record for _, record in of_machine]).cases
    ]
    current = tuple(record for _, record in latest)
    of_machine = frame.filter(pl.col("session").is_not_null()).group_by("machine")
    sessions = of_machine.agg(pl.col("session").unique(maintain_order=True))
    return Results(
        machines,
        values,
        runs.Session("", None, tuple(cases), current, archived=True),
        dict(sessions.sort("machine").iter_rows()),
        tuple(faults),
    )


def _records(frame: pl.DataFrame) -> list[Record]:
    return [record_of(_MISSING | row) for row in frame.iter_rows(named=True)]


def _value(row: Mapping[str, Any]) -> Value:
    """Return a series as a value; its record is the latest."""
    of_runs = (row["times"], row["session"], row["values"])
    time, session, value = (each[-1] for each in of_runs)
    last = {"time": time, "session": session, "value": value}
    record = record_of({**_MISSING, **row, **last})
    median = statistics.median(row["values"])
    return Value(row["machine"], record, median, tuple(zip(*of_runs, strict=True)))
