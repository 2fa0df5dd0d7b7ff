# SPDX-License-Identifier: BSD-3-Clause
"""Compare sets of results, every metric of each with the same of the first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

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
from fabric_checks.records.series import MACHINE, METRIC, OF_LATEST, gather

#: The columns of :attr:`Comparison.frame`, in order. Of each side: ``where`` (as in ``local:node+mpich``),
#: ``n``, ``median`` with the ends of its interval, ``evidence``, ``program`` and ``program_version``. For the
#: others see :func:`fabric_checks.comparison.verdicts.judged`.
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
#: The fields of a case on both sides.
_CASE = ("side", "where_baseline", "where_side", "check", "test", "layout")
#: Fields in which values that are compared agree, and those in which they may differ, with their names.
_SAME = {
    "unit": "unit",
    "better": "which direction is better",
    "program": "program",
}
_NOTED = {"program_version": "program version", "image_digest": "image"}
#: The fields of each side that reasons and remarks are made from.
_SAID = ("n", "evidence", *_SAME, *_NOTED)
Row = Mapping[str, Any]
_WHERE = pl.format("{}:{}+{}", *MACHINE).alias("where")


@dataclass(frozen=True)
class Comparison:
    """The outcome of a comparison.

    :param baseline: the label of the set that the others are compared with; :param sides: theirs.
    :param frame: a row for each other set and each metric that it or the baseline has; the columns are
        :data:`COLUMNS`. A case without values has none: `fabric-checks show` tells of it.
    """

    baseline: str
    sides: tuple[str, ...]
    frame: pl.DataFrame

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
        return varying * (1 - verdicts.CONFIDENCE)

    def count(self, verdict: str) -> int:
        """Return how many rows have a verdict."""
        return int((self.frame["verdict"] == verdict).sum())


def compare(
    parts: Iterable[tuple[str, pl.DataFrame]], labels: Sequence[str]
) -> Comparison:
    """Compare sets of results with the first of them.

    :param parts: side and records of each part, as :func:`fabric_checks.records.reader.load_aggregated`
        returns them, with the columns :data:`fabric_checks.records.series.COMPARED`.
    :param labels: the sides, the baseline first.
    :raises RecordError: if a side has no values, or they do not say what belongs together.
    """
    found = gather(parts)
    for label in labels:
        if not (found["side"] == label).any():
            raise RecordError(
                f"{quoted(label)} has no values in the given range with the given fields"
            )
    rows = [_two(found, labels[0], side) for side in labels[1:]]
    pairs = verdicts.judged(pl.concat(rows, how="diagonal_relaxed"))
    out = pairs.with_columns(
        verdict=pl.coalesce("why_not", "verdict"),
        **{
            f"{name}_{side}": pl.col(f"{name}_{side}").list.join(", ")
            for name in ("evidence", "program", "program_version")
            for side in ("baseline", "side")
        },
    )
    return Comparison(labels[0], tuple(labels[1:]), out.select(COLUMNS))


def _two(series: pl.DataFrame, baseline: str, side: str) -> pl.DataFrame:
    """Return the pairs of two sides; ``why_not`` and ``why`` are the verdict and reason if they cannot be
    compared."""
    labels = {"baseline": baseline, "side": side}
    key = machine_key(series, baseline, side)
    pairs = _matched(series, labels, key)
    rows = pairs.select(f"{name}_{which}" for name in _SAID for which in labels)
    said = [
        (*_why_not(row, labels), _note(row, labels))
        for row in rows.iter_rows(named=True)
    ]
    text = dict.fromkeys(("why_not", "why", "note"), pl.String)
    pairs = pairs.hstack(pl.DataFrame(said, schema=text, orient="row"))
    return pairs.with_columns(
        baseline=pl.lit(baseline),
        side=pl.lit(side),
        comparable=pl.col("why_not").is_null(),
        by_difference=verdicts.by_difference(
            pl.col("can_be_zero"), pl.min_horizontal("least_baseline", "least_side")
        ),
        unit=pl.coalesce("unit_baseline", "unit_side").list.join(", "),
        better=pl.coalesce("better_baseline", "better_side").list.first(),
    )


def _why_not(row: Row, labels: Mapping[str, str]) -> tuple[str | None, str | None]:
    """Return verdict and reason if a pair cannot be compared.

    :param labels: of ``baseline`` and ``side``.
    """
    lacking = [
        f"missing in {label}"
        for which, label in labels.items()
        if row[f"n_{which}"] is None
    ]
    if lacking:
        return MISSING, "; ".join(lacking)
    for field, words in _SAME.items():
        if len(row[f"{field}_baseline"]) > 1 or _differ(row, field):
            return NOT_COMPARABLE, _against(row, field, words, labels)
    return None, None


def _note(row: Row, labels: Mapping[str, str]) -> str | None:
    """Return remarks on a pair that hold whatever its verdict is; None if there are none."""
    notes = []
    if None not in (row["n_baseline"], row["n_side"]):
        notes += [
            _against(row, field, words, labels)
            for field, words in _NOTED.items()
            if _differ(row, field)
        ]
    for which, label in labels.items():
        evidence = row[f"evidence_{which}"]
        if evidence not in (None, ["measured"]):
            notes.append(f"{label} is a simulation: {', '.join(evidence)}")
    return "; ".join(notes) or None


def _differ(row: Row, field: str) -> bool:
    return bool(row[f"{field}_baseline"] != row[f"{field}_side"])


def _against(row: Row, field: str, words: str, labels: Mapping[str, str]) -> str:
    texts = [
        f"{', '.join(row[f'{field}_{which}'])} in {label}"
        for which, label in labels.items()
    ]
    return f"{words}: {', '.join(texts)}"


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


def _half(
    frame: pl.DataFrame, label: str, which: str, on: Sequence[str]
) -> pl.DataFrame:
    """Return the rows of a side: what they are joined on, and all else with the name of the half appended."""
    rest = pl.exclude("side", *MACHINE, *on).name.suffix(f"_{which}")
    own = frame.with_columns(_WHERE).filter(pl.col("side") == label)
    return own.select(*on, rest)


def _matched(
    series: pl.DataFrame, labels: Mapping[str, str], key: Sequence[str]
) -> pl.DataFrame:
    """Join the series of two sides, also those that only one has.

    :param series: as :func:`fabric_checks.records.series.gather` returns them; :param key: what
        :func:`machine_key` returns.
    :returns: a row a metric: :data:`~fabric_checks.records.series.METRIC`,
        :data:`~fabric_checks.records.series.OF_LATEST` of the baseline or else of the side, and of each
        ``where`` (as in ``local:node+mpich``), ``values``, ``n``, ``least`` and the other lists, with
        ``_baseline`` or ``_side`` appended to the name.
    """
    on = (*key, *METRIC)
    one, two = (_half(series, label, which, on) for which, label in labels.items())
    pairs = one.join(
        two,
        on=on,
        how="full",
        coalesce=True,
        nulls_equal=True,
        maintain_order="left_right",
    )
    halves = {name: [f"{name}_{which}" for which in labels] for name in OF_LATEST}
    kept = {name: pl.coalesce(own) for name, own in halves.items()}
    return pairs.with_columns(**kept).drop(*halves.values())


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


def worst(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the worst metric of each quantity that is better or worse, and of all others of a case.

    :param frame: as :func:`select` returns it; the order is kept.
    :returns: its columns, and ``values``, how many metrics a row stands for.
    """
    differs = pl.col("verdict").is_in([WORSE, BETTER])
    key = [*_CASE, "verdict", "why", "note", "which"]
    return (
        frame.with_columns(which=pl.when(differs).then(pl.col("quantity")))
        .group_by(key, maintain_order=True)
        .agg(pl.len().alias("values"), pl.all().first())
    )
