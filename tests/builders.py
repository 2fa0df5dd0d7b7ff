# SPDX-License-Identifier: BSD-3-Clause
"""Builders for all tests: records as a perflog has them, tables of them, and cases and sessions of run
reports."""

import itertools
import json
from datetime import datetime, timedelta, timezone

import polars as pl

from fabric_checks.records import reader, series, sources, writing
from fabric_checks.records.record import FIELDS, OF_CASE
from fabric_checks.records.table import COLUMNS, NESTED

START = datetime(2026, 1, 31, 12, tzinfo=timezone.utc)
#: The time of the first of :func:`runs`.
FIRST = datetime(2026, 10, 1, tzinfo=timezone.utc)
#: A benchmark between two nodes.
OSU_LATENCY = {
    "system": "cluster", "partition": "compute", "environ": "mpich", "check": "OsuLatency",
    "test": "OsuLatency %layout=2x1", "layout": "2x1", "nodes": 2, "ppn": 1, "program": "osu",
    "program_version": "7.5.2", "stack": "spack", "mpi": "MPICH 4.2", "nodelist": ["n1", "n2"],
    "placement": ["n1:0", "n2:0"], "binding": "core",
}  # fmt: skip
#: What a record lacks whose case failed before it had values.
NOTHING = dict.fromkeys(
    (
        "metric",
        "quantity",
        "size_B",
        "value",
        "unit",
        "better",
        "can_be_zero",
        "no_reference",
        "result",
    )
)


def parameters_of(test):
    """Return the parameters of a test, except its layout, from the name that ReFrame gave it."""
    pairs = (part.partition("=") for part in str(test).split(" %")[1:])
    return {
        name: int(text) if text.isdigit() else text
        for name, _, text in pairs
        if name != "layout"
    }


def record(run=0, **changes):
    """Return a valid record of a metric, as many days after :data:`START` as ``run`` says."""
    time = START + timedelta(days=run)
    values = {
        "format": 3, "session": f"{time:%Y%m%dT%H%M%SZ}-abcd", "time": time.isoformat(),
        "collection": "0.1.0+gabc", "reframe": "4.10.4", "system": "s", "partition": "p", "environ": "e",
        "check": "A", "test": "A %layout=1x2", "layout": "1x2", "nodes": 1, "ppn": 2, "tasks": 2,
        "metric": "latency_8B", "quantity": "latency", "size_B": 8, "value": 1.5 + run, "unit": "us",
        "better": "smaller", "can_be_zero": False, "no_reference": "why", "result": "pass",
        "case_result": "pass", "program": "x", "program_version": "1", "stack": "wheels",
        "not_offered": {"npb": "no"}, "sizes_B": [8], "mpi": "MPICH", "compiler": "gcc 12",
        "nodelist": ["n1"], "placement": ["n1:0", "n1:1"], "jobid": str(100 + run),
    } | changes  # fmt: skip
    if isinstance(values["time"], datetime):
        values["time"] = values["time"].isoformat()
    values = {"parameters": parameters_of(values["test"])} | values
    return {name: values.get(name) for name in (*FIELDS, *changes)}


def failed(run=0, **changes):
    """Return the record of a case that failed before it had values."""
    return record(run, **NOTHING, case_result="fail", fail_reason="no", **changes)


def bare(**changes):
    """Return a valid record with no more than what every record of a metric has."""
    needed = (
        "format",
        "system",
        "partition",
        "environ",
        "check",
        "test",
        "layout",
        "unit",
        "result",
        "case_result",
    )
    return dict.fromkeys(FIELDS) | {name: record()[name] for name in (*needed, "program", "no_reference")} | {
        "session": SESSION, "time": "2026-01-01T00:00:00+00:00", "metric": "t", "quantity": "t", "value": 1.0,
    } | changes  # fmt: skip


def runs(side, values, **changes):
    """Return a record for each value, a day apart; a change may be a function of the number of the run."""
    made = []
    for number, value in enumerate(values):
        own = {
            name: change(number) if callable(change) else change
            for name, change in changes.items()
        }
        time = (FIRST + timedelta(days=number)).isoformat()
        of_run = {"value": value, "time": time, "side": side, "jobid": str(number)}
        made.append(record(number, **{**OSU_LATENCY, **of_run, **own}))
    return made


