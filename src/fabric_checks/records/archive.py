# SPDX-License-Identifier: BSD-3-Clause
"""Archives: records in Parquet files, ``system=SYSTEM/month=YYYY-MM/records*.parquet``, by months of a system, in UTC.

Each addition is a file of its own, and now and then small files are merged. The files of a month are numbered from 0,
``records.parquet``; ``records-3.parquet`` is the one that was added as number 3, and ``records-3-5.parquet`` replaces
3 to 5: from the moment that it is there they are ignored, and they are deleted right then or by the next writer.

A file has the columns :data:`fabric_checks.records.table.COLUMNS`, which any program that reads Parquet can use, and
``extra``, JSON text with the rest of a record (see :mod:`fabric_checks.records.table`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from urllib.parse import quote

import polars as pl

from fabric_checks.core.errors import FileError
from fabric_checks.records import validation
from fabric_checks.records.table import COLUMNS, REPEATED, Report

#: How the name of each file begins; those that are being written begin with a dot.
NAME = "records"
#: The most rows of a file: a system that notes ten thousand values a night has a third of a million in a month.
MOST_ROWS = 20_000_000
#: The remedy behind the cause of a bad row.
ROW_LEFT_OUT = "; the row is left out"
#: The most columns, with those of later releases.
MOST_COLUMNS = 1000
_KINDS: dict[str, pl.DataType] = {**COLUMNS, "extra": pl.String()}


def folder_of(folder: Path, system: str, month: str) -> Path:
    """Return where the records of a month of a system are; no name of a system leads out of the folder."""
    return folder / f"system={quote(system, safe='')}" / f"month={month}"


def name_of(first: int, last: int) -> str:
    """Return the name of the file with the additions of these numbers."""
    return (
        f"{NAME}-{first}-{last}.parquet" if last > first else f"{NAME}-{first}.parquet" if first else f"{NAME}.parquet"
    )


def numbers_of(name: str) -> tuple[int, int] | None:
    """Return the first and the last number of a file's additions; None if its name is not of that form."""
    found = re.fullmatch(NAME + r"(?:-(\d{1,9}))?(?:-(\d{1,9}))?\.parquet", name, re.ASCII)
    if not found:
        return None
    first = int(found[1] or 0)
    return first, int(found[2] or first)


def superseded(names: Iterable[str]) -> set[str]:
    """Return the names of a folder's files whose records are all in another one."""
    numbered = {name: numbers for name in names if (numbers := numbers_of(name))}
    found = set()
    # Of those that begin at one number the widest comes first, so what ends before another's end lies within it.
    end = -1
    for name in sorted(numbered, key=lambda name: (numbered[name][0], -numbered[name][1])):
        if numbered[name][1] <= end:
            found.add(name)
        end = max(end, numbered[name][1])
    return found


def files_of(month: Path) -> list[Path]:
    """Return the files of a month's folder that are not superseded, in the order in which they were added."""
    names = {path.name for path in month.glob("*.parquet") if not path.name.startswith(".")}
    return [
        month / name
        for name in sorted(names - superseded(names), key=lambda name: (numbers_of(name) or (-1, -1), name))
    ]


def height_of(path: Path) -> int:
    """Return how many rows a file has.

    :raises FileError: if it is broken.
    """
    return read_unchecked(path, ()).height


def read(path: Path, columns: Sequence[str], report: Report, condition: pl.Expr | None = None) -> pl.DataFrame:
    """Read the columns of one file, repeated text as categories.

    :param report: is called with number and cause of each row that is no sound record; it is left out.
    :param condition: what a row has to fulfil.
    :raises FileError: if it is broken, or no file of an archive.
    """
    frame = read_unchecked(path, columns, condition)
    if validation.is_sound(frame):
        return frame
    # Numbers of rows are only read where one is to be named.
    good, causes = validation.checked_rows(read_unchecked(path, columns, condition, numbered=True))
    for number, cause in causes:
        report(number, cause)
    return good.drop("line")


def read_unchecked(
    path: Path,
    columns: Sequence[str],
    condition: pl.Expr | None = None,
    *,
    numbered: bool = False,
    compact: bool = True,
) -> pl.DataFrame:
    """Read columns as :func:`read` does, without checking single rows.

    :param numbered: whether there is a column ``line``, the numbers of the rows from 1.
    :param compact: whether repeated text is read as categories.
    """
    try:
        # The path is one file, whatever characters it has.
        rows = pl.scan_parquet(
            path, glob=False, hive_partitioning=False, row_index_name="line" if numbered else None, row_index_offset=1
        )
        there = rows.collect_schema()
        wrong = [name for name in COLUMNS if name not in there]
        wrong += [name for name, kind in _KINDS.items() if name in there and there[name] != kind]
        if wrong:
            raise FileError(path, f"its column {wrong[0]!r} is not one of an archive's; it is left out")
        if len(there) > MOST_COLUMNS:
            raise FileError(path, f"it has more columns than an archive, {len(there)}; it is left out")
        _require_sane(path, rows.select(pl.len()).collect().item())
        if condition is not None:
            rows = rows.filter(condition)
        if not columns and condition is None:
            return pl.DataFrame(height=rows.select(pl.len()).collect().item())
        names = [*columns, *(["line"] if numbered else [])]
        return rows.select(map(_column, names) if compact else names).collect()
    except FileNotFoundError:
        raise FileError(path, "it was there a moment ago: the archive is being written; try again") from None
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        why = " ".join(str(error).split())[:200]
        raise FileError(
            path, f"cannot be read ({why}); move it away and archive its records again, or restore it"
        ) from None


def _require_sane(path: Path, rows: int) -> None:
    """Refuse a file with more rows than anybody archives, as equal rows take next to no room on disk.

    An archive has no row twice, and two that differ take more than a byte.
    """
    if rows > min(MOST_ROWS, path.stat().st_size):
        raise FileError(
            path,
            f"{rows} rows in {path.stat().st_size} bytes cannot be from an archive, whose rows all differ and number "
            f"at most {MOST_ROWS} a file; it is left out",
        )


def _column(name: str) -> pl.Expr:
    return pl.col(name).cast(pl.Categorical()) if name in REPEATED else pl.col(name)
