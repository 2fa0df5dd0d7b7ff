# SPDX-License-Identifier: BSD-3-Clause
"""Read files of JSON lines line by line, while others may append to them, and packed ones."""

from __future__ import annotations

import fcntl
import gzip
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from fabric_checks.core.errors import quoted
from fabric_checks.records.table import Report

#: A longer line is no record.
LONGEST_LINE_B = 2**26


def lines(path: Path, report: Report) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file that are not empty, with their numbers; the last one may lack its end.

    :param report: gets number and cause of a line that is too long to be a record; it is the last.
    :raises OSError: if the file cannot be read. :raises EOFError, zlib.error: if a packed one is broken.
    """
    with path.open("rb") as raw:
        is_packed = path.suffix == ".gz"
        file: Any = gzip.GzipFile(fileobj=raw) if is_packed else raw
        left = sys.maxsize if is_packed else _settled_size(raw.fileno())
        number = 0
        while line := file.readline(min(left, LONGEST_LINE_B)):
            number += 1
            left -= len(line)
            if len(line) == LONGEST_LINE_B:
                size_MiB = LONGEST_LINE_B // 2**20
                report(
                    number,
                    f"a line of more than {size_MiB} MiB, and all that follows it: {_start(line)}",
                )
                return
            if line.strip():
                yield number, line


def _settled_size(descriptor: int) -> int:
    """Return the size of a file between two writes, so that no line is taken that is being written."""
    for _ in range(100):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.01)
            continue
        except OSError:
            break  # a file system without locks
        size = os.fstat(descriptor).st_size
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        return size
    return os.fstat(descriptor).st_size


def parsed(line: bytes) -> dict[str, Any]:
    """Read one line.

    :raises ValueError: with the cause, if it is no JSON object.
    """
    try:
        record = msgspec.json.decode(line)
    except RecursionError:
        raise ValueError(
            f"not a JSON object (nested too deeply): {_start(line)}"
        ) from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ValueError(f"not a JSON object ({error}): {_start(line)}") from None
    if not isinstance(record, dict):
        raise ValueError(f"not a JSON object: {_start(line)}")
    return record


def _start(line: bytes) -> str:
    return quoted(line[:200].decode(errors="replace").strip(), 40)
