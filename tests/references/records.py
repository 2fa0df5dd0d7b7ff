# SPDX-License-Identifier: BSD-3-Clause
"""Records as a run leaves them, proposals from them, and reference files."""

from datetime import datetime, timedelta, timezone

from fabric_checks.references import reference_file
from fabric_checks.references.propose import propose
from tests import builders

FIRST = datetime(2026, 11, 1, 3, tzinfo=timezone.utc)


def record(day=0, value=1.3, **changes):
    """Return the record of one metric of the run of a day, counted from 0."""
    time = FIRST + timedelta(days=day)
    values = {
        "format": 3, "session": f"{time:%Y%m%dT%H%M%SZ}-{day % 65536:04x}", "time": time.isoformat(),
        "collection": "0.1.0+gabc", "reframe": "4.10.4",
        "system": "yours", "partition": "compute", "environ": "mpich-cray",
        "check": "OsuLatency", "test": "OsuLatency %layout=2x1", "layout": "2x1", "nodes": 2, "ppn": 1,
        "tasks": 2, "metric": "latency_8B", "quantity": "latency", "size_B": 8, "value": value, "unit": "us",
        "better": "smaller", "result": "pass", "case_result": "pass", "program": "osu",
        "program_version": "7.5.2", "stack": "spack", "spec_hash": "abcdef1234567",
        "mpi": "MPICH Version:      4.2.3\nMPICH Device: ch4", "compiler": "gcc 12.2.0",
        "nodelist": ["n1", "n2"], "no_reference": "no values yet",
    } | changes  # fmt: skip
    return builders.bare(
        **{"parameters": builders.parameters_of(values["test"])} | values
    )


def bandwidth(day=0, value=900.0, **changes):
    """Return a record of a metric of which more is better."""
    return record(day, value, **{
        "check": "OsuBandwidth", "test": "OsuBandwidth %benchmark=bw %layout=2x1", "metric": "bandwidth_8B",
        "quantity": "bandwidth", "unit": "MB/s", "better": "larger",
    } | changes)  # fmt: skip


def frame(records):
    """Return records as a table, without their side."""
    return builders.frame(records).drop("side")


def write(folder, records):
    """Write records as a folder of perflogs."""
    for each in sorted(records, key=lambda record: record["time"]):
        path = (
            folder
            / "perflogs"
            / each["system"]
            / each["partition"]
            / f"{each['check']}.jsonl"
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as out:
            out.write(builders.text_of(each))
    return folder


#: A file with one reference, to be formatted with its ``reference``.
STANDING = """\
OsuLatency:
  $index: [$partition, $environ, layout]
  yours:compute:
    mpich-cray:
      2x1:
        latency_8B: {reference}
no_reference: [{{why: no values yet}}]
"""


def load(folder, text):
    """Return a text as a reference file of a folder."""
    path = folder / "yours.yaml"
    path.write_text(text)
    reference_file.load.cache_clear()
    return reference_file.load(path)


def proposed(folder, records, text="no_reference: [{why: none}]\n", **limits):
    """Return the proposals from records for a reference file."""
    return propose(frame(records), load(folder, text), **limits)
