# SPDX-License-Identifier: BSD-3-Clause
"""Compare sets of results, every metric of each with the same of the first, and aggregate values that
agree."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import polars as pl
import polars.selectors as cs

from fabric_checks.comparison import verdicts
from fabric_checks.comparison.verdicts import (
    BETTER,
    MISSING,
    NOT_COMPARABLE,
    VERDICTS,
    WORSE,
)
from fabric_checks.core.errors import RecordError, quoted
from fabric_checks.core.text import names_text
from fabric_checks.records.series import CASE, MACHINE, METRIC, OF_LATEST, gather

#: The columns of :attr:`Comparison.frame`, in order. Of each side: ``where`` (as in ``local:node+mpich``),
#: ``n``, ``median`` with the ends of its interval, ``evidence``, ``program`` and ``program_version``,
#: ``failed``, the runs of its case without a value. For the others see
#: :func:`fabric_checks.comparison.verdicts.judged`.
COLUMNS = (
    *(
        "baseline",
        "side",
        "check",
        "test",
        "parameters",
        "layout",
        "metric",
        "quantity",
        "size_B",
        "unit",
        "better",
    ),
    *(
        f"{name}_{side}"
        for side in ("baseline", "side")
        for name in (
            "where",
            "n",
            "median",
            "low",
            "high",
            "evidence",
            "program",
            "program_version",
            "failed",
        )
    ),
    *(
        "by_difference",
        "change",
        "change_low",
        "change_high",
        "at_least",
        "detectable",
        "bootstrapped",
    ),
    *("verdict", "why", "note"),
)
#: The fields that rows share which :func:`aggregate` combines.
_CASE = ("side", "where_baseline", "where_side", "check", "test", "layout")
#: Fields by which values are of one program, and their names; :func:`compare` may ignore them.
_PROGRAM = (("program", "program"), ("program_version", "program version"))
_WHERE = pl.format("{}:{}+{}", *MACHINE).alias("where")


@dataclass(frozen=True)
class Comparison:
    """The outcome of a comparison.

    :param baseline: the label of the set that the others are compared with; :param sides: theirs.
    :param frame: a row for each other set and each metric that it or the baseline has; the columns are
        :data:`COLUMNS`. A case that failed in both has a row without a metric.
    :param confidence: of the intervals, such as 0.95.
    :param repeatable: the share that few runs were judged by, or None.
    """

    baseline: str
    sides: tuple[str, ...]
    frame: pl.DataFrame
    confidence: float
    repeatable: float | None = None

    @property
    def bootstrapped(self) -> int:
        """Return how many pairs were judged by an interval from the bootstrap."""
        return int(self.frame["bootstrapped"].sum())

    @property
    def by_chance(self) -> float:
        """Return how many of these would differ by chance if nothing did."""
        varying = self.frame.filter(
            pl.col("bootstrapped") & (pl.col("detectable") > 0)
        ).height
        return varying * (1 - self.confidence)

    def count(self, verdict: str) -> int:
        """Return how many rows have a verdict."""
        return int((self.frame["verdict"] == verdict).sum())


def compare(
    parts: Iterable[tuple[str, pl.DataFrame]],
    labels: Sequence[str],
    *,
    confidence: float = 0.95,
    repeatable: float | None = None,
    across_versions: bool = False,
) -> Comparison:
    """Compare sets of results with the first of them.

    :param parts: side and records of each part, as :func:`fabric_checks.records.reader.load_aggregated`
        returns them, with the columns :data:`fabric_checks.records.series.COMPARED`.
    :param labels: the sides, the baseline first.
    :param repeatable: the share to which values are known to repeat, such as 0.05; then pairs of fewer than
        :data:`~fabric_checks.comparison.verdicts.MIN_RUNS` runs are judged by that.
    :param across_versions: compare values of different programs, or releases of one, and note it.
    :raises RecordError: if a side has no records, or do not say what belongs together.
    """
    found = gather(parts)
    for label in labels:
        if not (found.machines["side"] == label).any():
            raise RecordError(
                f"{quoted(label)} has no records in the given range with the given fields"
            )
    rows = [
        _two(
            found.series,
            found.failed,
            machine_key(found.machines, labels[0], side),
            baseline=labels[0],
            side=side,
            across_versions=across_versions,
        )
        for side in labels[1:]
    ]
    pairs = verdicts.judged(
        pl.concat(rows, how="diagonal_relaxed"), confidence, repeatable
    )
    out = pairs.with_columns(
        verdict=pl.coalesce("why_not", "verdict"),
        **{
            f"{name}_{side}": pl.col(f"{name}_{side}").list.join(", ")
            for name in ("evidence", "program", "program_version")
            for side in ("baseline", "side")
        },
    )
    return Comparison(
        labels[0], tuple(labels[1:]), out.select(COLUMNS), confidence, repeatable
    )


def _two(
    series: pl.DataFrame,
    failed: pl.DataFrame,
    key: Sequence[str],
    *,
    baseline: str,
    side: str,
    across_versions: bool,
) -> pl.DataFrame:
    """Return the pairs of two sides; ``why_not`` and ``why`` are the verdict and reason if they cannot be
    compared."""
    pairs = _matched(series, baseline, side, key)
    pairs = _with_failures(pairs, failed, key, baseline, side)
    kinds, texts = pl.lit(None, pl.String()), pl.lit(None, pl.String())
    for when, kind, text in reversed(_incomparable(baseline, side, across_versions)):
        kinds = pl.when(when).then(pl.lit(kind)).otherwise(kinds)
        texts = pl.when(when).then(text).otherwise(texts)
    return pairs.with_columns(
        baseline=pl.lit(baseline),
        side=pl.lit(side),
        why_not=kinds,
        why=texts,
        note=_notes(baseline, side),
        comparable=kinds.is_null(),
        by_difference=verdicts.by_difference(
            pl.col("can_be_zero"), pl.min_horizontal("least_baseline", "least_side")
        ),
        unit=pl.coalesce("unit_baseline", "unit_side").list.join(", "),
        better=pl.coalesce("better_baseline", "better_side").list.first(),
    )


def _incomparable(
    baseline: str, side: str, across_versions: bool
) -> list[tuple[pl.Expr, str, pl.Expr]]:
    """Return what makes a pair incomparable: condition, verdict and reason; the first that holds counts.

    :param baseline, side: the labels of the sides.
    :param across_versions: whether programs and their releases may differ.
    """
    sides = ((baseline, "baseline"), (side, "side"))
    lacking = [pl.col(f"n_{name}").is_null() for _, name in sides]
    causes = [
        pl.when(pl.col(f"failed_{name}").is_null())
        .then(pl.lit(f"missing in {label}"))
        .otherwise(
            pl.concat_str(
                pl.lit(f"its case failed in {label}: "),
                pl.col(f"fail_reason_{name}").fill_null("the reason is not recorded"),
            )
        )
        for label, name in sides
    ]
    why = [
        pl.when(lacks).then(cause) for lacks, cause in zip(lacking, causes, strict=True)
    ]
    found = [
        (
            pl.any_horizontal(lacking),
            MISSING,
            pl.concat_str(why, separator="; ", ignore_nulls=True),
        )
    ]
    fields = [("unit", "unit"), ("better", "which direction is better")]
    if not across_versions:
        fields += _PROGRAM
    for field, words in fields:
        lists = [pl.col(f"{field}_{name}") for _, name in sides]
        differ = lists[0] != lists[1]
        if field in ("unit", "better"):
            differ |= lists[0].list.len() > 1
        found.append((differ, NOT_COMPARABLE, _against(words, field, baseline, side)))
    return found


def _notes(baseline: str, side: str) -> pl.Expr:
    """Return remarks on a pair that hold whatever its verdict is; null if there are none."""
    notes = []
    both = pl.col("n_baseline").is_not_null() & pl.col("n_side").is_not_null()
    for field, words in (*_PROGRAM, ("image_digest", "image")):
        differ = pl.col(f"{field}_baseline") != pl.col(f"{field}_side")
        notes.append(
            pl.when((both & differ).fill_null(False)).then(
                _against(words, field, baseline, side)
            )
        )
    for label, name in ((baseline, "baseline"), (side, "side")):
        evidence, failed = pl.col(f"evidence_{name}"), pl.col(f"failed_{name}")
        text = pl.concat_str(
            pl.lit(f"{label} is a simulation: "), evidence.list.join(", ")
        )
        notes.append(pl.when((evidence != ["measured"]).fill_null(False)).then(text))
        runs = pl.when(failed == 1).then(pl.lit(" run")).otherwise(pl.lit(" runs"))
        text = pl.concat_str(failed, runs, pl.lit(f" without values in {label}"))
        notes.append(
            pl.when(pl.col(f"n_{name}").is_not_null() & failed.is_not_null()).then(text)
        )
    text = pl.concat_str(notes, separator="; ", ignore_nulls=True)
    return pl.when(text != "").then(text)


def _against(words: str, field: str, baseline: str, side: str) -> pl.Expr:
    one, two = (
        pl.col(f"{field}_{name}").list.join(", ") for name in ("baseline", "side")
    )
    return pl.concat_str(
        pl.lit(f"{words}: "),
        one,
        pl.lit(f" in {baseline}, "),
        two,
        pl.lit(f" in {side}"),
    )


def machine_key(frame: pl.DataFrame, baseline: str, side: str) -> tuple[str, ...]:
    """Return the fields of :data:`MACHINE` in which series of two sides have to agree.

    Those of which the sides share a value. If each side has one value of a field, and not the same, that is
    what is compared, two systems for instance.

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
                f"{quoted(baseline)} and {quoted(side)} share no {name} ({_some(one)} against {_some(two)}),"
                f" so it is ambiguous which belong together: narrow {quoted(which)} to one, as in"
                f" PATH,{name}={quoted(example)[1:-1]}"
            )
    return tuple(key)


