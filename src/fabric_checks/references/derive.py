# SPDX-License-Identifier: BSD-3-Clause
"""A reference from what was observed: the median, and bounds as wide as the spread.

The bound on the worse side is the largest of three shares of the median:

- ``minimum``: a floor (2 % unless asked otherwise), because a few equal values do not mean that the next is equal;
- ``spread``: three robust standard deviations, 1.4826 times the median absolute deviation from the median (Rousseeuw
  and Croux, *Alternatives to the Median Absolute Deviation*, JASA 88, 1993), which one bad run in a few does not widen;
- ``extreme``: the distance to the worst value seen, because what was measured once and believed will come again.

It is rounded outward, so that every value that it came from meets it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fabric_checks.core.errors import ReferenceError
from fabric_checks.core.metrics import Better

#: A robust standard deviation is this times the median absolute deviation, for a normal distribution.
MAD_TO_SIGMA = 1.4826
#: Bounds are multiples of this share.
STEP = 0.001


@dataclass(frozen=True)
class Rule:
    """The width of bounds.

    :param least_share: the least that a bound is away from the reference, as a share of it.
    :param sigmas: how many robust standard deviations it is away at least.
    :param both_sides: whether values that are too good are bounded as well.
    """

    least_share: float = 0.02
    sigmas: float = 3.0
    both_sides: bool = False


@dataclass(frozen=True)
class Derived:
    """A reference that values give.

    :param value: their median, to four digits; :param lower: and :param upper: shares of its size as in ReFrame, lower
        zero or negative, None: no bound.
    :param sigma_share: the robust standard deviation, as a share of the value.
    :param decided_by: which of the three made the bound on the worse side: minimum, spread or extreme.
    """

    value: float
    lower: float | None
    upper: float | None
    sigma_share: float
    decided_by: str


def derive(values: Sequence[float], better: Better, rule: Rule | None = None) -> Derived:
    """Return the reference for values of one series.

    :param values: one a run, finite; at least one.
    :raises ReferenceError: if no reference can be made of them: the median is 0, or the bound would be so far away
        that no value can miss it.
    """
    rule = rule or Rule()
    array = np.asarray(values, dtype=float)
    if not array.size or not np.isfinite(array).all():
        raise ReferenceError("there are no values, or some are not finite")
    value = _four_digits(float(np.median(array)))
    if value == 0:
        raise ReferenceError("the median is 0, and bounds are shares of it; give a reason under no_reference instead")
    size = abs(value)
    sigma_share = MAD_TO_SIGMA * float(np.median(np.abs(array - np.median(array)))) / size
    above, decided_above = _share(value, float(array.max()), sigma_share, rule)
    below, decided_below = _share(-value, -float(array.min()), sigma_share, rule)
    # What is 0 or larger cannot fall below 0, and ReFrame takes no bound that is lower (what is negative: larger).
    if (better == "larger" and value > 0 and below >= 1) or (better == "smaller" and value < 0 and above >= 1):
        raise ReferenceError(
            "the values scatter by as much as their own size, so no bound would mean anything; give a reason under "
            "no_reference instead"
        )
    lower = -below if better == "larger" or (rule.both_sides and (value < 0 or below < 1)) else None
    upper = above if better == "smaller" or (rule.both_sides and (value > 0 or above < 1)) else None
    return Derived(value, lower, upper, sigma_share, decided_above if better == "smaller" else decided_below)


def _share(value: float, extreme: float, sigma_share: float, rule: Rule) -> tuple[float, str]:
    """Return the share of an upper bound that ``extreme`` meets, rounded outward, and what decided it."""
    size = abs(value)
    candidates = {
        "minimum": rule.least_share,
        "spread": rule.sigmas * sigma_share,
        "extreme": (extreme - value) / size,
    }
    decided = max(candidates, key=lambda name: candidates[name])
    # Rounded first: 0.02 / 0.001 is 20, whatever binary fractions make of it.
    share = math.ceil(round(candidates[decided] / STEP, 6)) * STEP
    while value + share * size < extreme or value * (1 + math.copysign(share, value)) < extreme:
        share += STEP  # the second is how ReFrame reckons; the last bit of it counts
    return round(share, 6), decided


def _four_digits(value: float) -> float:
    return float(f"{value:.4g}")
