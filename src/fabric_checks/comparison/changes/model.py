# SPDX-License-Identifier: BSD-3-Clause
"""What a change of a series is."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

#: It is worse since, and still is.
OPEN = "open"
#: It was worse, and went back to the level before or a better one, as far as noise lets tell.
CLOSED = "closed"
#: It is better since.
BETTER = "better"

STATES = (OPEN, BETTER, CLOSED)


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
        return f"{self.system}:{self.partition}+{self.environ}"


@dataclass(frozen=True)
class Changes:
    """What came of a search.

    :param changes: in the order of their time.
    :param series: how many series were searched; :param too_short: how many have fewer runs than can be.
    :param by_chance: how many series about would show a change by chance if none had one.
    """

    changes: tuple[Change, ...]
    series: int
    too_short: int
    by_chance: float
