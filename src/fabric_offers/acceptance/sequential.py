# SPDX-License-Identifier: BSD-3-Clause
"""Test a clause sequentially, with the seller's and the buyer's risk computed and not approximated.

After each unit (a day or a session) the logarithm of the likelihood ratio of the *good* machine to the *bad*
one grows by a step; above an upper limit the clause is met, below a lower one it is violated (Wald,
Sequential tests of statistical hypotheses, Ann. Math. Stat. 16, 1945; of all tests with the same risks it
takes the fewest units on average: Wald and Wolfowitz, Ann. Math. Stat. 19, 1948). After the last unit that
the clause allows, the sign of what is left decides, so that it always ends. Wald's limits hold for a test
without an end. Here the distribution of the sum is carried on from unit to unit on a lattice (Armitage,
McPherson and Rowe, JRSS A 132, 1969; Jennison and Turnbull, Group Sequential Methods, 2000, chapter 19), and
the limits are the narrowest with both risks as agreed.

Units are not independent: what a day has in common with the one before, by an agreed correlation ``r``, makes
``n`` of them worth ``n (1 - r) / (1 + r)`` (the effective size of a first-order autoregression; Kish's design
effect, Survey Sampling, 1965). Steps are divided by that design effect, and the lattice has as many fewer.
Passes of a session, sessions of a day and pairs that share a node have become one number before they come
here, so no independence of these is asked for.

A step of a value is clipped: one wild day neither saves nor sinks a machine (Huber, A robust version of the
probability ratio test, Ann. Math. Stat. 36, 1965).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import stats

Floats = npt.NDArray[np.float64]
#: A distribution on the lattice: its lowest index and its probabilities.
Pmf = tuple[int, Floats]
#: The spacing of the lattice of log-likelihood ratios.
_H = 0.02
#: Values further than this many spreads from the nearer of good and bad count as if they were there.
_CLIP = 1.5
#: Good and bad further apart than so many spreads are distinguished by one unit; the lattice need not be
#: larger.
FURTHEST = 6.0
#: The widest factor of Wald's limits that is tried; beyond it a test is a fixed one.
_WIDEST = 4.0
#: The part of the agreed risks that limits are computed for. Measured machines are not normal: cut out of
#: measured series, days made errors that were up to a tenth more frequent (lab/acceptance.py).
_KEPT = 0.9
#: No clause may ask for more units.
MOST_UNITS = 1000


@dataclass(frozen=True)
class Model:
    """The distribution of the units of a clause.

    :param good, bad: the parameter of a good and of a bad machine: a value or a share.
    :param spread: the standard deviation of a unit around it; 0 for a share of units, which has none of its
        own.
    :param correlation: of successive units.
    """

    good: float
    bad: float
    spread: float = 0.0
    correlation: float = 0.0

    @property
    def design_effect(self) -> float:
        """How many units of the clause count as one: those of each step of the lattice."""
        return (1 + self.correlation) / (1 - self.correlation)

    @property
    def middle(self) -> float:
        """The parameter half-way between good and bad."""
        return (self.good + self.bad) / 2

    @property
    def delta(self) -> float:
        """Good minus bad, in spreads; its sign tells which direction is better."""
        return (self.good - self.bad) / self.spread

    @property
    def furthest(self) -> float:
        """How far from the middle a value counts at most, in spreads."""
        return abs(self.delta) / 2 + _CLIP

    def step(self, value: float) -> float:
        """Return the step of a unit, before it is divided by the design effect."""
        if not self.spread:
            one = math.log(self.good / self.bad)
            zero = math.log((1 - self.good) / (1 - self.bad))
            return value * one + (1 - value) * zero
        return self.delta * float(
            np.clip((value - self.middle) / self.spread, -self.furthest, self.furthest)
        )

    @property
    def worst(self) -> float:
        """The step of the worst that a unit can be."""
        return self.step(
            math.copysign(math.inf, self.bad - self.good) if self.spread else 0.0
        )

    def pmf(self, parameter: float) -> Pmf:
        """Return the distribution of a step on the lattice, given the truth."""
        if not self.spread:
            return _split(
                [(self.step(1.0), parameter), (self.step(0.0), 1 - parameter)]
            )
        # Larger is better on the lattice: what is better has been turned round with the sign of delta.
        from_middle = (parameter - self.middle) * math.copysign(1, self.good - self.bad)
        width = abs(self.delta)
        edge = math.floor(width * self.furthest / _H)
        below = stats.norm.cdf(
            (np.arange(-edge, edge + 2) - 0.5) * _H,
            width * from_middle / self.spread,
            width,
        )
        below[0], below[-1] = 0, 1  # what is beyond the edges counts there
        return -edge, np.diff(below)


def _split(points: Sequence[tuple[float, float]]) -> Pmf:
    """Put point masses on the lattice, each on the two points next to it, so that its mean stays."""
    low = math.floor(min(value for value, _ in points) / _H)
    mass = np.zeros(math.floor(max(value for value, _ in points) / _H) - low + 2)
    for value, weight in points:
        at = value / _H - low
        index = math.floor(at)
        mass[index] += weight * (1 - (at - index))
        mass[index + 1] += weight * (at - index)
    return low, mass


class Operation(NamedTuple):
    """The probability that a machine meets a clause, and the mean number of units until there is a
    verdict."""

    met: float
    mean: float


def operation(
    pmf: Pmf, most: int, limits: tuple[float, float], cut: float, least: int
) -> tuple[float, list[float]]:
    """Follow the distribution of the sum of steps through all of them.

    :param most: how many steps; :param least: the first one after which it may end.
    :param limits: the lower and the upper one; :param cut: that which decides after the last step.
    :returns: the probability that a machine meets a clause, and for each step that it is taken.
    """
    first, step = pmf
    low, mass = 0, np.ones(1)
    met = 0.0
    taken: list[float] = []
    bottom, top = math.floor(limits[0] / _H), math.ceil(limits[1] / _H)
    for number in range(1, most + 1):
        taken.append(float(mass.sum()))
        mass, low = np.convolve(mass, step), low + first
        if number == most:
            bottom = top = math.ceil(cut / _H)
        if number >= least:
            begin = int(np.clip(bottom + 1 - low, 0, len(mass)))
            end = int(np.clip(top - low, begin, len(mass)))
            met += float(mass[end:].sum())
            mass, low = mass[begin:end], low + begin
        if not len(mass):
            break
    return met, taken


@dataclass(frozen=True)
class Design:
    """A test of a model.

    :param lower: the log-likelihood ratio at which the clause is violated; :param upper: that at which it is
        met;
    :param cut: that which decides after the last unit.
    :param most: how many steps there are at most; :param least: the first after which it may end;
    :param least_units: the same in units of the clause.
    """

    model: Model
    lower: float
    upper: float
    cut: float
    most: int
    least: int
    least_units: int

    @property
    def most_units(self) -> int:
        """The last unit, after which it always ends."""
        return math.ceil(self.most * self.model.design_effect - 1e-9)

    def at(self, parameter: float) -> Operation:
        """Return how it works on a machine whose parameter this is; the mean is in units of the clause."""
        limits = self.lower, self.upper
        met, taken = operation(
            self.model.pmf(parameter), self.most, limits, self.cut, self.least
        )
        # The first step may be over before the first unit after which a clause may be decided.
        ends = self.model.design_effect * np.arange(1, len(taken) + 1)
        units = np.diff(np.maximum(ends, self.least_units), prepend=0)
        return Operation(met, float(units @ taken))

    def detectable(self, buyer: float) -> float:
        """Return the violation nearest to good that is found with all but the buyer's risk."""
        return _bisect(
            lambda parameter: self.at(parameter).met <= buyer,
            self.model.good,
            self.model.bad,
        )


