# SPDX-License-Identifier: BSD-3-Clause
"""How often a shift of a tenth is found, and how often one where there is none, by the noise of the series.

. ci/env.sh
python -m lab.change_points 2000        # so many series of each kind; the tests try few
"""

import sys

import numpy as np

from fabric_checks.analysis.statistics.change_points import split


def correlated(draw, count, rho=0.5):
    """Return noise each value of which is half like the one before."""
    steps = 0.03 * np.sqrt(1 - rho**2) * draw.normal(size=count + 20)
    out = np.zeros(count + 20)
    for i in range(1, count + 20):
        out[i] = rho * out[i - 1] + steps[i]
    return out[20:]


NOISES = {
    "normal": lambda draw, n: 1 + 0.03 * draw.normal(size=n),
    "lognormal": lambda draw, n: np.exp(0.03 * draw.normal(size=n)),
    "t with 3 degrees": lambda draw, n: (
        1 + 0.03 * draw.standard_t(3, size=n) / np.sqrt(3)
    ),
    "3 % of runs half as much again": lambda draw, n: (
        (1 + 0.03 * draw.normal(size=n)) * (1 + 0.5 * (draw.random(n) < 0.03))
    ),
    "exponential": lambda draw, n: 1 + 0.03 * draw.exponential(size=n),
    "each half like the one before": lambda draw, n: 1 + correlated(draw, n),
}


def series(noise, draw, count):
    """Return a stable series, whose values are positive."""
    return np.maximum(NOISES[noise](draw, count), 0.1)


def share_found(noise, after, count, seed, within=3):
    """Return the share of shifts of a tenth, after 20 to 200 runs, that are found and placed within a few
    runs.

    :param after: the runs behind the shift. :param count: how many series are tried.
    """
    draw = np.random.default_rng(seed)
    hits = 0
    for number, before in enumerate(draw.integers(20, 201, size=count).tolist()):
        shifted = series(noise, draw, before + after)
        shifted[before:] *= 1.1 if number % 2 else 0.9
        hits += any(abs(start - before) <= within for start in split(shifted).starts)
    return hits / count


def false_alarms(noise, runs, count, seed):
    """Return in how many of so many stable series a change is found."""
    draw = np.random.default_rng(seed)
    return sum(bool(split(series(noise, draw, runs)).starts) for _ in range(count))


def main(count: int) -> None:
    """Print a line for each kind of noise."""
    for noise in NOISES:
        alarms = ", ".join(
            f"{runs}: {100 * false_alarms(noise, runs, count, runs) / count:.1f}"
            for runs in (20, 40, 200)
        )
        found = ", ".join(
            f"{after}: {100 * share_found(noise, after, count, after):.1f}"
            for after in (3, 10)
        )
        print(
            f"{noise}: false alarms in % of series of so many runs {alarms}; found in % after so many {found}"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]))
