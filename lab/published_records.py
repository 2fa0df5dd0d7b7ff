# SPDX-License-Identifier: BSD-3-Clause
"""Print the records that Tables 2 to 9 need, of a run of the twins; see tests/report/README.md."""

import json
import sys
from pathlib import Path

from fabric_checks.records import reader
from fabric_twins.sand import TABLES

WANTED = {(ask.quantity, ask.layout) for _, asks in TABLES.values() for ask in asks}
#: What no table shows.
LEFT_OUT = ("not_offered", "sizes_B", "placement", "jobid", "findings")

for path in sorted(Path(sys.argv[1]).rglob("Streaming.jsonl")):
    for record in reader.records_of(
        path, lambda line, cause: sys.exit(f"error: {line}: {cause}")
    ):
        if (record["metric"], record["layout"]) in WANTED:
            print(json.dumps(record | dict.fromkeys(LEFT_OUT)))
