# SPDX-License-Identifier: BSD-3-Clause
"""Send to a store what the perflog has."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from fabric_checks.errors import RecordError
from fabric_checks.results.perflogs.connection import Refused, TryLater
from fabric_checks.results.perflogs.samples import CASE_LABELS
from fabric_checks.results.perflogs.sender import AT_ONCE
from fabric_checks.results.perflogs.stores import Record, Store
from fabric_checks.results.record import FIELDS
from fabric_checks.results.records import load_session


@dataclass(frozen=True)
class Sent:
    """What was sent: records, of how many sessions; and a line for each thing that was not."""

    sent: int
    sessions: int
    faults: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        return {"sent": self.sent, "sessions": self.sessions, "faults": list(self.faults)}


def replay(store: Store, results: Path, session: str | None = None, everything: bool = False) -> Sent:
    """Send the records of a session, or of all.

    :param results: the folder of all results; :param session: its name, None for the latest.
    :raises RecordError: if there is no such session, or the store cannot be reached.
    """
    faults: list[str] = []
    if everything:
        records = _all_records(results / "perflogs", faults)
    else:
        loaded = load_session(results, session)
        faults += loaded.unreadable
        records = iter(loaded.records)
    sent, sessions = 0, set()
    # The oldest of a series first is what stores like; files are in the order of time already.
    for part in _parts(records):
        try:
            store.send(part)
            sent += len(part)
            sessions |= {record["session"] for record in part}
        except TryLater as error:
            raise RecordError(
                f"{store.name}: {store.connection.url}: {error}; {sent} records were sent before that; try again later"
            ) from None
        except Refused as error:
            refused = len(part) if error.records is None else error.records
            sent += len(part) - refused
            sessions |= {record["session"] for record in part}
            faults.append(f"{store.name}: {store.connection.url}: {error}; {refused} records are not sent")
    return Sent(sent, len(sessions), tuple(faults))


def _parts(records: Iterator[Record]) -> Iterator[list[Record]]:
    """Return records in parts of about :data:`AT_ONCE`; those of a case stay together: some stores want it whole."""
    part: list[Record] = []
    for _, case in groupby(records, key=lambda record: [record[name] for name in ("session", "time", *CASE_LABELS)]):
        part += case
        if len(part) >= AT_ONCE:
            yield part
            part = []
    if part:
        yield part


def _all_records(perflogs: Path, faults: list[str]) -> Iterator[Record]:
    paths = sorted(perflogs.rglob("*.jsonl"))
    if not paths:
        raise RecordError(f"{perflogs}: no perflog here; run ci/run first")
    for path in paths:
        with path.open(errors="replace") as lines:
            for number, line in enumerate(lines, 1):
                try:
                    record = json.loads(line)
                except ValueError as error:
                    faults.append(f"{path}:{number}: not JSON ({error}); it is not sent")
                    continue
                if not isinstance(record, dict):
                    faults.append(f"{path}:{number}: not a JSON object; it is not sent")
                    continue
                if missing := [field for field in FIELDS if field not in record]:
                    faults.append(f"{path}:{number}: the record has no {missing[0]}; it is not sent")
                    continue
                yield record
