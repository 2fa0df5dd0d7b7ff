# SPDX-License-Identifier: BSD-3-Clause
"""Write archives, and get their records back.

A file of an archive is written under another name and gets its own at once, and where it has what others had, these do
not count from then on: whatever ends the writing, an archive has each record once, also those that it had. What is
there already is not added again, so the same command completes what was cut short.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from fabric_checks.core.errors import FileError, RecordError
from fabric_checks.core.files import replacing
from fabric_checks.core.locks import LockedError, exclusive
from fabric_checks.records import archive, database, jsonlines, listing, objects, remembered, rows
from fabric_checks.records.faults import LEFT_OUT, Faults
from fabric_checks.records.remembered import Mark, Memory
from fabric_checks.records.schema import COLUMNS, REPEATED

#: Rows that are kept in memory before they are written.
BATCH = 200_000
#: Files of a month become one of at most so many rows: what a night may cost, some seconds.
MERGED = 500_000
_COLUMNS = (*COLUMNS, "extra")


class BusyError(RecordError):
    """Another process is writing the archive."""


@dataclass(frozen=True)
class Added:
    """What :func:`add` did.

    :param added: records that the archive did not have; :param known: records that it had, or that came twice.
    :param files: the files that were written.
    :param faults: as those of :class:`fabric_checks.records.reading.Loaded`.
    """

    added: int
    known: int
    files: tuple[Path, ...]
    faults: tuple[str, ...]


def add(results: Path, folder: Path, progress: Callable[[int], object] = lambda done: None) -> Added:
    """Add the records of ``results`` to the archive in ``folder``.

    Of JSON lines only what was not read before is, see :mod:`fabric_checks.records.remembered`; it counts as known.

    :param results: what :func:`fabric_checks.records.reading.load` reads.
    :param progress: is called with the number of records read so far.
    :raises RecordError: if there are no results, another process writes the archive, or it cannot be written.
    """
    faults = Faults()
    files = listing.files_of(results, faults)
    written: set[Path] = set()
    with _alone(folder):
        _tidy(folder)
        memory = Memory(folder)
        read, added = sum(memory.mark(path).records for path in files.json_lines), 0
        batch: list[pl.DataFrame] = []
        for frame in _tables(files, faults, memory):
            read += frame.height
            batch.append(frame)
            if sum(part.height for part in batch) >= BATCH:
                added += write(pl.concat(batch), folder, written)
                batch.clear()
            progress(read)
        if batch:
            added += write(pl.concat(batch), folder, written)
        try:
            memory.save()
        except OSError as error:
            faults.add(error.filename, 0, f"{error.strerror}; everything is read again next time")
    lines = tuple(faults.lines())
    if not read:
        raise RecordError(f"{results}: no sound record{'; the first fault: ' + lines[0] if lines else ''}")
    return Added(added, read - added, tuple(sorted(written)), lines)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep others from writing the archive meanwhile; a lock ends with its process."""
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as held:
        try:
            held.enter_context(exclusive(folder / ".lock", 0))
        except LockedError as error:
            raise BusyError(f"{error}: another process is writing this archive; try again when it has ended") from None
        yield


def _tables(files: listing.Files, faults: Faults, memory: Memory) -> Iterator[pl.DataFrame]:
    """Read all sound records as rows of an archive.

    :param memory: how far files were read before; gets how far they are now.
    """
    for path in files.json_lines:
        yield from _lines(path, faults, memory)
    for path in files.databases:
        report = partial(_report, faults, path)
        found: list[tuple[int, dict[str, Any]]] = []
        try:
            found += database.records(path, report)
        except FileError as error:
            faults.add(error.path, 0, error.cause)
        yield _rows(found, report, any_unit=True)
    for path in files.parquet:
        try:
            yield _as_text(archive.read(path, _COLUMNS, partial(_report_row, faults, path)))
        except FileError as error:
            faults.add(error.path, 0, error.cause)


