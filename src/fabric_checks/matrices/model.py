# SPDX-License-Identifier: BSD-3-Clause
"""A table of pairs, whichever program measured it, and the rules that all formats share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fabric_checks.core.errors import OutputError, quoted

Numbers = NDArray[np.int64]

BANDWIDTH, LATENCY = "bandwidth", "latency"
_PREFIXES = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30}
#: The metric of each unit, and what one of it is in MB/s (10^6 B/s) or in us.
UNITS: Mapping[str, tuple[str, float]] = {
    **{f"{prefix}B/s": (BANDWIDTH, size / 1e6) for prefix, size in _PREFIXES.items()},
    **{f"{prefix}b/s": (BANDWIDTH, size / 8e6) for prefix, size in _PREFIXES.items()},
    **{"ns": (LATENCY, 1e-3), "us": (LATENCY, 1.0), "ms": (LATENCY, 1e3), "s": (LATENCY, 1e6)},
}


class End(NamedTuple):
    """An end of a pair.

    :param host: its name.
    :param device: what of the host took part, such as ``gpu 3`` or ``mlx5_0``; empty for the host as a whole. Devices
        of the same name on different hosts are taken for one rail.
    """

    host: str
    device: str = ""

    def __str__(self) -> str:
        """Return the end in words."""
        return f"{self.host} {self.device}" if self.device else self.host


class Row(NamedTuple):
    """One measurement, as a reader finds it.

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
    """The measurements of one kind in one file: arrays of the same length, in the order in which they were made.

    :param format: the program, as its users call it.
    :param metric: :data:`BANDWIDTH` in MB/s (10^6 B/s) or :data:`LATENCY` in us.
    :param ends: all ends that occur, none twice; :param sender: a position in it; :param receiver: another one.
    :param value: finite and above 0; :param repeat: the number of the measurement of this pair, from 0.
    :param round: what ran at once has the same number; -1 where the format does not say.
    :param alone: whether no other pair ran at the same time; None where the format does not say.
    :param both_ways: whether a value is that of both directions.
    :param cannot_tell: what the format cannot tell, a sentence each.
    :param title: what distinguishes it from other tables of this metric in the same file, such as ``8 MiB``.
    """

    format: str
    metric: str
    ends: tuple[End, ...]
    sender: Numbers
    receiver: Numbers
    value: NDArray[np.float64]
    repeat: Numbers
    round: Numbers
    alone: bool | None
    both_ways: bool
    cannot_tell: tuple[str, ...] = ()
    title: str = ""

    def __len__(self) -> int:
        """Return the number of measurements."""
        return len(self.value)


def of_rows(
    format_name: str,
    metric: str,
    rows: Iterable[Row],
    *,
    alone: bool | None,
    both_ways: bool = False,
    most_repeats: int | None = None,
    cannot_tell: Sequence[str] = (),
    title: str = "",
) -> PairTable:
    """Return the table of some rows; the same pair again is its next repeat.

    :param most_repeats: how often a pair may occur, where the format says it. With ``both_ways`` the two directions of
        a pair are one pair.
    :raises OutputError: for a pair of an end with itself, a value not above 0, a pair that occurs too often, two
        pairs of one round that contradict ``alone``, ends of a host with and without a device, and no rows.
    """
    numbers: dict[End, int] = {}
    counts: dict[tuple[int, int], int] = {}
    found: list[tuple[int, int, float, int, int]] = []
    for sender, receiver, value, line, round_number in rows:
        if sender == receiver:
            raise OutputError(f"{quoted(str(sender))} is paired with itself", line)
        if not (np.isfinite(value) and value > 0):
            raise OutputError(f"{sender} to {receiver} is {value:g}; a value above 0 was expected", line)
        one, other = (numbers.setdefault(end, len(numbers)) for end in (sender, receiver))
        pair = (min(one, other), max(one, other)) if both_ways else (one, other)
        repeat = counts.get(pair, 0)
        counts[pair] = repeat + 1
        if most_repeats is not None and repeat >= most_repeats:
            raise OutputError(f"{sender} to {receiver} is there more than {most_repeats} times", line)
        found.append((one, other, value, repeat, round_number))
    if not found:
        raise OutputError(f"no pair with a value is in this output of {format_name}: give one that ran to its end")
    _require_ends(tuple(numbers))
    sender_column, receiver_column, values, repeats, rounds = zip(*found, strict=True)
    of_round = np.array(rounds, dtype=np.int64)
    if alone and len(np.unique(of_round[of_round >= 0])) < (of_round >= 0).sum():
        raise OutputError("pairs that were measured alone have the same round")
    return PairTable(
        format_name,
        metric,
        tuple(numbers),
        np.array(sender_column, dtype=np.int64),
        np.array(receiver_column, dtype=np.int64),
        np.array(values, dtype=np.float64),
        np.array(repeats, dtype=np.int64),
        of_round,
        alone,
        both_ways,
        tuple(cannot_tell),
        title,
    )


def _require_ends(ends: tuple[End, ...]) -> None:
    """Raise :class:`OutputError` if an end has no name, or a host occurs with and without a device."""
    whole = {end.host for end in ends if not end.device}
    for end in ends:
        if not end.host.strip():
            raise OutputError("an end of a pair has no name")
        if end.device and end.host in whole:
            raise OutputError(f"{quoted(end.host)} occurs with a device ({quoted(end.device)}) and without one")


def unit(text: str, line: int | None = None) -> tuple[str, float]:
    """Return metric and factor of a unit, see :data:`UNITS`, also as ``Gbit/s``, ``Gbps``, ``MB/sec`` or ``usec``.

    :raises OutputError: for a unit that is not known.
    """
    short = text.replace("bit/s", "b/s").replace("ps", "/s").removesuffix("ec").replace("\N{MICRO SIGN}", "u")
    if short not in UNITS:
        raise OutputError(f"{quoted(text)} is no unit of bandwidth (GB/s, Gb/s, MiB/s) or latency (us)", line)
    return UNITS[short]
