# SPDX-License-Identifier: BSD-3-Clause
"""Records for the tests of the store."""

import json
from datetime import datetime, timedelta, timezone

from fabric_checks.records import reading, sources
from fabric_checks.records.record import FIELDS

START = datetime(2026, 1, 31, 12, tzinfo=timezone.utc)


def parameters_of(test):
    """Return the parameters of a test whose name is as ReFrame makes it, but the layout."""
    pairs = (part.partition("=") for part in str(test).split(" %")[1:])
    return {name: int(text) if text.isdigit() else text for name, _, text in pairs if name != "layout"}


def record(run=0, **changes):
    """Return a sound record of a metric; ``run`` days after the first."""
    time = START + timedelta(days=run)
    values = {
        "format": 2, "session": f"{time:%Y%m%dT%H%M%SZ}-abcd", "time": time.isoformat(), "collection": "0.1.0+gabc",
        "reframe": "4.10.4", "system": "s", "partition": "p", "environ": "e", "check": "A", "test": "A %layout=1x2",
        "layout": "1x2", "nodes": 1, "ppn": 2, "tasks": 2, "metric": "latency_8B", "quantity": "latency", "size_B": 8,
        "value": 1.5 + run, "unit": "us", "better": "smaller", "can_be_zero": False, "no_reference": "why",
        "result": "pass", "case_result": "pass", "program": "x", "program_version": "1", "stack": "wheels",
        "not_offered": {"npb": "no"}, "sizes_B": [8], "mpi": "MPICH", "compiler": "gcc 12", "nodelist": ["n1"],
        "placement": ["n1:0", "n1:1"], "jobid": str(100 + run),
    } | changes  # fmt: skip
    values = {"parameters": parameters_of(values["test"])} | values
    return {name: values.get(name) for name in (*FIELDS, *changes)}


def failed(run=0, **changes):
    """Return the record of a case that failed before it had values."""
    nothing = dict.fromkeys(("metric", "quantity", "size_B", "value", "unit", "better", "can_be_zero", "result"))
    return record(run, **nothing, case_result="fail", fail_reason="no", **changes)


def write(path, records):
    """Write a file of JSON lines; what is no record is a line as it stands."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [entry if isinstance(entry, bytes) else json.dumps(entry).encode() + b"\n" for entry in records]
    path.write_bytes(b"".join(lines))
    return path


def load(path, *arguments, **options):
    """Load one set of results."""
    return reading.load([sources.Source("a", path)], *arguments, **options)