def text_of(*records):
    """Return records as a perflog has them: a line for those in turn that are of one case."""
    cases = []
    for each in records:
        facts = {name: each.get(name) for name in OF_CASE} | {"case": None}
        if (
            not cases
            or cases[-1][0] != facts
            or each.get("metric") in [own["metric"] for own in cases[-1][1]]
        ):
            cases.append((facts, []))
        cases[-1][1].append({"metric": None, **each, "case": None})
    return "".join(json.dumps(writing.line_of(of)) + "\n" for _, of in cases).encode()


def records_in(path):
    """Return the records of a perflog; every line of it has to be sound."""
    faults = []
    found = list(reader.records_of(path, lambda *fault: faults.append(fault)))
    assert not faults
    return found


def write(path, records):
    """Write a perflog; bytes are lines as they stand."""
    path.parent.mkdir(parents=True, exist_ok=True)
    groups = itertools.groupby(records, key=lambda entry: isinstance(entry, bytes))
    path.write_bytes(
        b"".join(
            b"".join(of) if as_they_stand else text_of(*of)
            for as_they_stand, of in groups
        )
    )
    return path


def write_runs(path, *groups):
    """Write records in the order of time as a file of JSON lines."""
    return write(
        path,
        sorted(
            (each for group in groups for each in group), key=lambda each: each["time"]
        ),
    )


def load(path, *arguments, **options):
    """Load one set of results."""
    return reader.load([sources.Source("a", path)], *arguments, **options)


def frame(*groups, side="a"):
    """Return records as they are loaded: ``side``, unless they have their own, and the columns."""
    rows = [{"side": each.get("side", side)} | {name: _cell(name, each.get(name)) for name in FIELDS}
            for group in groups for each in group]  # fmt: skip
    return pl.DataFrame(rows, schema={"side": pl.String(), **COLUMNS}, orient="row")


def _cell(name, value):
    if name == "time" and isinstance(value, str):
        return datetime.fromisoformat(value)
    return (
        json.dumps(value)
        if name in NESTED and value is not None and not isinstance(value, str)
        else value
    )


def parts(*groups):
    """Return records as a comparison takes them: those of each side in one part."""
    sides = frame(*groups).partition_by("side", as_dict=True, maintain_order=True)
    return [
        (
            side,
            series.aggregated(
                part.select(series.COMPARED).sort("time", maintain_order=True)
            ),
        )
        for (side,), part in sides.items()
    ]


#: A session and the results of its cases.
SESSION = "20260101T000000Z-abcd"


def case(name="A %layout=1x2", result="pass", fixture=False, **changes):
    """Return a case as a run report has it, with the metric ``t`` if it passed."""
    return {
        "display_name": name, "name": name, "system": "s", "partition": "p", "environ": "e", "result": result,
        "fail_phase": "run" if result == "fail" else None, "fail_reason": "no" if result == "fail" else None,
        "fixture": fixture,
        "perfvalues": {} if fixture or result == "fail" else {"s:p:t": [1.0, 0, None, None, "us", "pass"]},
    } | changes  # fmt: skip


def write_session(
    results, *passes, session=SESSION, records=None, log="", number=0, **info
):
    """Write what a session leaves in a folder of results: its report, its log, and records of the check A.

    :param passes: for each pass the list of its cases, see :func:`case`.
    :param records: as :func:`write` takes them; with None their file stays as it is.
    :param number: that of the report in its name.
    """
    for folder in ("reports", "logs"):
        (results / folder).mkdir(parents=True, exist_ok=True)
    (results / f"logs/{session}.log").write_text(log)
    if records is not None:
        write(results / "perflogs/A.jsonl", records)
    content = {
        "session_info": info,
        "runs": [{"testcases": cases} for cases in passes],
    }
    (results / f"reports/run-report-{session}-{number}.json").write_text(
        json.dumps(content, indent=2)
    )