def fixed_steps(model: Model, seller: float, buyer: float) -> int:
    """Return how many steps the best test of a fixed size takes.

    :returns: more than :data:`MOST_UNITS` if those are not enough.
    """
    if model.spread:
        wanted = ((stats.norm.isf(seller) + stats.norm.isf(buyer)) / model.delta) ** 2
        return min(max(1, math.ceil(wanted - 1e-9)), MOST_UNITS + 1)
    # Whether there is a number of failures that good machines seldom exceed and bad ones seldom keep to.
    steps = np.arange(1, MOST_UNITS + 1)
    allowed = stats.binom.isf(seller, steps, 1 - model.good)
    enough = np.flatnonzero(stats.binom.cdf(allowed, steps, 1 - model.bad) <= buyer)
    return int(steps[enough[0]]) if len(enough) else MOST_UNITS + 1


def _limits(seller: float, buyer: float, factor: float = 1.0) -> tuple[float, float]:
    """Return Wald's limits, lower and upper, times a factor."""
    return -factor * math.log((1 - buyer) / seller), factor * math.log(
        (1 - seller) / buyer
    )


@lru_cache(maxsize=256)
def design(
    model: Model, seller: float, buyer: float, most_units: int, least_units: int = 1
) -> Design | None:
    """Return the test of a model with both risks as agreed; None if so many units are not enough.

    :param most_units: how many the clause allows. No more than twice those of a fixed test are used.
    """
    allowed = math.floor(most_units / model.design_effect + 1e-9)
    # The lattice is coarser than the formula of a fixed test, and clipping costs a little: a few more are
    # tried.
    most = min(allowed, 2 * fixed_steps(model, seller, buyer) + 2)
    least = min(
        max(1, math.floor(least_units / model.design_effect + 1e-9)), max(most, 1)
    )
    if most < 1:
        return None
    good, bad = model.pmf(model.good), model.pmf(model.bad)
    cut = _cut(good, bad, most, seller / buyer)

    def holds(factor: float) -> bool:
        limits = _limits(seller, buyer, factor)
        accepted = [
            operation(each, most, limits, cut, least)[0] for each in (good, bad)
        ]
        return 1 - accepted[0] <= _KEPT * seller and accepted[1] <= _KEPT * buyer

    if not holds(_WIDEST):
        return None
    return Design(
        model,
        *_limits(seller, buyer, _bisect(holds, 0.1, _WIDEST)),
        cut,
        most,
        least,
        least_units,
    )


