# SPDX-License-Identifier: BSD-3-Clause
"""Find changes of series over time: their date, size and certainty, and the circumstances that changed with
them.

Changes of the series of one case at about one time are an event.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from operator import attrgetter
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import pdtrc

from fabric_checks.analysis.statistics import change_points
from fabric_checks.comparison.verdicts import by_difference
from fabric_checks.core.grouping import by_key
from fabric_checks.core.text import signed, sizes_text, test_text
from fabric_checks.records.record import SERIES, machine_name
from fabric_checks.records.series import series

Row = Mapping[str, Any]

#: The series is worse since, and still is.
OPEN = "open"
#: The series was worse, and returned to the level before or a better one, within the noise.
CLOSED = "closed"
#: The series is better since.
BETTER = "better"

STATES = (OPEN, BETTER, CLOSED)

#: The fields of records that may explain a change, in the order in which they are listed.
CIRCUMSTANCES = (
    *(
        "mpi",
        "compiler",
        "program",
        "program_version",
        "stack",
        "spec_hash",
        "spack",
        "image_digest",
        "binding",
    ),
    *("collection", "reframe", "reference", "nodelist"),
)
#: The columns of records that a search needs.
FIELDS = (
    *(
        *SERIES,
        "parameters",
        "time",
        "quantity",
        "size_B",
        "value",
        "better",
        "can_be_zero",
        "evidence",
    ),
    *CIRCUMSTANCES,
)

#: What a change has of its series.
_OF_SERIES = (*SERIES, "parameters", "quantity", "size_B", "better", "evidence")
#: Share of stable series with noise in which a change is found: of fewer runs than 100, and of more. Measured
#: by tests/analysis/statistics/test_change_points.py with normal noise; with a long tail there are more.
FALSE_ALARMS = (0.025, 0.008)
#: The number of runs on each side whose circumstances are compared: further away, too much else has changed.
_WINDOW = 7
#: The share of these runs that has to agree. Noise moves the position of a change by a run or two, so not all
#: do.
_USUAL = 2 / 3


#: Changes of one case that are so many runs apart or less are one event: noise moves where a change is seen.
NEAR_RUNS = 2


#: A change stands out if it is at least so many per cent (points for values in per cent) ...
LEAST_PERCENT = 10.0
#: ... and so many times the noise of one run.
LEAST_NOISE = 6.0
#: More series have changed than by chance if they are so many times as many, and if chance explains that no
#: more often.
TIMES_CHANCE, CHANCE = 2.0, 0.05


@dataclass(frozen=True)
class Circumstance:
    """A field of the records that is not the same on both sides of a change.

    :param field: such as ``mpi``; ``nodes`` for nodes that most runs of one side used and few of the other.
    :param before: its usual value in the last runs before; :param after: in the first ones after.
    """

    field: str
    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True)
class Change:
    """A change of the level of one series.

    :param system: with :param partition, environ, check, test, layout, metric, unit: which series.
    :param parameters, quantity, size_B, better, evidence: as in its latest record, the parameters as JSON
        text.
    :param at: time of the first run after the change.
    :param run: which run of the series that is, counted from 0.
    :param n_before: how many runs the level before held; :param n_after: the level after.
    :param median_before: in ``unit``; :param median_after: in ``unit``.
    :param by_difference: whether ``change`` is in ``unit``, because the value can be 0, or else in per cent.
    :param change: from before to after.
    :param noise: of one run, a share, or of values compared by difference in ``unit``; 0 if they repeat
        exactly.
    :param state: one of :data:`STATES`.
    :param circumstances: fields that changed at the same time.
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
    run: int
    n_before: int
    n_after: int
    median_before: float
    median_after: float
    by_difference: bool
    change: float
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

    @property
    def exceed_chance(self) -> bool:
        """Whether more series have changed than would by chance alone."""
        count = len(self.changes)
        return (
            count > TIMES_CHANCE * self.by_chance
            and float(pdtrc(count - 1, self.by_chance)) < CHANCE
        )

    def is_news(self, event: Event) -> bool:
        """Tell whether an event is for the worse and lasts, and no noise or chance explains it."""
        is_clear = self.exceed_chance or any(map(stands_out, event.changes))
        return event.state == OPEN and is_clear


