# SPDX-License-Identifier: BSD-3-Clause
"""Which series of one set of results is compared with which of another."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
import polars.selectors as cs

from fabric_checks.comparison.gathering import CASE, LATEST, MACHINE, METRIC
from fabric_checks.core.errors import RecordError, quoted

_WHERE = pl.format("{}:{}+{}", *MACHINE).alias("where")


def machine_key(frame: pl.DataFrame, baseline: str, side: str) -> tuple[str, ...]:
    """Return the fields of :data:`MACHINE` in which series of two sides have to agree.

    Those of which the sides share a value. A field in which each side has one value and not the same is what is
    compared, two systems for instance.

    :raises RecordError: if records do not say which values belong together.
    """
    sides = [frame.filter(pl.col("side") == label) for label in (baseline, side)]
    key = []
    for name in MACHINE:
        one, two = (set(each[name].unique().to_list()) for each in sides)
        if one & two:
            key.append(name)
        elif len(one) > 1 or len(two) > 1:
            which, values = (baseline, one) if len(one) > 1 else (side, two)
            example = min(str(value) for value in values)
            raise RecordError(
                f"{quoted(baseline)} and {quoted(side)} share no {name} ({_some(one)} against {_some(two)}), so it is "
                f"ambiguous which belong together: narrow {quoted(which)} to one, as in "
                f"PATH,{name}={quoted(example)[1:-1]}"
            )
    return tuple(key)


def _some(values: set[str]) -> str:
    shown = sorted(quoted(str(value), 30)[1:-1] for value in values)
    return ", ".join(shown[:4]) + (f" and {len(shown) - 4} more" if len(shown) > 4 else "")


def paired(series: pl.DataFrame, baseline: str, side: str, key: Sequence[str]) -> pl.DataFrame:
    """Join the series of two sides, also those that only one has.

    :param series: as :class:`fabric_checks.comparison.gathering.Gathered` has them; :param key: what
        :func:`machine_key` returns.
    :returns: a row a metric: ``METRIC`` and ``LATEST``, and of each side ``where`` (as in ``local:node+mpich``),
        ``row``, ``n``, ``least`` and the lists, with ``_baseline`` or ``_side`` appended to the name.
    """
    halves = []
    on = (*key, *METRIC)
    for label, suffix in ((baseline, "_baseline"), (side, "_side")):
        half = series.with_columns(_WHERE).filter(pl.col("side") == label)
        half = half.drop("side", *(name for name in MACHINE if name not in on))
        halves.append(half.rename({name: name + suffix for name in half.columns if name not in on}))
    pairs = halves[0].join(halves[1], on=on, how="full", coalesce=True, nulls_equal=True, maintain_order="left_right")
    return pairs.with_columns(pl.coalesce(f"{name}_baseline", f"{name}_side").alias(name) for name in LATEST).drop(
        f"{name}_{side}" for name in LATEST for side in ("baseline", "side")
    )


def with_failures(
    pairs: pl.DataFrame, failed: pl.DataFrame, key: Sequence[str], baseline: str, side: str
) -> pl.DataFrame:
    """Add of each side how many runs of the case ``failed`` without a value, and the ``fail_reason`` of the last.

    A case that has values on no side gets a row without a metric.

    :param pairs: what :func:`paired` returns; :param failed: those of the gathered records.
    """
    on = [*key, *CASE]
    halves = []
    for label, suffix in ((baseline, "_baseline"), (side, "_side")):
        half = failed.with_columns(_WHERE).filter(pl.col("side") == label)
        halves.append(half.select(*on, pl.col("where", "parameters", "failed", "fail_reason").name.suffix(suffix)))
    for half in halves:
        pairs = pairs.join(half.drop(cs.starts_with("where", "parameters")), on=on, how="left", nulls_equal=True)
    both = halves[0].join(halves[1], on=on, how="full", coalesce=True, nulls_equal=True)
    own = [f"parameters_{name}" for name in ("baseline", "side")]
    both = both.with_columns(pl.coalesce(own).alias("parameters")).drop(own)
    alone = both.join(pairs, on=on, how="anti", nulls_equal=True)
    return pl.concat([pairs, alone], how="diagonal_relaxed") if alone.height else pairs


def with_layouts(pairs: pl.DataFrame, key: Sequence[str]) -> pl.DataFrame:
    """Add of each side the ``layouts`` at which it has values of the test, whatever its layout is in this row."""
    on = [*key, "check", "parameters"]
    layouts = pairs.group_by(on).agg(
        pl.col("layout").filter(pl.col(f"n_{side}").is_not_null()).unique().sort().alias(f"layouts_{side}")
        for side in ("baseline", "side")
    )
    return pairs.join(layouts, on=on, how="left", nulls_equal=True)
