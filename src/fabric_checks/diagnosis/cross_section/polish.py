# SPDX-License-Identifier: BSD-3-Clause
"""Median polish: a pair matrix as the product of a common level, a share of each sender and receiver, and a rest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Polished:
    """A matrix taken apart: ``value = typical * sender * receiver * rest``.

    :param typical: the common level, in the unit of the matrix.
    :param sender: the share of each row, its median over rows is 1.
    :param receiver: the share of each column, its median over columns is 1.
    :param rest: rows x columns: what belongs to the pair alone, 1 for most; NaN where nothing was measured.
    """

    typical: float
    sender: Array
    receiver: Array
    rest: Array


def median_polish(values: Array, *, sweeps: int = 4, tolerance: float = 1e-4) -> Polished:
    """Take a matrix apart by Tukey's median polish (Exploratory Data Analysis, 1977, ch. 11), on logarithms.

    Medians keep a few very slow pairs from spoiling the shares of their sender and receiver.

    :param values: rows x columns, positive; NaN where nothing was measured.
    :param sweeps: the most passes over rows and columns.
    :param tolerance: stop when no median changes by more than this share.
    """
    rest = np.log(values)
    median = np.nanmedian if np.isnan(rest).any() else np.median
    common = 0.0
    row, column = np.zeros(rest.shape[0]), np.zeros(rest.shape[1])
    for _ in range(sweeps):
        change = 0.0
        for axis, effect in ((1, row), (0, column)):
            step = np.asarray(median(rest, axis=axis))
            rest -= np.expand_dims(step, axis)
            np.add(effect, step, out=effect)
            middle = float(np.median(effect))
            np.subtract(effect, middle, out=effect)
            common += middle
            change = max(change, float(np.max(np.abs(step - np.median(step)))))
        if change < tolerance:
            break
    return Polished(float(np.exp(common)), np.exp(row), np.exp(column), np.exp(rest))
