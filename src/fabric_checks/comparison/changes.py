# SPDX-License-Identifier: BSD-3-Clause
"""Find changes of series over time: when, by how much, how certain, and what else changed then."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from fabric_checks.analysis.statistics import bootstrap, change_points
from fabric_checks.comparison.verdicts import by_difference
from fabric_checks.records.record import SERIES, machine_name
from fabric_checks.records.series import series

Row = Mapping[str, Any]

#: It is worse since, and still is.
OPEN = "open"
#: It was worse, and went back to the level before or a better one, as far as noise lets tell.
CLOSED = "closed"
#: It is better since.
BETTER = "better"

STATES = (OPEN, BETTER, CLOSED)

#: The fields of records that may explain a change, in the order in which they are listed.
CIRCUMSTANCES = (
    *("mpi", "compiler", "program", "program_version", "stack", "spec_hash", "spack", "binding", "collection"),
    *("reframe", "reference", "nodelist", "placement"),
)
#: The columns of records that a search needs.
FIELDS = (
    *(*SERIES, "parameters", "time", "quantity", "size_B", "value", "better", "can_be_zero", "evidence"),
    *CIRCUMSTANCES,
)

#: Share of stable series with noise in which a change is found: of fewer runs than 100, and of more. Measured by
#: tests/analysis/statistics/test_change_points.py with normal noise; with a long tail there are more.
FALSE_ALARMS = (0.025, 0.008)
#: So many runs on each side are compared: further away, too much else has changed.
_WINDOW = 5
#: Noise moves the position of a change by as many runs; then at least so many are compared on each side.
_OFFSETS = (0, -1, 1, -2, 2)
_FEWEST = 2


@dataclass(frozen=True)
class Circumstance:
    """A field of the records that is not the same on both sides of a change.

    :param field: such as ``mpi``; ``nodes`` for nodes that all runs of one side used and none of the other.
    :param before: its values in the last runs before, in order of appearance; :param after: in the first ones after.
    :param runs_later: by how many runs it changed later than the value, or earlier if negative: noise moves where the
        change of a value is seen.
    """

    field: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    runs_later: int = 0


@dataclass(frozen=True)
class Change:
    """A change of the level of one series.

    :param system: with :param partition, environ, check, test, layout, metric, unit: which series.
    :param parameters, quantity, size_B, better, evidence: as in its latest record, the parameters as JSON text.
    :param at: time of the first run after the change; :param last_before: of the last run before.
    :param run: which run of the series that is, counted from 0; :param runs: how many the series has.
    :param n_before: how many runs the level before held; :param n_after: the level after.
    :param median_before: in ``unit``; :param median_after: in ``unit``.
    :param by_difference: whether ``change`` is in ``unit``, because the value can be 0, or else in per cent.
    :param change: from before to after; :param change_low, change_high: the ends of its interval from the bootstrap.
    :param at_least: by how much it is worse for certain, see :func:`fabric_checks.comparison.verdicts.judged`.
    :param p: of a Mann-Whitney U test of the two levels. It does not count that the place was looked for.
    :param noise: of one run, a share, or of values compared by difference in ``unit``; 0 if they repeat exactly.
    :param state: one of :data:`STATES`.
    :param circumstances: what else changed then.
    """

    system: str
    partition: str
    environ: str
    check: str
    test: str
    layout: str
    metric: str
    unit: str
    parameters: str | None
    quantity: str
    size_B: int | None
    better: str
    evidence: str | None
    at: datetime
    last_before: datetime
    run: int
    runs: int
    n_before: int
    n_after: int
    median_before: float
    median_after: float
    by_difference: bool
    change: float
    change_low: float
    change_high: float
    at_least: float
    p: float
    noise: float
    state: str
    circumstances: tuple[Circumstance, ...] = ()

    @property
    def machine(self) -> str:
        """Return where it was measured, as in ``local:node+mpich``."""
        return machine_name(vars(self))


@dataclass(frozen=True)
class Changes:
    """The outcome of a search.

    :param changes: in the order of their time.
    :param series: how many series were searched; :param too_short: how many have fewer runs than can be.
    :param by_chance: how many series about would show a change by chance if none had one.
    """

    changes: tuple[Change, ...]
    series: int
    too_short: int
    by_chance: float


def find_changes(
    frame: pl.DataFrame,
    *,
    since: datetime | None = None,
    confidence: float = 0.95,
    progress: Callable[[int, int], None] | None = None,
) -> Changes:
    """Find the changes of every series.

    :param frame: records with the columns :data:`FIELDS`; those of several sides are taken together.
    :param since: only changes whose first run is not before; all runs are looked at in any case.
    :param confidence: of the intervals of sizes, such as 0.95.
    :param progress: is called with how many of how many series have been searched.
    """
    measured = frame.drop("side", strict=False).filter(pl.col("value").is_finite() & pl.col("metric").is_not_null())
    measured = measured.sort("time", maintain_order=True)
    gathered = series(measured, SERIES).with_columns(
        by_difference=by_difference(pl.col("can_be_zero"), pl.col("values").list.min())
    )
    long_enough = gathered.filter(pl.col("n") >= change_points.MIN_RUNS)
    splits: list[tuple[Row, change_points.Split]] = []
    by_chance = 0.0
    for number, row in enumerate(long_enough.iter_rows(named=True), 1):
        split = change_points.split(row["values"], in_shares=not row["by_difference"])
        if split.noise > 0:
            by_chance += FALSE_ALARMS[row["n"] >= 100]
        if split.starts:
            splits.append((row, split))
        if progress is not None:
            progress(number, long_enough.height)
    columns = _columns_of(measured, [row for row, _ in splits])
    changes = [
        change
        for row, split in splits
        for change in _changes_of(row, split, columns[_key(row)], confidence)
        if since is None or change.at >= since
    ]
    changes.sort(key=lambda change: (change.at, change.machine, change.test, change.metric))
    return Changes(tuple(changes), long_enough.height, gathered.height - long_enough.height, by_chance)


def _key(row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in SERIES)


def _columns_of(measured: pl.DataFrame, rows: list[Row]) -> dict[tuple[Any, ...], Row]:
    """Return the circumstances of the records of some series, by series: lists in the order of time."""
    if not rows:
        return {}
    wanted = pl.DataFrame(rows, schema=dict.fromkeys(SERIES, pl.String))
    records = measured.with_columns(pl.col(SERIES).cast(pl.String))
    records = records.join(wanted, on=list(SERIES), how="semi", nulls_equal=True)
    names = [name for name in CIRCUMSTANCES if name in records.columns]
    return {_key(row): row for row in series(records, SERIES, each=names, latest=()).iter_rows(named=True)}


def _changes_of(row: Row, split: change_points.Split, columns: Row, confidence: float) -> list[Change]:
    if not split.starts:
        return []
    from scipy.stats import mannwhitneyu  # noqa: PLC0415  (slow to import, and needed where there is a change)

    edges = [0, *split.starts, row["n"]]
    segments = [np.asarray(row["values"][start:end], dtype=np.float64) for start, end in pairwise(edges)]
    out = []
    for number, middle in enumerate(split.starts):
        before, after = segments[number], segments[number + 1]
        out.append(
            Change(
                **{name: row[name] for name in (*SERIES, "parameters", "quantity", "size_B", "better", "evidence")},
                at=row["times"][middle],
                last_before=row["times"][middle - 1],
                run=middle,
                runs=row["n"],
                n_before=len(before),
                n_after=len(after),
                median_before=float(np.median(before)),
                median_after=float(np.median(after)),
                by_difference=row["by_difference"],
                **_size(before, after, row, confidence),
                p=float(mannwhitneyu(before, after).pvalue),
                noise=split.noise,
                state=_state(before, after, segments[-1], row, split),
                circumstances=circumstances_between(columns, edges[number], middle, edges[number + 2]),
            )
        )
    return out


def _size(before: bootstrap.Floats, after: bootstrap.Floats, row: Row, confidence: float) -> dict[str, Any]:
    """Return the size of a change with its interval: ``change``, ``change_low``, ``change_high`` and ``at_least``."""
    if row["by_difference"]:
        found = bootstrap.difference([before], [after], confidence)
        change, low, high = (float(each[0]) for each in (found.estimate, found.low, found.high))
        largest = max(abs(float(np.median(before))), abs(float(np.median(after))))
        scale = 1.0 if row["unit"] == "%" or largest == 0 else largest / 100
    else:
        found = bootstrap.ratio([before], [after], confidence)
        change, low, high = (100 * (float(each[0]) - 1) for each in (found.estimate, found.low, found.high))
        scale = 1.0
    at_least = (low if row["better"] == "smaller" else -high) / scale
    return {"change": change, "change_low": low, "change_high": high, "at_least": at_least}


def _state(
    before: bootstrap.Floats, after: bootstrap.Floats, last: bootstrap.Floats, row: Row, split: change_points.Split
) -> str:
    """Return the state of a change; ``last`` is the level that the series has now."""
    sign = 1 if row["better"] == "smaller" else -1
    old, new, now = (float(np.median(each)) for each in (before, after, last))
    if sign * (new - old) <= 0:
        return BETTER
    # The error of the difference of two medians; that of a median is sqrt(pi / 2) times that of a mean.
    error = split.noise * math.sqrt(math.pi / 2 * (1 / len(before) + 1 / len(last)))
    worse_by = sign * (now / old - 1 if split.in_shares else now - old)
    return OPEN if worse_by > max(2 * error, 1e-9) else CLOSED


def circumstances_between(
    columns: Mapping[str, Sequence[object]], start: int, middle: int, end: int
) -> tuple[Circumstance, ...]:
    """Return the fields that have no value in common just before and just after a change.

    :param columns: the fields of a series' records, of each a list in the order of time; some may be missing.
    :param start: where the level before begins; :param middle: the first run after; :param end: where its level ends.
    """
    found = []
    for field in CIRCUMSTANCES:
        for offset in _OFFSETS if field in columns else ():
            place = middle + offset
            before = columns[field][max(start, place - _WINDOW) : place]
            after = columns[field][place : min(end, place + _WINDOW)]
            enough = offset == 0 or min(place - start, end - place) >= _FEWEST
            if enough and (circumstance := _difference(field, before, after, offset)):
                found.append(circumstance)
                break
    return tuple(found)


def _difference(field: str, before: Sequence[object], after: Sequence[object], offset: int) -> Circumstance | None:
    if field == "nodelist":
        return _nodes(before, after, offset)
    if field == "placement":
        field, before, after = "CPUs", [_cpus(value) for value in before], [_cpus(value) for value in after]
    return None if set(before) & set(after) else Circumstance(field, _texts(before), _texts(after), offset)


def _texts(values: Iterable[object]) -> tuple[str, ...]:
    return tuple(dict.fromkeys("none" if value is None else str(value) for value in values))


def _nodes(before: Iterable[object], after: Iterable[object], offset: int) -> Circumstance | None:
    """Return the nodes that each run of one side used and no run of the other; batch systems move jobs around."""
    old, new = [_items(value) for value in before], [_items(value) for value in after]
    if not old or not new:
        return None
    gone = set.intersection(*old) - {node for nodes in new for node in nodes}
    come = set.intersection(*new) - {node for nodes in old for node in nodes}
    return Circumstance("nodes", tuple(sorted(gone)), tuple(sorted(come)), offset) if gone or come else None


def _items(value: object) -> set[str]:
    listed = json.loads(value) if isinstance(value, str) else value
    return {str(item) for item in listed} if isinstance(listed, list) else set()


def _cpus(value: object) -> str | None:
    """Return the CPUs of each rank in a placement such as ``["n1:0-1", "n2:0-1"]``, without the names of nodes."""
    listed = json.loads(value) if isinstance(value, str) else value
    return " | ".join(str(place).rsplit(":", 1)[-1] for place in listed) if isinstance(listed, list) else None