def stands_out(change: Change) -> bool:
    """Tell whether a change is far enough out of the noise of its series to be no chance."""
    noise = change.noise if change.by_difference else 100 * change.noise
    return (
        abs(change.change) >= LEAST_NOISE * noise
        and 100 * lost(change) >= LEAST_PERCENT
    )


def lost(change: Change) -> float:
    """Return the share of the level before by which a value is worse, of values in per cent in points."""
    if not change.by_difference or change.unit == "%":
        return abs(change.change) / 100
    scale = max(abs(change.median_before), abs(change.median_after))
    return abs(change.change) / scale if scale else 0.0


def find_changes(
    frame: pl.DataFrame,
    *,
    since: datetime | None = None,
) -> Changes:
    """Find the changes of every series.

    :param frame: records with the columns :data:`FIELDS`; those of several sides are taken together.
    :param since: only changes whose first run is not before; all runs are looked at in any case.
    """
    measured = frame.drop("side", strict=False).filter(
        pl.col("value").is_finite() & pl.col("metric").is_not_null()
    )
    # The names of a large machine's nodes are kept once, and turned into text for few series at a time.
    measured = measured.sort("time", maintain_order=True).with_columns(
        pl.col("nodelist").cast(pl.Categorical)
    )
    kept = [name for name in CIRCUMSTANCES if name in measured.columns]
    gathered = series(measured, SERIES, each=kept).with_columns(
        by_difference=by_difference(pl.col("can_be_zero"), pl.col("values").list.min())
    )
    long_enough = gathered.filter(pl.col("n") >= change_points.MIN_RUNS)
    changes: list[Change] = []
    by_chance = 0.0
    for row in long_enough.iter_rows(named=True, buffer_size=8):
        split = change_points.split(row["values"], in_shares=not row["by_difference"])
        if split.noise > 0:
            by_chance += FALSE_ALARMS[row["n"] >= 100]
        changes += _changes_of(row, split)
    changes = [change for change in changes if since is None or change.at >= since]
    changes.sort(
        key=lambda change: (change.at, change.machine, change.test, change.metric)
    )
    return Changes(
        tuple(changes),
        long_enough.height,
        gathered.height - long_enough.height,
        by_chance,
    )


def _changes_of(row: Row, split: change_points.Split) -> list[Change]:
    edges = [0, *split.starts, row["n"]]
    segments = [
        np.asarray(row["values"][start:end], dtype=np.float64)
        for start, end in pairwise(edges)
    ]
    out = []
    for number, middle in enumerate(split.starts):
        before, after = segments[number], segments[number + 1]
        old, new = float(np.median(before)), float(np.median(after))
        out.append(
            Change(
                **{name: row[name] for name in _OF_SERIES},
                at=row["times"][middle],
                run=middle,
                n_before=len(before),
                n_after=len(after),
                median_before=old,
                median_after=new,
                by_difference=row["by_difference"],
                change=_change(old, new, row),
                noise=split.noise,
                state=_state(before, after, segments[-1], row, split),
                circumstances=circumstances_between(
                    row, edges[number], middle, edges[number + 2]
                ),
            )
        )
    return out


def _change(before: float, after: float, row: Row) -> float:
    """Return the change of a median: of values that can be 0 the difference, of others per cent."""
    if row["by_difference"]:
        return after - before
    return 100 * (after / before - 1)


