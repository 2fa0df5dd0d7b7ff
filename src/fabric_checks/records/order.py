# SPDX-License-Identifier: BSD-3-Clause
"""Each measurement once, and all in the order of their time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import polars as pl

from fabric_checks.records.faults import Faults

#: How far the time may go back from one line of a file to the next: several sessions write to it at once.
BACKWARD = timedelta(minutes=1)


def without_duplicates(frame: pl.DataFrame, key: Sequence[str], files: Sequence[Path], faults: Faults) -> pl.DataFrame:
    """Return the rows without those that repeat another's ``key``; each file's are counted, the first named.

    :param frame: rows with ``file``, an index into ``files`` or null, and ``line``, its number there.
    """
    hashes = frame.select(key).hash_rows()
    again = ~hashes.is_first_distinct()
    if not again.any():
        return frame
    # Hashes may collide; what is the same in earnest is found among the few rows that share one.
    shared = frame.with_row_index("row").filter(hashes.is_in(hashes.filter(again).unique().implode()))
    repeated = shared.filter(~pl.struct(key).is_first_distinct())
    for file, line, count in (
        repeated.drop_nulls("file").group_by("file").agg(pl.col("line").min(), pl.len()).sort("file").iter_rows()
    ):
        what = "this record is" if count == 1 else f"{count} records from here on are"
        faults.add(
            files[file], line, f"{what} already in this file or in another; each is used once: delete the duplicates"
        )
    return (
        frame.with_row_index("row")
        .join(repeated.select("row"), on="row", how="anti", maintain_order="left")
        .drop("row")
    )


def note_backward_clocks(frame: pl.DataFrame, files: Sequence[Path], faults: Faults) -> None:
    """Note where in a file the time goes back by more than :data:`BACKWARD`.

    :param frame: rows of a file in the order of their lines.
    """
    back = (pl.col("time").shift() - pl.col("time") > BACKWARD) & (pl.col("file").shift() == pl.col("file"))
    steps = frame.select("file", "line", "time").filter(back)
    for file, line, time, count in (
        steps.group_by("file", maintain_order=True)
        .agg(pl.col("line").first(), pl.col("time").first(), pl.len())
        .iter_rows()
    ):
        more = f", and at {count - 1} later lines" if count > 1 else ""
        faults.add(
            files[file],
            line,
            f"a clock went backwards: {time:%Y-%m-%dT%H:%M:%SZ} comes after a later time{more}; records are used in "
            "order of time: check the clock, and sort the lines if the times are right",
        )


def by_time(frame: pl.DataFrame) -> pl.DataFrame:
    """Return rows in the order of ``time``; those of one time keep theirs."""
    return frame if frame["time"].is_sorted() else frame.sort("time", maintain_order=True)
