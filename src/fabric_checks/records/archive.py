# SPDX-License-Identifier: BSD-3-Clause
"""Read archives: Parquet files ``system=SYSTEM/month=YYYY-MM/records-N.parquet``, one for each month (UTC) of
a system.

An addition to a month writes a new file with the next number N, and then deletes the files that it replaces.
Until these are gone, the file with the greatest number counts; so no reader sees half a month, whatever ends
a writer. A file has the columns :data:`fabric_checks.records.table.COLUMNS`, which any program that reads
Parquet can use; of those in :data:`ONCE` a case has the value in one of its rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from urllib.parse import quote

import polars as pl

from fabric_checks.core.errors import FileError, quoted
from fabric_checks.records.table import COLUMNS, REPEATED

#: The most rows of a file: a system with ten thousand values a night has a third of a million in a month.
MOST_ROWS = 20_000_000

#: What all values of a case share and what is long on a large machine: with a copy in each row, a month of
#: nights on a thousand nodes would be tens of gigabytes before it is compressed.
ONCE = ("nodelist", "ports")


def folder_of(folder: Path, system: str, month: str) -> Path:
    """Return the folder of a month of a system; no name of a system leads out of the archive."""
    return folder / f"system={quote(system, safe='')}" / f"month={month}"


def number_of(name: str) -> int | None:
    """Return the number N in the name of a file; None if the name is not of that form."""
    found = re.fullmatch(r"records-(\d{1,9})\.parquet", name, re.ASCII)
    return int(found[1]) if found else None


def without_copies(frame: pl.DataFrame) -> pl.DataFrame:
    """Return records in which those of a case have the columns of :data:`ONCE` once, as files have them."""
    rows = frame.with_row_index("_row")
    first = rows.filter(pl.col("case").is_first_distinct()).select("_row", *ONCE)
    # A join, as Polars writes the text below a null that `when` makes.
    joined = rows.drop(ONCE).join(first, on="_row", how="left", maintain_order="left")
    return joined.select(frame.columns)


def superseded(names: Iterable[str]) -> set[str]:
    """Return the names of a folder's files that a file with a greater number replaces."""
    numbers = {
        name: number for name in names if (number := number_of(name)) is not None
    }
    return {name for name, number in numbers.items() if number < max(numbers.values())}


def read(
    path: Path,
    columns: Sequence[str],
    condition: pl.Expr | None = None,
    *,
    compact: bool = True,
) -> pl.DataFrame:
    """Read the columns of one file.

    :param condition: the rows to return; None: all.
    :param compact: whether repeated text is read as categories.
    :raises FileError: if it is broken, or no file of an archive.
    """
    try:
        # The path is one file, whatever characters it has.
        rows = pl.scan_parquet(path, glob=False, hive_partitioning=False)
        there = rows.collect_schema()
        wrong = [
            name for name in (*COLUMNS, *there) if there.get(name) != COLUMNS.get(name)
        ]
        if wrong:
            raise FileError(
                path,
                f"its column {quoted(wrong[0])} is not one of an archive's; it is left out",
            )
        _require_sane(path, rows.select(pl.len()).collect().item())
        once = [pl.col(name) for name in ONCE if name in columns]
        rows = rows.with_columns(
            each.drop_nulls().first().over("case") for each in once
        )
        if condition is not None:
            rows = rows.filter(condition)
        return rows.select(map(_column, columns) if compact else columns).collect()
    except FileNotFoundError:
        raise FileError(
            path, "it was there a moment ago: the archive is being written; try again"
        ) from None
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        why = " ".join(str(error).split())[:200]
        raise FileError(
            path,
            f"cannot be read ({why}); move it away and archive its records again, or restore it",
        ) from None


def _require_sane(path: Path, rows: int) -> None:
    """Refuse a file with more rows than an archive can have: equal rows take next to no room on disk.

    An archive has no row twice, and two that differ take more than a byte.
    """
    if rows > min(MOST_ROWS, path.stat().st_size):
        raise FileError(
            path,
            f"{rows} rows in {path.stat().st_size} bytes cannot be from an archive, whose rows all differ and"
            f" number at most {MOST_ROWS} a file; it is left out",
        )


def _column(name: str) -> pl.Expr:
    return pl.col(name).cast(pl.Categorical()) if name in REPEATED else pl.col(name)