def _state(
    before: NDArray[np.float64],
    after: NDArray[np.float64],
    last: NDArray[np.float64],
    row: Row,
    split: change_points.Split,
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
    """Return the fields whose usual value just before a change differs from that just after it.

    :param columns: the fields of a series' records, of each a list in the order of time; some may be missing.
    :param start: where the level before begins; :param middle: the first run after; :param end: where its
        level ends.
    """
    found = []
    first, last = max(start, middle - _WINDOW), min(end, middle + _WINDOW)
    for field in CIRCUMSTANCES:
        values = columns.get(field, ())
        before = [_items(field, value) for value in values[first:middle]]
        after = [_items(field, value) for value in values[middle:last]]
        gone, come = _only_in(before, after), _only_in(after, before)
        name = "nodes" if field == "nodelist" else field
        # A node may go, or come, alone; another field has a value before and after.
        if (gone or come) if name == "nodes" else (gone and come):
            found.append(Circumstance(name, gone, come))
    return tuple(found)


def _items(field: str, value: object) -> set[str]:
    """Return the value of a field; of nodes, which batch systems combine anew for each job, each of them."""
    if field != "nodelist":
        return {"none" if value is None else str(value)}
    listed = json.loads(value) if isinstance(value, str) else value
    return set(map(str, listed)) if isinstance(listed, list) else set()


def _only_in(runs: Sequence[set[str]], others: Sequence[set[str]]) -> tuple[str, ...]:
    """Return the items that most of some runs have, and few of the others."""
    here, there = (
        Counter(item for items in each for item in items) for each in (runs, others)
    )
    usual, rare = _USUAL * len(runs), (1 - _USUAL) * len(others)
    return tuple(
        sorted(
            item
            for item, count in here.items()
            if count >= usual and there[item] <= rare
        )
    )


@dataclass(frozen=True)
class Event:
    """Changes of the series of one case at about one time, all for the better or all for the worse.

    :param changes: at least one, in the order of quantity and size.
    :param at: the time of the run at which most of them are seen.
    """

    changes: tuple[Change, ...]
    at: datetime

    @property
    def state(self) -> str:
        """Return the state that all share."""
        return self.changes[0].state

    @property
    def circumstances(self) -> tuple[Circumstance, ...]:
        """Return the circumstances of the changes that are seen at that run."""
        return next(
            change.circumstances for change in self.changes if change.at == self.at
        )

    @property
    def evidence(self) -> tuple[str, ...]:
        """Return the kinds of simulation that the values are from; empty if they were measured."""
        return tuple(
            sorted({change.evidence for change in self.changes if change.evidence})
        )

    def size_text(self) -> str:
        """Return from how much to how much they changed, such as ``worse by 9 % to 12 %``."""
        word = "better" if self.state == BETTER else "worse"
        units = {_unit(change) for change in self.changes}
        parts = []
        for unit in sorted(units):
            sizes = [
                abs(change.change) for change in self.changes if _unit(change) == unit
            ]
            low, high = signed(min(sizes))[1:] or "0", signed(max(sizes))[1:] or "0"
            parts.append(f"{low} {unit}" if low == high else f"{low} to {high} {unit}")
        return f"{word} by {' and '.join(parts)}"

    def metrics_text(self) -> str:
        """Return which metrics these are: curves with their sizes, and others by name."""
        if len(self.changes) == 1:
            return self.changes[0].metric
        sizes: dict[str, list[int]] = {}
        for change in self.changes:
            sizes.setdefault(change.quantity, [])
            if change.size_B is not None:
                sizes[change.quantity].append(change.size_B)
        return ", ".join(
            f"{name} {sizes_text(sorted(listed))}".rstrip()
            for name, listed in sizes.items()
        )

    def sentence(self) -> str:
        """Return the event in one sentence, without its state and circumstances."""
        first = self.changes[0]
        evidence = f" ({', '.join(self.evidence)})" if self.evidence else ""
        return (
            f"{len(self.changes)} series of {test_text(first.check, first.parameters)} {first.layout} on"
            f" {first.machine}{evidence} from {self.at:%Y-%m-%d %H:%M}: {self.size_text()}:"
            f" {self.metrics_text()}"
        )


def _unit(change: Change) -> str:
    if not change.by_difference:
        return "%"
    return "points" if change.unit == "%" else change.unit


def events_of(changes: Iterable[Change]) -> list[Event]:
    """Gather changes into events, in the order of time."""
    by_case = by_key(changes, attrgetter("machine", "check", "test", "layout", "state"))
    found = [_event(group) for case in by_case.values() for group in _near(case)]
    return sorted(
        found,
        key=lambda event: (
            event.at,
            event.changes[0].machine,
            event.changes[0].test,
            event.state,
        ),
    )


def _near(changes: list[Change]) -> Iterator[list[Change]]:
    """Split the changes of a case where runs without any lie between."""
    ordered = sorted(changes, key=lambda change: change.run)
    group = ordered[:1]
    for change in ordered[1:]:
        if change.run - group[-1].run > NEAR_RUNS:
            yield group
            group = []
        group.append(change)
    yield group


def _event(group: list[Change]) -> Event:
    counted = Counter(change.at for change in group)
    at = min(counted, key=lambda time: (-counted[time], time))
    ordered = sorted(
        group, key=lambda change: (change.quantity, change.size_B or 0, change.metric)
    )
    return Event(tuple(ordered), at)
