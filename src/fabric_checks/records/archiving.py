# SPDX-License-Identifier: BSD-3-Clause
"""Write archives, and export their records.

A file of an archive is written under another name and renamed when it is whole, and the files that it replaces are
ignored from then on: whatever interrupts the writing, an archive has each record once. Records that are there already
are not added again, so the same command completes what was cut short.

How far files of JSON lines have been read is kept in the archive, so that a night is added without reading those before
it. Everything is read again if the archive's files have changed since, or a file of JSON lines does not go on where
reading stopped. Lines that could not be used, and all behind them, never count as read. A line that somebody changes
before that place, and keeps as long as it was, is not read again.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl

from fabric_checks.core import files
from fabric_checks.core.errors import FileError, RecordError
from fabric_checks.core.locks import LockedError, exclusive
from fabric_checks.records import archive, database, jsonlines, validation
from fabric_checks.records.sources import LEFT_OUT, Faults, Files, files_of
from fabric_checks.records.table import COLUMNS, REPEATED, Report, extra_of, record_of

#: Rows that are kept in memory before they are written.
BATCH = 200_000
#: Files of a month are merged into files of at most so many rows: a night may then cost some seconds.
MERGED = 500_000
#: The file with the marks: how far files of JSON lines have been read.
MARKS = ".read.json"
#: So many bytes before a mark identify the file.
_IDENTIFYING_B = 4096
_COLUMNS = (*COLUMNS, "extra")


@dataclass(frozen=True)
class Added:
    """The outcome of :func:`add`.

    :param added: records that the archive did not have; :param known: records that it had, or that came twice.
    :param files: the files that were written.
    :param faults: as those of :class:`fabric_checks.records.reading.Loaded`.
    """

    added: int
    known: int
    files: tuple[Path, ...]
    faults: tuple[str, ...]


def add(
    results: Path, folder: Path, progress: Callable[[int], object] = lambda done: None, *, wait_s: float = 0
) -> Added:
    """Add the records of ``results`` to the archive in ``folder``.

    Lines that were read before are not read again, and their records count as known.

    :param results: what :func:`fabric_checks.records.reading.load` reads.
    :param progress: is called with the number of records read so far.
    :param wait_s: the longest wait for another process that writes the archive.
    :raises RecordError: if there are no results, another process writes the archive, or it cannot be written.
    """
    faults = Faults()
    found = files_of(results, faults)
    written: set[Path] = set()
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as held:
        try:
            held.enter_context(exclusive(folder / ".lock", wait_s))
        except LockedError as error:
            raise RecordError(
                f"{error}: another process is writing this archive; try again when it has ended"
            ) from None
        _tidy(folder)
        marks = Marks(folder)
        read, added = sum(marks.mark(path).records for path in found.json_lines), 0
        batch: list[pl.DataFrame] = []
        for frame in _tables(found, faults, marks):
            read += frame.height
            batch.append(frame)
            if sum(part.height for part in batch) >= BATCH:
                added += write(pl.concat(batch), folder, written)
                batch.clear()
            progress(read)
        if batch:
            added += write(pl.concat(batch), folder, written)
        try:
            marks.save()
        except OSError as error:
            faults.add(error.filename, 0, f"{error.strerror}; everything is read again next time")
    lines = tuple(faults.lines())
    if not read:
        raise RecordError(f"{results}: no sound record{'; the first fault: ' + lines[0] if lines else ''}")
    return Added(added, read - added, tuple(sorted(written)), lines)


def _tables(found: Files, faults: Faults, marks: Marks) -> Iterator[pl.DataFrame]:
    """Read all valid records as rows of an archive.

    :param marks: how far files were read before; gets how far they are now.
    """
    for path in found.json_lines:
        yield from _lines(path, faults, marks)
    for path in found.databases:
        records: list[tuple[int, dict[str, Any]]] = []
        try:
            records += database.records(path, faults.reporter(path))
        except FileError as error:
            faults.add(error.path, 0, error.cause)
        yield _rows(records, faults.reporter(path), any_unit=True)
    for path in found.parquet:
        yield from _rows_of_archive(path, faults)


def _lines(path: Path, faults: Faults, marks: Marks) -> Iterator[pl.DataFrame]:
    bad: list[int] = []

    def report(line: int, cause: str) -> None:
        bad.append(line)
        faults.add(path, line, cause + LEFT_OUT)

    mark = marks.mark(path)
    try:
        for block in jsonlines.blocks(path, report, mark.bytes, mark.lines + 1):
            frame = _rows(list(jsonlines.records(block, report)), report)
            yield frame
            if not bad and block.data.endswith(b"\n"):
                size = mark.bytes + len(block.data)
                lines, records = mark.lines + len(block.ends), mark.records + frame.height
                mark = Mark(size, lines, records, _end_of(path, size))
                marks.set(path, mark)
    except OSError as error:
        faults.add(path, 0, f"{error.strerror}; the file is left out")


def _rows(records: list[tuple[int, dict[str, Any]]], report: Report, *, any_unit: bool = False) -> pl.DataFrame:
    good, as_they_were = validation.checked_records(records, report, any_unit=any_unit)
    pairs = zip(as_they_were, good.iter_rows(named=True), strict=True)
    extra = [extra_of(record, row) for record, row in pairs]
    return good.select(*COLUMNS).with_columns(pl.Series("extra", extra, pl.String()))


def _rows_of_archive(path: Path, faults: Faults) -> Iterator[pl.DataFrame]:
    """Yield the valid rows of a file of an archive, without categories; nothing if it is broken."""
    try:
        frame = archive.read(path, _COLUMNS, faults.reporter(path, archive.ROW_LEFT_OUT))
    except FileError as error:
        faults.add(error.path, 0, error.cause)
        return
    yield frame.with_columns(pl.col(name).cast(pl.String) for name in REPEATED)


def write(frame: pl.DataFrame, folder: Path, written: set[Path]) -> int:
    """Add rows to the months that they belong to; return how many are new.

    :param frame: the columns of :data:`fabric_checks.records.table.COLUMNS` and ``extra``.
    :param written: gets the files that are written.
    :raises FileError: if a file that may have some of them already is broken.
    """
    new = 0
    month = pl.col("time").dt.strftime("%Y-%m").alias("month")
    for key, part in frame.with_columns(month).partition_by("system", "month", as_dict=True, include_key=True).items():
        place = archive.folder_of(folder, str(key[0]), str(key[1]))
        there = archive.files_of(place)
        rows = _without(part.select(_COLUMNS), there)
        if rows.height:
            _append(rows, place, there, written)
            new += rows.height
    return new


def _without(part: pl.DataFrame, paths: Sequence[Path]) -> pl.DataFrame:
    """Return each row once that files do not have; of these, only rows of the same times are read."""
    times = part["time"].unique()
    at_those = pl.col("time").is_between(times.min(), times.max()) & pl.col("time").is_in(times.implode())
    there = [archive.read_unchecked(path, _COLUMNS, at_those, compact=False) for path in paths]
    old = pl.concat(there) if there else part.clear()
    both = pl.concat([old.with_columns(_new=False), part.with_columns(_new=True)])
    return both.unique(_COLUMNS, keep="first", maintain_order=True).filter("_new").drop("_new")


def _append(rows: pl.DataFrame, place: Path, paths: Sequence[Path], written: set[Path]) -> None:
    """Write a file of new rows, and of those of the files before it that are not much larger.

    So each row is written again a few times only, and a month has few files: one or two for each :data:`MERGED` rows,
    and of the rest as many as their number has digits.
    """
    numbered = [(numbers, path) for path in paths if (numbers := archive.numbers_of(path.name))]
    last = first = numbered[-1][0][1] + 1 if numbered else 0
    merged: list[Path] = []
    height = rows.height
    for numbers, path in reversed(numbered):
        more = archive.height_of(path)
        if more > 2 * height or more + height > MERGED:
            break
        merged.insert(0, path)
        height, first = height + more, numbers[0]
    parts = [archive.read_unchecked(path, _COLUMNS, compact=False) for path in merged]
    path = place / archive.name_of(first, last)
    _replace(path, pl.concat([*parts, rows]).sort("time", maintain_order=True))
    # From now on the others do not count, whether they are deleted or not.
    for old in merged:
        old.unlink()
    written.difference_update(merged)
    written.add(path)


def _tidy(folder: Path) -> None:
    """Delete what writers left that were killed; the lock says that there is no other.

    :raises RecordError: if a file that another should have all of has more.
    """
    for month in folder.glob("system=*/month=*"):
        if month.is_symlink() or month.parent.is_symlink():
            continue
        for left in month.glob(f".{archive.NAME}*"):
            left.unlink()
        there = archive.files_of(month)
        for name in archive.superseded(path.name for path in month.glob(f"{archive.NAME}*.parquet")):
            more = _without(archive.read_unchecked(month / name, _COLUMNS, compact=False), there)
            if more.height:
                raise RecordError(
                    f"{month / name}: {more.height} of its records are missing from the file whose name says that it "
                    "has them all: give that file another number, as in records-99.parquet"
                )
            (month / name).unlink()


def _replace(path: Path, frame: pl.DataFrame) -> None:
    """Put a file in the place of another at once, when it is whole and on the disk.

    :raises RecordError: if it cannot be written.
    """
    content = io.BytesIO()
    frame.write_parquet(content, compression="zstd", compression_level=9, row_group_size=BATCH)
    try:
        # Polars' "*.parquet" finds hidden files too: what a killed writer leaves must not be one.
        with files.replacing(path, ending=".part") as place:
            place.write_bytes(content.getbuffer())
    except OSError as error:
        cause = os.strerror(error.errno or 0)
        raise RecordError(f"{path}: {cause}; the archive is unchanged: fix that and run it again") from None


@dataclass(frozen=True)
class Mark:
    """Where reading a file stopped: after ``bytes``, which are ``lines`` with ``records``; ``end`` is a fingerprint."""

    bytes: int = 0
    lines: int = 0
    records: int = 0
    end: str = ""


class Marks:
    """The position up to which files were read into an archive, which nobody else may write meanwhile.

    :param folder: of the archive.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        try:
            noted = json.loads(files.read_bytes(folder / MARKS))
            counts = noted["archive"] == _state(folder)
            self._marks = {str(path): Mark(**mark) for path, mark in noted["read"].items()} if counts else {}
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            self._marks = {}  # reading all is always right

    def mark(self, path: Path) -> Mark:
        """Return how far a file has been read; not at all if it is not the same file any more."""
        mark = self._marks.get(str(path.absolute()), Mark())
        try:
            sound = all(isinstance(count, int) and count >= 0 for count in (mark.bytes, mark.lines, mark.records))
            return mark if sound and _end_of(path, mark.bytes) == mark.end else Mark()
        except (OSError, OverflowError):
            return Mark()

    def set(self, path: Path, mark: Mark) -> None:
        """Note how far a file has been read."""
        self._marks[str(path.absolute())] = mark

    def save(self) -> None:
        """Write the marks of files that still exist.

        :raises OSError: if they cannot be written.
        """
        read = {path: asdict(mark) for path, mark in self._marks.items() if Path(path).exists()}
        files.write_text(self._folder / MARKS, json.dumps({"archive": _state(self._folder), "read": read}))


def _end_of(path: Path, size: int) -> str:
    """Return a fingerprint of the bytes before a place in a file.

    :raises OSError: if it cannot be read.
    """
    with files.opened(path) as file:
        begin = max(0, size - _IDENTIFYING_B)
        return hashlib.sha256(os.pread(file.fileno(), size - begin, begin)).hexdigest()


def _state(folder: Path) -> dict[str, list[int]]:
    """Return size and time of each file of an archive."""
    found = {}
    for path in folder.glob("system=*/month=*/*.parquet"):
        status = path.stat()
        found[str(path.relative_to(folder))] = [status.st_size, status.st_mtime_ns]
    return found


def export(folder: Path, faults: Faults) -> Iterator[str]:
    """Return the records of an archive as lines of JSON, file by file, each in the order of time.

    :param faults: gets what is left out.
    :raises RecordError: if there is no archive.
    """
    paths = files_of(folder, faults).parquet
    if not paths:
        raise RecordError(f"{folder}: there is no archive here")
    for path in paths:
        for frame in _rows_of_archive(path, faults):
            for row in frame.iter_rows(named=True):
                yield json.dumps(record_of(row))
