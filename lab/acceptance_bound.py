# SPDX-License-Identifier: BSD-3-Clause
"""The fewest days, on average, that any test of a drift takes, by backward induction.

    . ci/env.sh
    python -m lab.acceptance_bound 10 20    # so many days of a test of a fixed size

A drift is the slope of a straight line through daily values, whose information grows with the third power of
the days. Machines are good or bad with equal chance; a day costs one unit and a wrong verdict a price, which
is raised until both risks are 5 %. What is left is the test that takes the fewest days of all with these
risks (Wald and Wolfowitz, 1948; Arrow, Blackwell and Girshick, Econometrica 17, 1949).
"""

import sys

import numpy as np
from scipy.stats import norm

RISK = 0.05
RATIOS = np.arange(-1400, 1401) / 100
GOOD = 1 / (1 + np.exp(-RATIOS))


def step(information):
    """Return the distribution of a step of the log-likelihood ratio of a good machine, or None if it is too
    narrow."""
    spacing = RATIOS[1] - RATIOS[0]
    if information < (2 * spacing) ** 2:
        return None
    half = int(np.ceil((7 * np.sqrt(information) + information / 2) / spacing))
    mass = norm.pdf(np.arange(-half, half + 1) * spacing, information / 2, np.sqrt(information))
    return mass / mass.sum()


def best(price, steps):
    """Return at which ratios the best test ends after each day, given the price of a wrong verdict."""
    wrong = price * np.minimum(GOOD, 1 - GOOD)
    value, ends = wrong, [np.ones_like(wrong, bool)]
    for mass in reversed(steps[1:]):
        ahead = value
        if mass is not None:
            padded = np.pad(value, len(mass) // 2, mode="edge")
            good, bad = (np.convolve(padded, each, "valid") for each in (mass[::-1], mass))
            ahead = GOOD * good + (1 - GOOD) * bad
        ends.append(wrong <= 1 + ahead)
        value = np.minimum(wrong, 1 + ahead)
    return ends[::-1]


def operation(ends, steps):
    """Return the mean number of days and the risk of a good machine."""
    mass = np.zeros_like(RATIOS)
    mass[len(mass) // 2] = 1
    mean = risk = 0.0
    for number, (end, each) in enumerate(zip(ends, steps, strict=True), 1):
        if each is not None:
            half = len(each) // 2
            mass = np.convolve(mass, each)[half:-half]
        mean += number * mass[end].sum()
        risk += (mass * (1 - np.sign(RATIOS)) / 2)[end].sum()
        mass = np.where(end, 0, mass)
    return mean, risk


def fewest(fixed, most):
    """Return the mean number of days of the best test that ends after so many days."""
    total = (2 * norm.isf(RISK)) ** 2
    information = [total * day * (day * day - 1) / (fixed * (fixed * fixed - 1)) for day in range(most + 1)]
    steps = [step(each) for each in np.diff(information)]
    low, high = 1.0, 1e7
    for _ in range(30):
        price = np.sqrt(low * high)
        low, high = (price, high) if operation(best(price, steps), steps)[1] > RISK else (low, price)
    return operation(best(high, steps), steps)[0]


if __name__ == "__main__":
    for given in map(int, sys.argv[1:]):
        mean = fewest(given, 2 * given)
        print(
            f"fixed {given} days: no test takes fewer than {mean:.1f} on average, {100 * mean / given:.0f} %",
            flush=True,
        )
