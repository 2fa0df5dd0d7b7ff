# SPDX-License-Identifier: BSD-3-Clause
"""Records as CSV, for spreadsheets: one file a check, one line a record, one header."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fabric_checks.core import text
from fabric_checks.core.locks import WRITER_WAIT_S, exclusive
from fabric_checks.records.perflog import LOCK
from fabric_checks.records.record import FIELDS


def cell(value: object) -> object:
    """Return a value for a cell: lists and objects as JSON, text as a spreadsheet takes it for text."""
    return text.cell(json.dumps(value) if isinstance(value, list | dict) else value)


def append_records(path: Path, records: Sequence[Mapping[str, Any]]) -> None:
    """Append records to a CSV file whose header names :data:`fabric_checks.records.record.FIELDS`.

    All lines go out in one write under a lock, so that several writers do not mix; if not all of it can be written,
    none of it stays. A last line that an earlier crash left unfinished is removed. A file with another header, as of
    another release, is left as it is, under the name ``CHECK.1.csv``, ``CHECK.2.csv`` ...

    :raises OSError: if the file cannot be written.
    :raises LockedError: if another writer has its lock for longer than may be.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    header = _lines([FIELDS])
    data = _lines([[cell(record[field]) for field in FIELDS] for record in records])
    with exclusive(path.with_name(LOCK), WRITER_WAIT_S):
        descriptor = _open(path, header)
        try:
            end = os.lseek(descriptor, 0, os.SEEK_END)
            whole = _end_of_last_line(descriptor, end)
            if whole < end:
                os.ftruncate(descriptor, whole)
            out = data if whole else header + data
            try:
                if os.write(descriptor, out) < len(out):
                    raise OSError(28, "No space left on device", str(path))
            except OSError:
                os.ftruncate(descriptor, whole)
                raise
        finally:
            os.close(descriptor)


def _lines(rows: Sequence[Sequence[object]]) -> bytes:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue().encode()


def _open(path: Path, header: bytes) -> int:
    """Return a descriptor of a file that is empty or has this header; one with another is moved away."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        start = os.pread(descriptor, len(header), 0)
        # A header that a crash left unfinished is written anew.
        if start == header or (b"\n" not in start and header.startswith(start)):
            return descriptor
        os.close(descriptor)
        path.rename(_free_name(path))


def _free_name(path: Path) -> Path:
    number = 1
    while (free := path.with_name(f"{path.stem}.{number}{path.suffix}")).exists():
        number += 1
    return free


def _end_of_last_line(descriptor: int, end: int) -> int:
    """Return the place after the last line end; records have none within."""
    while end:
        start = max(0, end - 65536)
        found = os.pread(descriptor, end - start, start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0
