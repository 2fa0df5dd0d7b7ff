# SPDX-License-Identifier: BSD-3-Clause
"""Records of several sets gathered into series, part by part: of millions, little more than the values is held.

What no statistic of a comparison asks for is not kept: when a value was measured, but for the latest.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from fabric_checks.comparison.verdicts import Floats, Values
from fabric_checks.records.schema import SERIES

#: What says on what a value was taken. Two sets may differ in these and still be compared.
MACHINE = ("system", "partition", "environ")

#: What a metric is. Series of two sets that agree in these are compared; their units are then looked at.
METRIC = tuple(name for name in SERIES if name not in (*MACHINE, "unit"))

#: What a case is; it has many metrics.
CASE = ("check", "test", "layout")

#: What each series has of its latest record.
LATEST = ("parameters", "quantity", "size_B", "can_be_zero")

#: What a series is expected to have one of; a list of all that it has, sorted.
_ATTRIBUTES = ("unit", "better", "program", "program_version", "evidence")

#: Records that agree in these are of one kind.
_KIND = tuple(dict.fromkeys((*SERIES, *LATEST, *_ATTRIBUTES, "fail_reason")))

#: The columns of records that a comparison needs.
FIELDS = (*_KIND, "time", "value")

_HASHES = ("_hash1", "_hash2")

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Gathered:
    """What there is to compare.

    :param series: a row a side and series, in the order of the first of each: :data:`MACHINE`, :data:`METRIC` and
        :data:`LATEST`; ``row``, the number of its values in ``values``, ``n``, how many they are, and ``least``; and of
        the units, programs, ... the list of all that it has.
    :param values: of all series.
    :param failed: a row a side and case without values: how many of its runs ``failed`` so, and ``parameters`` and
        ``fail_reason`` of the last one.
    :param machines: the values of :data:`MACHINE` that each side has.
    """

    series: pl.DataFrame
    values: Values
    failed: pl.DataFrame
    machines: pl.DataFrame


def gathered(parts: Iterable[tuple[str, pl.DataFrame]]) -> Gathered:
    """Gather records.

    :param parts: side and records of each part, as :func:`fabric_checks.records.series.folded` gives them, with the
        columns :data:`FIELDS`; the order of time is that of the parts, but where times say otherwise.
    """
    # A kind is known by two numbers of 64 bits. A kind of a part is a sighting.
    kinds = pl.DataFrame(schema=dict.fromkeys(_HASHES, pl.UInt64()))
    seen: list[pl.DataFrame] = []
    values: list[Floats] = []
    for side, part in parts:
        own = part.select(pl.lit(side).alias("side"), *_KIND)
        own = own.with_columns(own.hash_rows(seed=seed).alias(name) for seed, name in enumerate(_HASHES, 1))
        new = own.join(kinds, on=_HASHES, how="anti", maintain_order="left")
        kinds = pl.concat([kinds, new], how="diagonal")
        numbers = own.select(_HASHES).join(
            kinds.select(_HASHES).with_row_index("kind"), on=_HASHES, how="left", maintain_order="left"
        )
        measured = pl.col("metric").is_not_null()
        values.append(part.filter(measured)["values"].explode(empty_as_null=False).to_numpy())
        place = len(seen) * 2**32
        seen.append(
            part.select(
                numbers["kind"],
                "n",
                "first_time",
                "last_time",
                pl.int_range(place, place + part.height).alias("first"),
                pl.col("last") + place,
                pl.when(measured).then("n").otherwise(0).alias("values"),
            )
        )
    sightings = pl.concat(seen)
    kinds = _seen(kinds.drop(_HASHES), sightings)
    series = _series(kinds.filter(pl.col("values") > 0))
    row_of = np.full(kinds.height, -1)
    row_of[series["kinds"].explode(empty_as_null=False).to_numpy()] = np.repeat(
        np.arange(series.height), series["kinds"].list.len()
    )
    table = _table(
        row_of[sightings["kind"].to_numpy()],
        sightings["values"].to_numpy(),
        [part.height for part in seen],
        values,
        series.height,
    )
    least = np.minimum.reduceat(table.flat, table.starts) if series.height else np.empty(0)
    series = series.drop("kinds").with_columns(pl.Series("n", table.n), pl.Series("least", least)).with_row_index("row")
    machines = kinds.sort("rank").select("side", *MACHINE).unique(maintain_order=True)
    return Gathered(series, table, _failed(kinds.filter(pl.col("metric").is_null())), machines)


def _failed(kinds: pl.DataFrame) -> pl.DataFrame:
    return (
        kinds.group_by("side", *MACHINE, *CASE)
        .agg(pl.col("n").sum().alias("failed"), pl.col("parameters", "fail_reason").last(), pl.col("rank").min())
        .sort("rank")
        .drop("rank")
    )


def _seen(kinds: pl.DataFrame, sightings: pl.DataFrame) -> pl.DataFrame:
    """Add how many records (``n``) and ``values`` each kind has, and its ``rank`` by its first; the latest is last."""
    first = sightings.sort("first_time", "first").group_by("kind", maintain_order=True)
    ranked = first.agg(pl.col("n", "values").sum()).with_row_index("rank")
    latest = sightings.sort("last_time", "last").select("kind").unique(keep="last", maintain_order=True)
    return latest.join(kinds.with_row_index("kind"), on="kind", how="left", maintain_order="left").join(
        ranked, on="kind", how="left", maintain_order="left"
    )


def _series(kinds: pl.DataFrame) -> pl.DataFrame:
    """Return the series that kinds are of, with the list of their numbers."""
    unknown = {name: "measured" if name == "evidence" else "?" for name in _ATTRIBUTES}
    return (
        kinds.group_by("side", *MACHINE, *METRIC)
        .agg(
            pl.col("kind").alias("kinds"),
            pl.col("rank").min(),
            *(pl.col(name).last() for name in LATEST),
            *(pl.col(name).unique() for name in _ATTRIBUTES),
        )
        .sort("rank")
        .drop("rank")
        .with_columns(
            pl.col(name).list.eval(pl.element().fill_null(text)).list.sort() for name, text in unknown.items()
        )
    )


def _table(rows: Integers, counts: Integers, heights: Sequence[int], parts: list[Floats], series: int) -> Values:
    """Put the values of each series together.

    :param rows: the series of each sighting; :param counts: how many values it has; :param heights: how many sightings
        each part has; :param parts: the values of each, which are dropped one by one: both at once are too much.
    """
    n = np.bincount(rows[counts > 0], counts[counts > 0], minlength=series).astype(np.int64)
    order = np.argsort(rows, kind="stable")
    places = np.empty(len(rows), np.int64)
    places[order] = np.cumsum(counts[order]) - counts[order]
    flat = np.empty(int(counts.sum()))
    begin = 0
    for height in heights:
        own, of = parts.pop(0), slice(begin, begin + height)
        begin += height
        starts = np.cumsum(counts[of]) - counts[of]
        flat[np.repeat(places[of] - starts, counts[of]) + np.arange(len(own))] = own
    return Values(flat, np.cumsum(n) - n, n)
