# SPDX-License-Identifier: BSD-3-Clause
"""Write archives, and get their records back.

A file of an archive is written beside the old one and takes its place at once: whatever ends the writing, every file is
whole, the old or the new. What is there already is not added again, so the same command completes what was cut short.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from fabric_checks.errors import FileError, RecordError
from fabric_checks.locks import LockedError, exclusive
from fabric_checks.store import archive, database, jsonlines, listing, objects, rows
from fabric_checks.store.faults import LEFT_OUT, Faults
from fabric_checks.store.schema import COLUMNS, REPEATED

#: Rows that are kept in memory before they are written.
BATCH = 200_000
_COLUMNS = (*COLUMNS, "extra")


class BusyError(RecordError):
    """Another process is writing the archive."""


@dataclass(frozen=True)
class Added:
    """What :func:`add` did.

    :param added: records that the archive did not have; :param known: records that it had, or that came twice.
    :param files: the files that were written.
    :param faults: as those of :class:`fabric_checks.store.reading.Loaded`.
    """

    added: int
    known: int
    files: tuple[Path, ...]
    faults: tuple[str, ...]


def add(results: Path, folder: Path, progress: Callable[[int], object] = lambda done: None) -> Added:
    """Add the records of ``results`` to the archive in ``folder``.

    :param results: what :func:`fabric_checks.store.reading.load` reads.
    :param progress: is called with the number of records read so far.
    :raises RecordError: if there are no results, another process writes the archive, or it cannot be written.
    """
    faults = Faults()
    files = listing.files_of(results, faults)
    read = added = 0
    written: set[Path] = set()
    with _alone(folder):
        batch: list[pl.DataFrame] = []
        for frame in _tables(files, faults):
            read += frame.height
            batch.append(frame)
            if sum(part.height for part in batch) >= BATCH:
                added += write(pl.concat(batch), folder, written)
                batch.clear()
            progress(read)
        if batch:
            added += write(pl.concat(batch), folder, written)
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


def _tables(files: listing.Files, faults: Faults) -> Iterator[pl.DataFrame]:
    """Read all sound records as rows of an archive."""
    for path in files.json_lines:
        report = partial(_report, faults, path)
        try:
            for block in jsonlines.blocks(path, report):
                yield _rows(list(jsonlines.records(block, report)), report)
        except OSError as error:
            faults.add(path, 0, f"{error.strerror}; the file is left out")
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
    """Add rows to the files that they belong to; return how many are new.

    :param frame: the columns of :data:`fabric_checks.store.schema.COLUMNS` and ``extra``.
    :param written: gets the files that are written.
    :raises FileError: if a file that has to be added to is broken.
    """
    new = 0
    month = pl.col("time").dt.strftime("%Y-%m").alias("month")
    for key, part in frame.with_columns(month).partition_by("system", "month", as_dict=True, include_key=True).items():
        path = archive.file_of(folder, str(key[0]), str(key[1]))
        # What is there stays there, also what no reader would take.
        old = _as_text(archive.read_unchecked(path, _COLUMNS)) if path.exists() else frame.clear()
        # A stable sort and the first of equal rows: the same records give the same file.
        whole = pl.concat([old, part.select(old.columns)]).unique(maintain_order=True).sort("time", maintain_order=True)
        if whole.height > old.height:
            _replace(path, whole)
            written.add(path)
            new += whole.height - old.height
    return new


def _replace(path: Path, frame: pl.DataFrame) -> None:
    """Put a file in the place of another at once, when it is whole and on the disk.

    :raises RecordError: if it cannot be written.
    """
    content = io.BytesIO()
    frame.write_parquet(content, compression="zstd", compression_level=9, row_group_size=BATCH)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        for left in path.parent.glob(f".{path.name}.*"):
            left.unlink()  # of a writer that was killed: the lock says that there is no other
        try:
            with temporary.open("wb") as file:
                file.write(content.getbuffer())
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise RecordError(f"{path}: {error.strerror}; the file is as it was: mend that and run it again") from None


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
