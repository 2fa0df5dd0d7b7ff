# SPDX-License-Identifier: BSD-3-Clause
"""A table of pairs, whichever program measured it, and the rules that all formats share."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.core.text import size_text
from fabric_checks.parsers.table import require

BANDWIDTH, LATENCY = "bandwidth", "latency"
#: The most characters of a name: those of DNS have 253.
_LONGEST = 255
#: Messages up to this size, in bytes, measure latency rather than bandwidth.
LATENCY_B = 1024
_PREFIXES = {
    "": 1,
    "K": 10**3,
    "M": 10**6,
    "G": 10**9,
    "T": 10**12,
    "Ki": 2**10,
    "Mi": 2**20,
    "Gi": 2**30,
}
#: The metric of each unit, and what one of it is in MB/s (10^6 B/s) or in us.
UNITS: Mapping[str, tuple[str, float]] = {
    **{f"{prefix}B/s": (BANDWIDTH, size / 1e6) for prefix, size in _PREFIXES.items()},
    **{f"{prefix}b/s": (BANDWIDTH, size / 8e6) for prefix, size in _PREFIXES.items()},
    **{
        "ns": (LATENCY, 1e-3),
        "us": (LATENCY, 1.0),
        "ms": (LATENCY, 1e3),
        "s": (LATENCY, 1e6),
    },
}


class End(NamedTuple):
    """An end of a pair.

    :param host: its name.
    :param device: what of the host took part, such as ``gpu 3`` or ``mlx5_0``; empty for the host as a whole.
        Devices of the same name on different hosts are taken for one rail.
    """

    host: str
    device: str = ""

    def __str__(self) -> str:
        """Return the end in words."""
        return f"{self.host} {self.device}" if self.device else self.host


class Row(NamedTuple):
    """One measurement.

    :param value: in MB/s or us. :param line: its number in the file, if there is one, for messages.
    :param round: what ran at once has the same number; -1 where that is not known.
    """

    sender: End
    receiver: End
    value: float
    line: int | None = None
    round: int = -1


@dataclass(frozen=True)
class PairTable:
    """The measurements of one kind in one file, in the order in which they were made; a pair again is a
    repeat.

    :param format: the program, as its users call it.
    :param metric: :data:`BANDWIDTH` in MB/s (10^6 B/s) or :data:`LATENCY` in us.
    :param alone: whether no other pair ran at the same time; None where the format does not say.
    :param both_ways: whether a value is that of both directions.
    :param cannot_tell: what the format cannot tell, a sentence each.
    :param kind: the test, where a program has several; :param size_B: of its messages, 0 where that is not
        known.
    :raises OutputError: for a pair of an end with itself, a value not above 0, a name that cannot be printed,
        a host with and without devices, and no rows.
    """

    format: str
    metric: str
    rows: tuple[Row, ...]
    alone: bool | None
    both_ways: bool = False
    cannot_tell: tuple[str, ...] = ()
    kind: str = ""
    size_B: int = 0

    def __post_init__(self) -> None:
        """Check the rules above."""
        require(
            self.rows,
            f"no pair with a value is in this output of {self.format}: give one that ran to its end",
        )
        for one, other, value, line, _ in self.rows:
            if one == other or not 0 < value < math.inf:
                pair = f"{quoted(str(one))} to {quoted(str(other))}"
                raise OutputError(
                    f"{pair} is {value:g}; two ends and a value above 0 were expected",
                    line,
                )
        whole = {end.host for end in self.ends if not end.device}
        for end in self.ends:
            _require_name(end)
            if end.device and end.host in whole:
                raise OutputError(
                    f"{quoted(end.host)} occurs with a device ({quoted(end.device)}) and without one"
                )

    @property
    def ends(self) -> tuple[End, ...]:
        """All ends, in the order in which they occur."""
        return tuple(dict.fromkeys(end for row in self.rows for end in row[:2]))

    @property
    def title(self) -> str:
        """Return what distinguishes it from others of its format and metric, such as ``sendrecv_perf, 8M
        bytes``."""
        return ", ".join(
            filter(
                None,
                (self.kind, f"{size_text(self.size_B)} bytes" if self.size_B else ""),
            )
        )


def _require_name(end: End) -> None:
    """Raise :class:`OutputError` for an end whose name cannot be printed."""
    name = str(end)
    require(
        name.strip() and name.isprintable() and len(name) <= _LONGEST,
        f"{quoted(name)} is no printable name of at most {_LONGEST} characters",
    )


def unit(text: str) -> tuple[str, float]:
    """Return metric and factor of a unit, see :data:`UNITS`, also as ``Gbit/s``, ``Gbps``, ``MB/sec`` or
    ``usec``.

    :raises OutputError: for a unit that is not known.
    """
    short = (
        text.replace("bit/s", "b/s")
        .replace("ps", "/s")
        .removesuffix("ec")
        .replace("\N{MICRO SIGN}", "u")
    )
    require(
        short in UNITS,
        f"{quoted(text)} is no unit of bandwidth (GB/s, Gb/s, MiB/s) or latency (us)",
    )
    return UNITS[short]