def _lines(path: Path, faults: Faults, memory: Memory) -> Iterator[pl.DataFrame]:
    bad: list[int] = []

    def report(line: int, cause: str) -> None:
        bad.append(line)
        faults.add(path, line, cause + LEFT_OUT)

    mark = memory.mark(path)
    try:
        for block in jsonlines.blocks(path, report, mark.bytes, mark.lines + 1):
            frame = _rows(list(jsonlines.records(block, report)), report)
            yield frame
            if not bad and block.data.endswith(b"\n"):
                size = mark.bytes + len(block.data)
                lines, records = mark.lines + len(block.ends), mark.records + frame.height
                mark = Mark(size, lines, records, remembered.end_of(path, size))
                memory.set(path, mark)
    except OSError as error:
        faults.add(path, 0, f"{error.strerror}; the file is left out")


def _report_row(faults: Faults, path: Path, row: int, cause: str) -> None:
    faults.add(path, row, f"{cause}; the row is left out")


def _report(faults: Faults, path: Path, line: int, cause: str) -> None:
    faults.add(path, line, cause + LEFT_OUT)


def _rows(
    records: list[tuple[int, dict[str, Any]]], report: jsonlines.Report, *, any_unit: bool = False
) -> pl.DataFrame:
    good, as_they_were = objects.checked(records, report, any_unit=any_unit)
    pairs = zip(as_they_were, good.iter_rows(named=True), strict=True)
    extra = [rows.extra_of(record, row) for record, row in pairs]
    return good.select(*COLUMNS).with_columns(pl.Series("extra", extra, pl.String()))


def _as_text(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a table without categories."""
    return frame.with_columns(pl.col(name).cast(pl.String) for name in REPEATED)


def write(frame: pl.DataFrame, folder: Path, written: set[Path]) -> int:
    """Add rows to the months that they belong to; return how many are new.

    :param frame: the columns of :data:`fabric_checks.records.schema.COLUMNS` and ``extra``.
    :param written: gets the files that are written.
    :raises FileError: if a file that may have some of them already is broken.
    """
    new = 0
    month = pl.col("time").dt.strftime("%Y-%m").alias("month")
    for key, part in frame.with_columns(month).partition_by("system", "month", as_dict=True, include_key=True).items():
        place = archive.folder_of(folder, str(key[0]), str(key[1]))
        files = archive.files_of(place)
        rows = _without(part.select(_COLUMNS), files)
        if rows.height:
            _append(rows, place, files, written)
            new += rows.height
    return new


def _without(part: pl.DataFrame, files: Sequence[Path]) -> pl.DataFrame:
    """Return each row once that files do not have; of these, only rows of the same times are read."""
    times = part["time"].unique()
    at_those = pl.col("time").is_between(times.min(), times.max()) & pl.col("time").is_in(times.implode())
    there = [archive.read_unchecked(path, _COLUMNS, at_those, compact=False) for path in files]
    old = pl.concat(there) if there else part.clear()
    both = pl.concat([old.with_columns(_new=False), part.with_columns(_new=True)])
    return both.unique(_COLUMNS, keep="first", maintain_order=True).filter("_new").drop("_new")


def _append(rows: pl.DataFrame, place: Path, files: Sequence[Path], written: set[Path]) -> None:
    """Write a file of new rows, and of those of the files before it that are not much larger.

    So each row is written again a few times only, and a month has few files: one or two for each :data:`MERGED` rows,
    and of the rest as many as their number has digits.
    """
    numbered = [(numbers, path) for path in files if (numbers := archive.numbers_of(path.name))]
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
        files = archive.files_of(month)
        for name in archive.superseded(path.name for path in month.glob(f"{archive.NAME}*.parquet")):
            more = _without(archive.read_unchecked(month / name, _COLUMNS, compact=False), files)
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
        with replacing(path, ending=".part") as place:
            place.write_bytes(content.getbuffer())
    except OSError as error:
        cause = os.strerror(error.errno or 0)
        raise RecordError(f"{path}: {cause}; the archive is unchanged: fix that and run it again") from None


def export(folder: Path, faults: Faults) -> Iterator[str]:
    """Return the records of an archive as lines of JSON, file by file, each in the order of time.

    :param faults: gets what is left out.
    :raises RecordError: if there is no archive.
    """
    files = listing.files_of(folder, faults).parquet
    if not files:
        raise RecordError(f"{folder}: there is no archive here")
    for path in files:
        try:
            frame = archive.read(path, _COLUMNS, partial(_report_row, faults, path))
        except FileError as error:
            faults.add(error.path, 0, error.cause)
            continue
        for row in _as_text(frame).iter_rows(named=True):
            yield json.dumps(rows.record_of(row))
