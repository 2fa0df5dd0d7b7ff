# SPDX-License-Identifier: BSD-3-Clause
"""Group records into series: the same metric, measured again and again.

This is the one grouping: comparisons, changes, histories, proposals of references, nights and reports ask for
it here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import polars as pl
import polars.selectors as cs

from fabric_checks.records.record import SERIES

#: Where a value was measured. Two sets of results may differ in these and still be compared.
MACHINE = ("system", "partition", "environ")
#: What a metric is. Series of two sets that agree in these are compared; their units are then looked at.
METRIC = tuple(name for name in SERIES if name not in (*MACHINE, "unit"))

#: What a series has of its latest record, unless something else is asked for.
LATEST = (
    "parameters",
    "quantity",
    "size_B",
    "better",
    "can_be_zero",
    "evidence",
    "program",
    "program_version",
)

#: What a series to be compared has of its latest record, and what it is expected to have one of.
OF_LATEST = ("parameters", "quantity", "size_B", "can_be_zero")
_EXPECTED_ONE = (
    "unit",
    "better",
    "program",
    "program_version",
    "evidence",
    "image_digest",
)
_KIND = tuple(dict.fromkeys((*SERIES, *OF_LATEST, *_EXPECTED_ONE)))
#: The columns of records that :func:`gather` needs.
COMPARED = (*_KIND, "time", "value")


def series(
    frame: pl.DataFrame,
    by: Sequence[str] = ("side", *SERIES),
    *,
    each: Sequence[str] = (),
    latest: Sequence[str] = LATEST,
) -> pl.DataFrame:
    """Return a row for each series, in the order of the first record of each.

    :param frame: records, with at least the columns ``by``, ``time`` and ``value``. Those without a value, of
        failed cases, are in no series.
    :param by: records that agree in these are of one series; null equals null.
    :param each: columns of which all are kept, as lists in the order of time.
    :param latest: columns of which that of the latest record is kept, as far as the frame has them.
    :returns: the columns ``by``; ``values`` and ``times``, lists in the order of time; ``n``, their length;
        ``each`` and ``latest``. Categories become text.
    """
    measured = by_time(
        frame.filter(pl.col("value").is_not_null())
        if frame["value"].null_count()
        else frame
    )
    found = measured.group_by(by, maintain_order=True).agg(
        pl.col("value").alias("values"),
        pl.col("time").alias("times"),
        pl.len().cast(pl.Int64).alias("n"),
        *(pl.col(name) for name in each),
        *(
            pl.col(name).last()
            for name in latest
            if name in frame.columns and name not in (*by, *each)
        ),
    )
    return found.with_columns(cs.categorical().cast(pl.String))


def records_by_series(
    frame: pl.DataFrame,
) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Yield each series, its fields by name, and its records in the order of time.

    :param frame: as for :func:`series`.
    """
    measured = by_time(
        frame.filter(pl.col("metric").is_not_null() & pl.col("value").is_not_null())
    )
    for key, group in measured.group_by(SERIES, maintain_order=True):
        yield dict(zip(SERIES, key, strict=True)), group.to_dicts()


def by_session(frame: pl.DataFrame) -> pl.DataFrame:
    """Return one record for each series and session: the median of its values, at the time of the first.

    Passes of one session are more like each other than sessions are.

    :param frame: records with ``session``, and as for :func:`series`.
    """
    measured = by_time(frame.filter(pl.col("value").is_finite()))
    key = (*SERIES, "session")
    others = (
        pl.col(name).first() for name in frame.columns if name not in (*key, "value")
    )
    return (
        measured.group_by(key, maintain_order=True)
        .agg(pl.col("value").median(), *others)
        .select(frame.columns)
    )


def aggregated(frame: pl.DataFrame) -> pl.DataFrame:
    """Return one row for records that differ in ``time`` and ``value`` only.

    :param frame: records in the order of time.
    :returns: in the order of the first of each: the columns except ``time`` and ``value``; ``values``, the
        list of them; ``n``, how many records; ``first_time`` and ``last_time``; and ``last``, the number of
        the last record's row, from 0. Categories become text.
    """
    kind = [name for name in frame.columns if name not in ("time", "value")]
    return (
        frame.with_row_index("_row")
        .group_by(kind, maintain_order=True)
        .agg(
            pl.col("value").alias("values"),
            pl.len().cast(pl.Int64).alias("n"),
            pl.col("time").first().alias("first_time"),
            pl.col("time").last().alias("last_time"),
            pl.col("_row").last().cast(pl.Int64).alias("last"),
        )
        .with_columns(cs.categorical().cast(pl.String))
    )


def gather(parts: Iterable[tuple[str, pl.DataFrame]]) -> pl.DataFrame:
    """Gather records that come in parts into series; of millions, little more than the values is held.

    :param parts: side and records of each part, as :func:`aggregated` returns them, with the columns
        :data:`COMPARED`; parts need not be in the order of time.
    :returns: a row a side and series, in the order of the first of each: :data:`MACHINE`, :data:`METRIC`,
        :data:`OF_LATEST`; ``values``, a list, ``n``, how many they are, and ``least``; and of unit, better,
        program, program_version, evidence and image_digest the sorted list of all that it has.
    """
    found = []
    for number, (side, part) in enumerate(parts):
        own = part.select(
            pl.lit(side).alias("side"),
            *_KIND,
            "values",
            "n",
            "first_time",
            "last_time",
            "last",
        )
        found.append(own.with_columns(cs.string().cast(pl.Categorical), part=number))
    rows = pl.concat(found).with_row_index("row")
    # Ranked by the first record of each; the latest comes last.
    rows = (
        rows.sort("first_time", "row")
        .with_row_index("rank")
        .sort("last_time", "part", "last")
    )
    unknown = {
        name: {"evidence": "measured", "image_digest": "none"}.get(name, "?")
        for name in _EXPECTED_ONE
    }
    series = (
        rows.filter(pl.col("metric").is_not_null())
        .group_by("side", *MACHINE, *METRIC)
        .agg(
            pl.col("rank").min(),
            pl.col("values").sort_by("row").explode(empty_as_null=False),
            pl.col("n").sum(),
            pl.col(OF_LATEST).last(),
            pl.col(_EXPECTED_ONE).cast(pl.String).unique(),
        )
        .sort("rank")
        .with_columns(
            pl.col(name).list.eval(pl.element().fill_null(text)).list.sort()
            for name, text in unknown.items()
        )
    )
    series = series.drop("rank").with_columns(least=pl.col("values").list.min())
    return series.with_columns(cs.categorical().cast(pl.String))


def by_time(frame: pl.DataFrame) -> pl.DataFrame:
    """Return records in the order of time within each side; those of one time keep theirs.

    Sorting millions that are in order would cost seconds.
    """
    back = pl.col("time") < pl.col("time").shift()
    if "side" in frame.columns:
        back &= pl.col("side") == pl.col("side").shift()
    return (
        frame.sort("time", maintain_order=True)
        if frame.select(back.any()).item()
        else frame
    )