def _some(values: set[str]) -> str:
    return names_text(sorted(quoted(str(value), 30)[1:-1] for value in values), 4)


def _matched(
    series: pl.DataFrame, baseline: str, side: str, key: Sequence[str]
) -> pl.DataFrame:
    """Join the series of two sides, also those that only one has.

    :param series: as :class:`fabric_checks.records.series.Gathered` has them; :param key: what
        :func:`machine_key` returns.
    :returns: a row a metric: :data:`~fabric_checks.records.series.METRIC`,
        :data:`~fabric_checks.records.series.OF_LATEST` of the baseline or else of the side, and of each
            ``where`` (as
        in ``local:node+mpich``), ``values``, ``n``, ``least`` and the other lists, with ``_baseline`` or
        ``_side`` appended to the name.
    """
    halves = []
    on = (*key, *METRIC)
    for label, suffix in ((baseline, "_baseline"), (side, "_side")):
        half = series.with_columns(_WHERE).filter(pl.col("side") == label)
        half = half.drop("side", *(name for name in MACHINE if name not in on))
        halves.append(
            half.rename(
                {name: name + suffix for name in half.columns if name not in on}
            )
        )
    pairs = halves[0].join(
        halves[1],
        on=on,
        how="full",
        coalesce=True,
        nulls_equal=True,
        maintain_order="left_right",
    )
    return pairs.with_columns(
        pl.coalesce(f"{name}_baseline", f"{name}_side").alias(name)
        for name in OF_LATEST
    ).drop(f"{name}_{side}" for name in OF_LATEST for side in ("baseline", "side"))


