# SPDX-License-Identifier: BSD-3-Clause
"""Records as CSV, for spreadsheets: one file a check, one line a record, one header."""

from __future__ import annotations

import csv
import fcntl
import io
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fabric_checks.perflog import FIELDS
from fabric_checks.text import printable

#: Text that begins so is a formula to a spreadsheet, also after white space.
FORMULA = ("=", "+", "-", "@")


def cell(value: object) -> object:
    """Return a value for a cell: lists and objects as JSON, text on one line and never a formula."""
    if isinstance(value, list | dict):
        value = json.dumps(value)
    if not isinstance(value, str):
        return value
    line = printable(" ".join(value.splitlines()))
    return f"'{line}" if line.lstrip().startswith(FORMULA) else line


def append_records(path: Path, records: Sequence[Mapping[str, Any]]) -> None:
    """Append records to a CSV file whose header names :data:`fabric_checks.perflog.FIELDS`.

    All lines go out in one write under a lock, so that several writers do not mix; if not all of it can be written,
    none of it stays. A last line that an earlier crash left unfinished is removed. A file with another header, as of
    another release, is left as it is, under the name ``CHECK.1.csv``, ``CHECK.2.csv`` ...

    :raises OSError: if the file cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    header = _lines([FIELDS])
    data = _lines([[cell(record[field]) for field in FIELDS] for record in records])
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
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def _open(path: Path, header: bytes) -> int:
    """Return a locked descriptor of a file that is empty or has this header; one with another is moved away."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            status = os.fstat(descriptor)
            try:
                moved = not os.path.samestat(status, path.stat())
            except FileNotFoundError:
                moved = True
            if not moved:
                start = os.pread(descriptor, len(header), 0)
                # A header that a crash left unfinished is written anew.
                if start == header or (b"\n" not in start and header.startswith(start)):
                    return descriptor
                path.rename(_free_name(path))
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _free_name(path: Path) -> Path:
    number = 1
    while (free := path.with_name(f"{path.stem}.{number}{path.suffix}")).exists():
        number += 1
    return free


def _end_of_last_line(descriptor: int, end: int) -> int:
    """Return the place behind the last line end; records have none within."""
    while end:
        start = max(0, end - 65536)
        found = os.pread(descriptor, end - start, start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0