def without_end(
    model: Model, seller: float, buyer: float, most_units: int, least_units: int
) -> Design:
    """Return a test with Wald's own limits, which may be open after the last unit that the clause allows."""
    most = max(1, math.floor(most_units / model.design_effect))
    return Design(model, *_limits(seller, buyer), 0.0, most, 1, least_units)


def _cut(good: Pmf, bad: Pmf, steps: int, seller_by_buyer: float) -> float:
    """Return the limit of a fixed test of that size whose two risks are in the agreed proportion."""
    mass_good, mass_bad = np.ones(1), np.ones(1)
    for _ in range(steps):
        mass_good = np.convolve(mass_good, good[1])
        mass_bad = np.convolve(mass_bad, bad[1])
    refused = np.cumsum(mass_good) - mass_good
    accepted = 1 - np.cumsum(mass_bad) + mass_bad
    return (
        steps * good[0]
        + int(np.argmin(np.maximum(refused / seller_by_buyer, accepted)))
        - 0.5
    ) * _H


def _bisect(holds: Callable[[float], bool], fails: float, works: float) -> float:
    """Return the point nearest to ``fails`` at which a condition holds that holds at ``works``."""
    for _ in range(18):
        middle = (fails + works) / 2
        fails, works = (fails, middle) if holds(middle) else (middle, works)
    return works


def needed(
    model: Model, seller: float, buyer: float, least_units: int = 1
) -> int | None:
    """Return how many units a clause has to allow for its risks; None if :data:`MOST_UNITS` are not
    enough."""
    begin = max(1, math.floor(fixed_steps(model, seller, buyer) * model.design_effect))
    units = range(begin, MOST_UNITS + 1)
    return next(
        (each for each in units if design(model, seller, buyer, each, least_units)),
        None,
    )


MET, VIOLATED, OPEN = "met", "violated", "open"


@dataclass(frozen=True)
class State:
    """Where a test stands.

    :param word: met, violated or open. :param path: the log-likelihood ratio after each unit that was used;
        those behind the end of the test are not.
    """

    word: str
    path: tuple[float, ...]

    @property
    def units(self) -> int:
        """How many units were used."""
        return len(self.path)


def follow(plan: Design, values: Sequence[float | None]) -> State:
    """Follow a test through the units of a clause, in their order.

    :param values: of the units; None: missing, which counts as the worst that a unit can be.
    """
    model = plan.model
    path: list[float] = []
    ratio = 0.0
    for number, value in enumerate(values[: plan.most_units], 1):
        ratio += (
            model.worst if value is None else model.step(value)
        ) / model.design_effect
        path.append(ratio)
        if number == plan.most_units:
            return State(MET if ratio >= plan.cut else VIOLATED, tuple(path))
        if number < plan.least_units:
            continue
        if not plan.lower < ratio < plan.upper:
            return State(MET if ratio >= plan.upper else VIOLATED, tuple(path))
    return State(OPEN, tuple(path))
