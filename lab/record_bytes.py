# SPDX-License-Identifier: BSD-3-Clause
"""Print how many bytes records take, beside one flat line of JSON for each value, as before 0.2.

python -m lab.record_bytes RESULTS        RESULTS: a folder of results, of which all perflogs are read
"""

import json
import sys
from itertools import groupby
from pathlib import Path

from fabric_checks.records import perflog, reader, writing
from fabric_checks.records.record import FIELDS

NODES, PPN, SIZES_B = 1000, 64, [2**power for power in range(24)]
PORT = {"sent_B": 123456789012, "received_B": 123456789012, "rate_MBps": 12500.0}


def of_files(folder):
    """Return the records of all perflogs in a folder."""

    def bad(line, cause):
        sys.exit(f"error: line {line}: {cause}")

    return [
        record
        for path in sorted(folder.rglob("*.jsonl"))
        for record in reader.records_of(path, bad)
    ]


def large(like):
    """Return the records of one case on a thousand nodes, otherwise like another record."""
    nodes = [f"node{number:04}" for number in range(1, NODES + 1)]
    common = dict.fromkeys(FIELDS) | like | {
        "layout": f"{NODES}x{PPN}", "nodes": NODES, "ppn": PPN, "tasks": NODES * PPN, "nodelist": nodes,
        "placement": [f"{node}:{core}" for node in nodes for core in range(PPN)], "case": None,
        "ports": {"nodes": {node: {"mlx5_0": PORT} for node in nodes},
                  "carried_B": {"mlx5_0": NODES * 123456789012}},
    }  # fmt: skip
    return [
        common
        | {"metric": f"latency_{size_B}B", "quantity": "latency", "size_B": size_B}
        for size_B in SIZES_B
    ]


def row(what, records):
    """Print a row of the table."""
    cases = groupby(records, key=lambda record: record["case"])
    now = sum(len(perflog.text_of(writing.line_of(list(of)))) for _, of in cases)
    flat = sum(len(json.dumps(record)) + 1 for record in records)
    print(
        f"{what:28} {len(records):7} {flat / len(records):12.0f} {now / len(records):12.0f} {now / flat:8.1%}"
    )


def main(folder):
    records = of_files(Path(folder) / "perflogs")
    print(f"{'':28} {'values':>7} {'flat, B':>12} {'now, B':>12} {'share':>8}")
    row("all cases", records)
    row(f"one case on {NODES} x {PPN}", large(records[0]))


if __name__ == "__main__":
    main(*sys.argv[1:])
