# SPDX-License-Identifier: BSD-3-Clause
"""Figures and names as users read them."""

from __future__ import annotations


def size_text(size_B: int) -> str:
    """Return a message size in bytes, short: K is 1024 and M is 1024 * 1024.

    >>> [size_text(size) for size in (0, 512, 1024, 65536, 4194304)]
    ['0', '512', '1K', '64K', '4M']
    """
    for unit, factor in (("M", 1024**2), ("K", 1024)):
        if size_B >= factor and size_B % factor == 0:
            return f"{size_B // factor}{unit}"
    return str(size_B)


def value_text(value: float) -> str:
    """Return a value with four significant digits, without an exponent."""
    if value == 0:
        return "0"
    if abs(value) >= 1000:
        return f"{value:.0f}"
    return f"{value:.4g}" if abs(value) >= 1e-3 else f"{value:.3g}"


def printable(text: str) -> str:
    """Return untrusted text without control characters but for line ends."""
    return "".join(c if c.isprintable() or c == "\n" else "?" for c in text)
