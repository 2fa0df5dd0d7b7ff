# SPDX-License-Identifier: BSD-3-Clause
"""Derive a reference from observations: the median, and a bound as wide as the spread.

The bound on the worse side is the largest of three shares of the median:

- ``minimum``: a floor (2 % by default), because a few equal values do not make the next one equal;
- ``spread``: three robust standard deviations, 1.4826 times the median absolute deviation from the median
  (Rousseeuw and Croux, *Alternatives to the Median Absolute Deviation*, JASA 88, 1993), which one bad run in
  a few does not widen;
- ``extreme``: the distance to the worst observation, because a value that was measured once will come again.

It is rounded outward, so that every observation meets it.
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
#: The distance of a bound by the spread, in robust standard deviations.
SIGMAS = 3.0
#: The least distance of a bound, as a share of the reference.
LEAST_SHARE = 0.02
#: Bounds are multiples of this share.
STEP = 0.001


@dataclass(frozen=True)
class Derived:
    """Hold a reference that was derived from observations.

    :param value: their median, to four digits; :param lower: and :param upper: shares of its size as in
        ReFrame, lower zero or negative; None: no bound.
    """

    value: float
    lower: float | None
    upper: float | None


def derive(values: Sequence[float], better: Better) -> Derived:
    """Return the reference for the values of one series.

    :param values: one a run, finite; at least one.
    :raises ReferenceError: if there is no meaningful reference: the median is 0, or the bound would be so far
        away that no value can miss it.
    """
    array = np.asarray(values, dtype=float)
    if not array.size or not np.isfinite(array).all():
        raise ReferenceError("there are no values, or some are not finite")
    value = float(f"{np.median(array):.4g}")
    if value == 0:
        raise ReferenceError(
            "the median is 0, and bounds are shares of it; give a reason under no_reference instead"
        )
    sigma_share = (
        MAD_TO_SIGMA * float(np.median(np.abs(array - np.median(array)))) / abs(value)
    )
    sign = 1 if better == "smaller" else -1
    share = _share(sign * value, float((sign * array).max()), sigma_share)
    # A positive value cannot fall below 0, and ReFrame accepts no lower bound below it (negative ones: no
    # upper above).
    if share >= 1 and sign * value < 0:
        raise ReferenceError(
            "the values scatter by as much as their own size, so no bound would mean anything; give a reason"
            " under no_reference instead"
        )
    lower, upper = (None, share) if better == "smaller" else (-share, None)
    return Derived(value, lower, upper)


def _share(value: float, extreme: float, sigma_share: float) -> float:
    """Return the share of an upper bound that ``extreme`` meets, rounded outward."""
    share = max(LEAST_SHARE, SIGMAS * sigma_share, (extreme - value) / abs(value))
    # Rounded first: 0.02 / 0.001 is 20, whatever binary fractions make of it.
    steps = math.ceil(round(share / STEP, 6))
    # ReFrame's own formula: a bound may fail in the last bit.
    while value * (1 + math.copysign(round(steps * STEP, 6), value)) < extreme:
        steps += 1
    return round(steps * STEP, 6)
