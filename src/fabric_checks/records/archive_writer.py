# SPDX-License-Identifier: BSD-3-Clause
"""Write archives.

The file of a month is written under a temporary name and renamed when it is complete, and the files that it
replaces do not count from then on: whatever interrupts a writer, an archive has each record once. Records
that it has already are not added again, so the same command completes what was cut short.
"""

from __future__ import annotations

import io
import os
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import polars as pl
import polars.selectors as cs

from fabric_checks.core import files
from fabric_checks.core.errors import RecordError
from fabric_checks.core.locks import LockedError, exclusive
from fabric_checks.records import archive, reader
from fabric_checks.records.record import FIELDS, MEASUREMENT
from fabric_checks.records.sources import Faults, Source
from fabric_checks.records.table import COLUMNS

#: How many rows are kept in memory before they are written.
BATCH_ROWS = 2**16
_ROWS_A_GROUP = 200_000


@dataclass(frozen=True)
class Added:
    """The outcome of :func:`add`.

    :param added: records that the archive did not have; :param known: records that it had, or that came
        twice.
    :param files: the files that were written.
    :param faults: as those of :class:`fabric_checks.records.reader.Loaded`.
    """

    added: int
    known: int
    files: tuple[Path, ...]
    faults: tuple[str, ...]


def add(results: Path, folder: Path, *, wait_s: float = 0) -> Added:
    """Add the records of ``results`` to the archive in ``folder``.

    :param results: anything that :func:`fabric_checks.records.reader.load` reads.
    :param wait_s: the longest wait for another process that writes the archive.
    :raises RecordError: if there are no results, another process writes the archive, or it cannot be written.
    """
    faults = Faults()
    frames = reader.records(Source("", results, repeats=True), FIELDS, faults)
    # Before anything is created: an error leaves no empty folder behind.
    frames = chain([next(frames)], frames)
    folder.mkdir(parents=True, exist_ok=True)
    written: set[Path] = set()
    read = added = 0
    batch: list[pl.DataFrame] = []
    try:
        with exclusive(folder / ".lock", wait_s):
            _delete_unfinished(folder)
            for frame in frames:
                read += frame.height
                batch.append(frame)
                if sum(part.height for part in batch) >= BATCH_ROWS:
                    added += write(pl.concat(batch), folder, written)
                    batch.clear()
            if batch:
                added += write(pl.concat(batch), folder, written)
    except LockedError as error:
        raise RecordError(
            f"{error}: another process is writing this archive; try again when it has ended"
        ) from None
    files_there = sorted(path for path in written if path.exists())
    return Added(added, read - added, tuple(files_there), tuple(faults.lines()))


def _delete_unfinished(folder: Path) -> None:
    """Delete the temporary files of writers that were killed; the lock guarantees that no other is at
    work."""
    for path in folder.glob("system=*/month=*/.records-*"):
        if not (path.parent.is_symlink() or path.parent.parent.is_symlink()):
            path.unlink()


def write(frame: pl.DataFrame, folder: Path, written: set[Path]) -> int:
    """Add rows to the months that they belong to; return how many are new.

    :param frame: the columns of :data:`fabric_checks.records.table.COLUMNS`.
    :param written: gets the files that are written.
    :raises FileError: if a file that may have some of the rows already is broken.
    """
    new = 0
    month = pl.col("time").dt.strftime("%Y-%m").alias("month")
    rows = frame.select(*COLUMNS).with_columns(cs.categorical().cast(pl.String), month)
    for key, part in rows.partition_by(
        "system", "month", as_dict=True, include_key=True
    ).items():
        target = archive.folder_of(folder, str(key[0]), str(key[1]))
        there = sorted(
            path for path in target.glob("*.parquet") if not path.name.startswith(".")
        )
        more = part.drop("month").unique(MEASUREMENT, keep="first", maintain_order=True)
        for path in there:
            known = archive.read(path, MEASUREMENT, compact=False)
            more = more.join(
                known,
                on=MEASUREMENT,
                how="anti",
                nulls_equal=True,
                maintain_order="left",
            )
        if more.height or len(there) > 1:
            written.add(_replace(target, there, more))
        new += more.height
    return new


def _replace(folder: Path, there: list[Path], more: pl.DataFrame) -> Path:
    """Write a new file to the folder of a month, with the rows of the files in it and some more, and delete
    these.

    :raises RecordError: if it cannot be written; then nothing is changed.
    """
    number = 1 + max((archive.number_of(path.name) or 0 for path in there), default=0)
    path = folder / f"records-{number}.parquet"
    old = [archive.read(path, tuple(COLUMNS), compact=False) for path in there]
    rows = pl.concat([*old, more]).unique(
        MEASUREMENT, keep="first", maintain_order=True
    )
    content = io.BytesIO()
    rows = archive.without_copies(rows.sort("time", maintain_order=True))
    rows.write_parquet(
        content, compression="zstd", compression_level=9, row_group_size=_ROWS_A_GROUP
    )
    try:
        # Polars' "*.parquet" finds hidden files too: a temporary file must not match it.
        with files.replacing(path, ending=".part") as temporary:
            temporary.write_bytes(content.getbuffer())
    except OSError as error:
        cause = os.strerror(error.errno or 0)
        raise RecordError(
            f"{path}: {cause}; the archive is unchanged: fix that and run it again"
        ) from None
    for replaced in there:
        replaced.unlink()
    return path
