# SPDX-License-Identifier: BSD-3-Clause
"""How far files of JSON lines have been read into an archive, so that a night is added without reading those before.

It is kept in the archive, with the sizes and times of its files: if these are others than were left, all is read again.
So it is if a file does not go on where it was left. Lines that could not be used, and all behind them, are never taken
for read. A line that somebody changes before that place, and keeps as long as it was, is not read again.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from fabric_checks.core import files

NAME = ".read.json"
#: So many bytes before the place where a file was left tell that it is the same file.
_LOOKED_AT_B = 4096


@dataclass(frozen=True)
class Mark:
    """Where a file was left: behind so many ``bytes``, which are ``lines`` with ``records``; ``end`` tells the file."""

    bytes: int = 0
    lines: int = 0
    records: int = 0
    end: str = ""


class Memory:
    """The marks of an archive, which nobody else may write meanwhile.

    :param folder: of the archive.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        try:
            noted = json.loads(files.read_bytes(folder / NAME))
            counts = noted["archive"] == _state(folder)
            self._marks = {str(path): Mark(**mark) for path, mark in noted["read"].items()} if counts else {}
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            self._marks = {}  # reading all is always right

    def mark(self, path: Path) -> Mark:
        """Return how far a file has been read; if it is another one than then, not at all."""
        mark = self._marks.get(str(path.absolute()), Mark())
        try:
            sound = all(isinstance(count, int) and count >= 0 for count in (mark.bytes, mark.lines, mark.records))
            return mark if sound and end_of(path, mark.bytes) == mark.end else Mark()
        except (OSError, OverflowError):
            return Mark()

    def set(self, path: Path, mark: Mark) -> None:
        """Note how far a file has been read."""
        self._marks[str(path.absolute())] = mark

    def save(self) -> None:
        """Write the marks down, but those of files that are gone.

        :raises OSError: if they cannot be written.
        """
        read = {path: asdict(mark) for path, mark in self._marks.items() if Path(path).exists()}
        files.write_text(self._folder / NAME, json.dumps({"archive": _state(self._folder), "read": read}))


def end_of(path: Path, size: int) -> str:
    """Return a fingerprint of what is before a place in a file.

    :raises OSError: if it cannot be read.
    """
    with files.opened(path) as file:
        begin = max(0, size - _LOOKED_AT_B)
        return hashlib.sha256(os.pread(file.fileno(), size - begin, begin)).hexdigest()


def _state(folder: Path) -> dict[str, list[int]]:
    """Return size and time of each file of an archive."""
    found = {}
    for path in folder.glob("system=*/month=*/*.parquet"):
        status = path.stat()
        found[str(path.relative_to(folder))] = [status.st_size, status.st_mtime_ns]
    return found
