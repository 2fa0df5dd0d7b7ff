# SPDX-License-Identifier: BSD-3-Clause
"""Collect records into values: name their machines, and join the runs of each series."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from fabric_checks.core.plugins import systems_of_machines
from fabric_checks.core.text import clean
from fabric_checks.records import runs
from fabric_checks.records.record import FIELDS, Record
from fabric_checks.records.series import series
from fabric_checks.records.table import record_of
from fabric_checks.report.values import Results, Value

#: The fields that the report reads: all but the largest, which it does not show.
COLUMNS = tuple(name for name in FIELDS if name not in ("spec", "format", "sizes_B", "placement"))

_CASE = ("machine", "test", "environ")
_KEY = (*_CASE, "check", "layout", "metric", "unit")


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
    rows = series(measured, _KEY, each=("session",), latest=COLUMNS).iter_rows(named=True)
    values = tuple(map(_value, rows))
    last = {tuple(case): session for *case, session in frame.select(*_CASE, "session").iter_rows()}
    machines = tuple(sorted(frame["machine"].unique()))
    latest: dict[str, list[Record]] = {machine: [] for machine in machines}
    failed = frame.filter(pl.col("metric").is_null()).iter_rows(named=True)
    known = [*((row["machine"], record_of(row)) for row in failed), *((v.machine, v.record) for v in values)]
    for machine, record in known:
        if record["session"] == last[machine, record["test"], record["environ"]]:
            latest[machine].append(record)
    sessions = frame.filter(pl.col("session").is_not_null()).group_by("machine", maintain_order=True)
    return Results(
        machines,
        values,
        {machine: runs.of_records(machine, records) for machine, records in latest.items()},
        {str(name): of["session"].unique(maintain_order=True).to_list() for (name,), of in sessions},
        tuple(map(clean, faults)),
    )


def _value(row: Mapping[str, Any]) -> Value:
    last = {"time": row["times"][-1], "session": row["session"][-1], "value": row["values"][-1]}
    median = statistics.median(row["values"])
    runs_of = zip(row["times"], row["session"], row["values"], strict=True)
    return Value(row["machine"], record_of({**row, **last}), median, tuple(runs_of))