def _with_failures(
    pairs: pl.DataFrame,
    failed: pl.DataFrame,
    key: Sequence[str],
    baseline: str,
    side: str,
) -> pl.DataFrame:
    """Add of each side how many runs of the case ``failed`` without a value, and the ``fail_reason`` of the
    last.

    A case that has values on no side gets a row without a metric.

    :param pairs: what :func:`_matched` returns; :param failed: of
        :class:`~fabric_checks.records.series.Gathered`.
    """
    on = [*key, *CASE]
    halves = []
    for label, suffix in ((baseline, "_baseline"), (side, "_side")):
        half = failed.with_columns(_WHERE).filter(pl.col("side") == label)
        halves.append(
            half.select(
                *on,
                pl.col("where", "parameters", "failed", "fail_reason").name.suffix(
                    suffix
                ),
            )
        )
    for half in halves:
        pairs = pairs.join(
            half.drop(cs.starts_with("where", "parameters")),
            on=on,
            how="left",
            nulls_equal=True,
        )
    both = halves[0].join(halves[1], on=on, how="full", coalesce=True, nulls_equal=True)
    own = [f"parameters_{name}" for name in ("baseline", "side")]
    both = both.with_columns(pl.coalesce(own).alias("parameters")).drop(own)
    alone = both.join(pairs, on=on, how="anti", nulls_equal=True)
    return pl.concat([pairs, alone], how="diagonal_relaxed") if alone.height else pairs


