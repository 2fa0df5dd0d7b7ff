# SPDX-License-Identifier: BSD-3-Clause
"""Events: changes of the series of one case at about one time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from fabric_checks.comparison.changes import BETTER, Change, Circumstance
from fabric_checks.core.text import signed, size_text, test_text

#: Changes of one case that are so many runs apart or less are one event: noise moves where a change is seen.
NEAR_RUNS = 2


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
        """Return what else changed, as seen by those that changed at that run."""
        return next(change.circumstances for change in self.changes if change.at == self.at)

    @property
    def evidence(self) -> tuple[str, ...]:
        """Return the kinds of simulation that the values are from; empty if they were measured."""
        return tuple(sorted({change.evidence for change in self.changes if change.evidence}))

    def size_text(self) -> str:
        """Return from how much to how much they changed, such as ``worse by 9 % to 12 %``."""
        word = "better" if self.state == BETTER else "worse"
        units = {_unit(change) for change in self.changes}
        parts = []
        for unit in sorted(units):
            sizes = [abs(change.change) for change in self.changes if _unit(change) == unit]
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
        return ", ".join(_curve(name, sorted(listed)) for name, listed in sizes.items())

    def sentence(self, *, with_state: bool = True) -> str:
        """Return the event in one sentence, without what else changed."""
        first = self.changes[0]
        many = "1 series" if len(self.changes) == 1 else f"{len(self.changes)} series"
        state = f", {self.state}" if with_state else ""
        evidence = f" ({', '.join(self.evidence)})" if self.evidence else ""
        return (
            f"{many} of {test_text(first.check, first.parameters)} {first.layout} on {first.machine}{evidence} from "
            f"{self.at:%Y-%m-%d %H:%M}: {self.size_text()}{state}: {self.metrics_text()}"
        )


def _unit(change: Change) -> str:
    if not change.by_difference:
        return "%"
    return "points" if change.unit == "%" else change.unit


def _curve(name: str, sizes_B: list[int]) -> str:
    if not sizes_B:
        return name
    texts = [size_text(size) for size in sizes_B]
    listed = " ".join(texts) if len(texts) <= 4 else f"{len(texts)} sizes {texts[0]} .. {texts[-1]}"
    return f"{name} {listed} B"


def events_of(changes: Iterable[Change]) -> list[Event]:
    """Gather changes into events, in the order of time."""
    by_case: dict[tuple[str, ...], list[Change]] = {}
    for change in changes:
        case = (change.machine, change.check, change.test, change.layout, change.state)
        by_case.setdefault(case, []).append(change)
    found = [_event(group) for case in by_case.values() for group in _near(case)]
    return sorted(found, key=lambda event: (event.at, event.changes[0].machine, event.changes[0].test, event.state))


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
    ordered = sorted(group, key=lambda change: (change.quantity, change.size_B or 0, change.metric))
    return Event(tuple(ordered), at)
