# SPDX-License-Identifier: BSD-3-Clause
"""Records for tests of comparisons and of changes."""

import json
from datetime import datetime, timedelta, timezone

import polars as pl

from fabric_checks.records import series
from fabric_checks.records.record import FIELDS
from fabric_checks.records.table import COLUMNS, NESTED
from tests.records.samples import parameters_of

START = datetime(2026, 10, 1, tzinfo=timezone.utc)

TYPICAL = {
    **dict.fromkeys(FIELDS),
    "format": 2,
    "session": "20261001T000000Z-0001",
    "collection": "0.1.0",
    "reframe": "4.10.4",
    "system": "cluster",
    "partition": "compute",
    "environ": "mpich",
    "check": "OsuLatency",
    "test": "OsuLatency %layout=2x1",
    "layout": "2x1",
    "nodes": 2,
    "ppn": 1,
    "tasks": 2,
    "metric": "latency_8B",
    "quantity": "latency",
    "size_B": 8,
    "value": 1.0,
    "unit": "us",
    "better": "smaller",
    "can_be_zero": False,
    "no_reference": "why",
    "result": "pass",
    "case_result": "pass",
    "program": "osu",
    "program_version": "7.5.2",
    "stack": "spack",
    "not_offered": "{}",
    "sizes_B": "[8]",
    "mpi": "MPICH 4.2",
    "compiler": "gcc 12",
    "findings": "[]",
    "nodelist": '["n1", "n2"]',
    "placement": '["n1:0", "n2:0"]',
    "binding": "core",
    "jobid": "1",
}

FAILED = {"metric": None, "quantity": None, "size_B": None, "value": None, "unit": None, "better": None}


def runs(side, values, **changes):
    """Return a record for each value, a day apart; a change may be a function of the number of the run."""
    out = []
    for number, value in enumerate(values):
        own = {name: change(number) if callable(change) else change for name, change in changes.items()}
        time = START + timedelta(days=number)
        record = {"side": side, **TYPICAL, "time": time, "value": value, "jobid": str(number), **own}
        out.append(record | {"parameters": json.dumps(parameters_of(record["test"]))})
    return out


def frame(*records):
    """Return records as the store gives them."""
    rows = [record for group in records for record in group]
    return pl.DataFrame(rows, schema={"side": pl.String(), **COLUMNS}, orient="row")


def parts(*records):
    """Return records as a comparison takes them: each side's in one part."""
    sides = frame(*records).partition_by("side", as_dict=True, maintain_order=True)
    return [
        (side, series.aggregated(part.select(series.COMPARED).sort("time", maintain_order=True)))
        for (side,), part in sides.items()
    ]


def json_lines(path, *records):
    """Write records as a perflog has them."""
    with path.open("w") as out:
        for record in sorted((record for group in records for record in group), key=lambda each: each["time"]):
            plain = {name: record[name] for name in FIELDS}
            plain |= {name: json.loads(plain[name]) for name in NESTED if plain[name] is not None}
            out.write(json.dumps(plain | {"time": record["time"].isoformat()}) + "\n")
    return path