def select(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of :attr:`Comparison.frame`, the worst first."""
    rank = pl.col("verdict").replace_strict(
        dict(zip(VERDICTS, range(len(VERDICTS)), strict=True)), return_dtype=pl.Int8
    )
    names = [
        pl.col(name)
        for name in ("check", "test", "layout", "quantity", "size_B", "metric")
    ]
    return frame.sort(
        [rank, -pl.col("at_least").abs(), *names], nulls_last=True, maintain_order=True
    )


def aggregate(frame: pl.DataFrame, *, every_point: bool = False) -> pl.DataFrame:
    """Return a row for all metrics of a quantity that are better or worse, and one for all others of a case.

    :param frame: as :func:`select` returns it; the order of the first rows is kept.
    :param every_point: whether each metric has a row of its own, in the same form.
    :returns: the columns of a case and its ``parameters``; ``verdict``, ``why`` and ``note``; ``unit`` and
        ``quantity``, null if there are several; ``values``, how many; lists of ``metrics`` and of
        ``sizes_B``; ``change_unit``, null for per cent; ``simulated``, whether values of a simulation are
        among them; and of the columns of numbers the least and the greatest, with ``_min`` and ``_max``
        appended to the name.
    """
    differs = pl.col("verdict").is_in([WORSE, BETTER])
    which = (
        pl.int_range(pl.len())
        if every_point
        else pl.when(differs).then(pl.col("quantity"))
    )
    measure = (
        pl.when(pl.col("by_difference") & pl.col("change").is_not_null())
        .then(pl.col("unit"))
        .alias("change_unit")
    )
    key = [*_CASE, "verdict", "why", "note", "which", "change_unit"]
    numbers: tuple[str, ...] = ("change", "change_low", "change_high", "detectable")
    numbers += tuple(
        f"{name}_{side}"
        for name in ("n", "median", "low", "high")
        for side in ("baseline", "side")
    )
    one_unit = pl.col("unit").n_unique() == 1
    return (
        frame.with_columns(measure, which=which)
        .group_by(key, maintain_order=True)
        .agg(
            pl.len().alias("values"),
            pl.col("parameters").first(),
            pl.col("metric").alias("metrics"),
            pl.when(pl.col("quantity").n_unique() == 1)
            .then(pl.col("quantity").first())
            .alias("quantity"),
            pl.when(one_unit).then(pl.col("unit").first()).alias("unit"),
            pl.col("size_B").drop_nulls().unique().sort().alias("sizes_B"),
            pl.any_horizontal(
                pl.col("evidence_baseline", "evidence_side") != "measured"
            )
            .any()
            .alias("simulated"),
            *(pl.col(name).min().alias(f"{name}_min") for name in numbers),
            *(pl.col(name).max().alias(f"{name}_max") for name in numbers),
        )
    )
