# SPDX-License-Identifier: BSD-3-Clause
"""Compare sets of results: every metric of each with the same of the first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import polars as pl

from fabric_checks.comparison import gathering, obstacles, pairing, verdicts
from fabric_checks.core.errors import RecordError, quoted

#: The columns of :attr:`Comparison.frame`, in order. Of each side: ``where`` (as in ``local:node+mpich``), ``n``,
#: ``median`` with the ends of its interval, ``evidence``, ``program`` and ``program_version``, ``failed``, the runs of
#: its case without a value. For the others see :func:`fabric_checks.comparison.verdicts.judged`.
COLUMNS = (
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
    *(
        f"{name}_{side}"
        for side in ("baseline", "side")
        for name in ("where", "n", "median", "low", "high", "evidence", "program", "program_version", "failed")
    ),
    "by_difference",
    "change",
    "change_low",
    "change_high",
    "at_least",
    "detectable",
    "bootstrapped",
    "verdict",
    "why",
    "note",
)


@dataclass(frozen=True)
class Comparison:
    """What came of a comparison.

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
        """How many pairs were judged by an interval from the bootstrap."""
        return int(self.frame["bootstrapped"].sum())

    @property
    def by_chance(self) -> float:
        """How many of these would differ by chance if nothing did."""
        varying = self.frame.filter(pl.col("bootstrapped") & (pl.col("detectable") > 0)).height
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

    :param parts: side and records of each part, as :func:`fabric_checks.records.reading.load_folded` gives them, with
        the columns :data:`fabric_checks.comparison.gathering.FIELDS`.
    :param labels: the sides, the baseline first.
    :param repeatable: the share to which values are known to repeat, such as 0.05; then pairs of fewer than
        :data:`~fabric_checks.comparison.verdicts.MIN_RUNS` runs are judged by that.
    :param across_versions: compare values of different programs, or releases of one, and note it.
    :raises RecordError: if a side has no records, or do not say what belongs together.
    """
    found = gathering.gathered(parts)
    for label in labels:
        if not (found.machines["side"] == label).any():
            raise RecordError(f"{quoted(label)} has no records in the given range with the given fields")
    rows = [
        _two(
            found.series,
            found.failed,
            pairing.machine_key(found.machines, labels[0], side),
            baseline=labels[0],
            side=side,
            across_versions=across_versions,
        )
        for side in labels[1:]
    ]
    pairs = verdicts.judged(pl.concat(rows, how="diagonal_relaxed"), found.values, confidence, repeatable)
    out = pairs.with_columns(
        verdict=pl.coalesce("why_not", "verdict"),
        **{
            f"{name}_{side}": pl.col(f"{name}_{side}").list.join(", ")
            for name in ("evidence", "program", "program_version")
            for side in ("baseline", "side")
        },
    )
    return Comparison(labels[0], tuple(labels[1:]), out.select(COLUMNS), confidence, repeatable)


def _two(
    series: pl.DataFrame,
    failed: pl.DataFrame,
    key: Sequence[str],
    *,
    baseline: str,
    side: str,
    across_versions: bool,
) -> pl.DataFrame:
    """Return the pairs of two sides, with what keeps them from being compared, in ``why_not`` and ``why``."""
    pairs = pairing.paired(series, baseline, side, key)
    pairs = pairing.with_failures(pairs, failed, key, baseline, side)
    pairs = pairing.with_layouts(pairs, key)
    kinds, texts = pl.lit(None, pl.String()), pl.lit(None, pl.String())
    for when, kind, text in reversed(obstacles.found(baseline, side, across_versions)):
        kinds = pl.when(when).then(pl.lit(kind)).otherwise(kinds)
        texts = pl.when(when).then(text).otherwise(texts)
    return pairs.with_columns(
        baseline=pl.lit(baseline),
        side=pl.lit(side),
        why_not=kinds,
        why=texts,
        note=obstacles.notes(baseline, side),
        comparable=kinds.is_null(),
        by_difference=verdicts.by_difference(pl.col("can_be_zero"), pl.min_horizontal("least_baseline", "least_side")),
        unit=pl.coalesce("unit_baseline", "unit_side").list.join(", "),
        better=pl.coalesce("better_baseline", "better_side").list.first(),
    )
