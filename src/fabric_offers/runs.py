# SPDX-License-Identifier: BSD-3-Clause
"""Sort the records of an offer into runs: those of a case from one launch, with the folder of its output."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fabric_checks.core.errors import quoted
from fabric_checks.records import reader
from fabric_checks.records.record import Record, case_name, is_success
from fabric_offers.bundle_file import Data, Fault

#: The job's output and its script, as ReFrame calls them.
OUTPUT, SCRIPT = "rfm_job.out", "rfm_job.sh"
#: The folder of a pass or a retry other than the first.
_AGAIN = re.compile(r"_retry(\d+)$")


@dataclass
class Run:
    """One run of a case.

    :param folder: its folder in the bundle; :param records: its records, at least one.
    """

    folder: str
    records: list[Record] = field(default_factory=list)

    @property
    def first(self) -> Record:
        """Any of its records, for the fields that they share."""
        return self.records[0]

    @property
    def case(self) -> tuple[str, str, str]:
        """Test, partition and environment."""
        return self.first["test"], self.first["partition"], self.first["environ"]

    @property
    def group(self) -> str:
        """The session and the pass, which runs that depend on each other share."""
        again = _AGAIN.search(self.folder)
        return f"{self.first['session']} {again[1] if again else 0}"

    @property
    def name(self) -> str:
        """Its name in a list."""
        return f"{case_name(self.first)} of {self.group.replace(' ', ', pass ')}"

    @property
    def succeeded(self) -> bool:
        """Whether its case passed, or failed as expected."""
        return is_success(self.first["case_result"])

    @property
    def has_values(self) -> bool:
        """Whether it has values."""
        return any(record["metric"] is not None for record in self.records)


def read(folder: Path, names: Sequence[str]) -> tuple[list[Run], list[Fault], int]:
    """Return the runs of a bundle, the faults of its records, and their number.

    :param names: the files of the bundle that are there.
    """
    runs: dict[str, Run] = {}
    faults: list[Fault] = []
    count = 0
    for name in names:
        if name.startswith("perflogs/") and name.endswith(".jsonl"):
            for record in _records(folder / name, name, faults):
                count += 1
                _sort_in(record, runs, folder, faults)
    claimed = set(runs)
    for name in names:
        parent = name.rpartition("/")[0]
        if name.endswith(f"/{OUTPUT}") and parent not in claimed:
            faults.append(
                Fault("record", parent, "there is an output, but no record for it")
            )
    return list(runs.values()), faults, count


def _records(path: Path, name: str, faults: list[Fault]) -> Iterator[dict[str, Any]]:
    def report(line: int, cause: str) -> None:
        faults.append(Fault("record", f"{name}:{line}", cause))

    yield from reader.records_of(path, report)


def _sort_in(
    record: Data, runs: dict[str, Run], folder: Path, faults: list[Fault]
) -> None:
    output = str(record["output"])
    parts = output.split("/")
    own = [record[name] for name in ("session", "system", "partition", "environ")]
    is_own = (
        len(parts) == 6
        and parts[0] in ("output", "stage")
        and parts[1:5] == own
        and parts[5].startswith(f"{record['check']}_")
    )
    if not is_own:
        what = f"{record['metric'] or 'the failure'} of {case_name(record)} in {record['session']}"
        text = f"its output is in {quoted(output, 120)}, which belongs to another run"
        faults.append(Fault("record", what, text))
        return
    # Before 0.2 the record of a failed run, too, named the output folder.
    has_folder = (folder / output).is_dir()
    kept = output if has_folder else output.replace("output/", "stage/", 1)
    runs.setdefault(kept, Run(kept)).records.append(record)
