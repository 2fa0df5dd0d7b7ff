# SPDX-License-Identifier: BSD-3-Clause
"""Grids of processes or of copies of a problem."""


def prime_factors(number):
    """Return the prime factors of a number, the smallest first.

    >>> prime_factors(12)
    [2, 2, 3]
    """
    found, divisor = [], 2
    while divisor * divisor <= number:
        if number % divisor:
            divisor += 1
        else:
            found.append(divisor)
            number //= divisor
    return [*found, number] if number > 1 else found


def grid(count, dimensions):
    """Return factors of ``count``, one for each dimension, as equal as its prime factors allow, the largest
    first.

    >>> grid(12, 3)
    [3, 2, 2]
    """
    sides = [1] * dimensions
    # Largest prime factors first, each to the smallest side so far.
    for factor in reversed(prime_factors(count)):
        sides[sides.index(min(sides))] *= factor
    return sorted(sides, reverse=True)
