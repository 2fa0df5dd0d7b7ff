# SPDX-License-Identifier: BSD-3-Clause
"""Output of our program ``latency_map``: the latency of every pair, measured several times from both ends."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.parsers import fabric, long_table, rotate_patterns
from fabric_checks.parsers.table import number, whole

_COLUMNS = {
    **dict.fromkeys(("pass", "round", "starter", "other"), pl.Int32),
    **dict.fromkeys(("latency_us", "least_us"), pl.Float64),
}


@dataclass(frozen=True)
class LatencyOutput:
    """One run of ``latency_map``, its measurements as arrays of the same length.

    :param header: the header and footer lines by key. :param hosts: the name of each rank's host, by rank.
    :param passes: the number of passes over the rounds; :param elapsed_s: what they took, in seconds.
    :param starter: the rank that started the ping-pongs; :param other: the one that answered.
    :param latency_us: half of the time of a ping-pong in us, the median of the samples; :param least_us: the least.
    """

    header: Mapping[str, str]
    hosts: tuple[str, ...]
    passes: int
    elapsed_s: float
    starter: NDArray[np.int32]
    other: NDArray[np.int32]
    latency_us: NDArray[np.float64]
    least_us: NDArray[np.float64]


def parse(text: str) -> LatencyOutput:
    """Read the output of ``latency_map``; every pair of every round of every pass has to be there.

    :raises OutputError: if the output is not whole or its values are not believable.
    """
    frame = fabric.split(text, "latency_map", tuple(_COLUMNS))
    table = _table(frame)
    fabric.require_count(frame, table.height)
    header = frame.header
    ranks = whole(header.get("ranks", ""), None, "the header's number of 'ranks'")
    words = header.get("options", "").split()
    passes = whole(dict(zip(words[::2], words[1::2], strict=False)).get("passes", ""), None, "the option 'passes'")
    shifts = re.fullmatch(r"([0-9]{1,9}) of ([0-9]{1,9})", header.get("shifts", ""))
    if ranks < 2 or passes < 1 or shifts is None or int(shifts[2]) != 2 * rotate_patterns.turns(ranks):
        raise OutputError(
            f"the header states {quoted(header.get('shifts', ''))} rounds and {passes} passes of {ranks} ranks"
        )
    if table.height != passes * int(shifts[1]) * (ranks // 2):
        raise OutputError(
            f"there are {table.height} rows; {passes} passes of {shifts[1]} rounds have a different number"
        )
    rounds = rotate_patterns.round_robin_rounds(ranks, int(shifts[1]))
    if len(rounds) != int(shifts[1]):
        raise OutputError(
            f"the header states {quoted(header['shifts'])} rounds, which is impossible with {ranks} ranks"
        )
    numbers = np.array(rounds, dtype=np.int32)
    starter, other = (np.tile(each.ravel(), passes) for each in rotate_patterns.pairs("round-robin", ranks, numbers))
    expected: dict[str, NDArray[np.int64] | NDArray[np.int32]] = {
        "pass": np.repeat(np.arange(passes), len(rounds) * (ranks // 2)),
        "round": np.tile(np.repeat(numbers, ranks // 2), passes),
        "starter": starter,
        "other": other,
    }
    if not all(np.array_equal(table[name].to_numpy(), values) for name, values in expected.items()):
        raise OutputError("the rows are not those of the rounds, torn or out of order")
    elapsed = re.fullmatch(r"([0-9.eE+-]+) s", header.get("elapsed", ""))
    return LatencyOutput(
        header,
        tuple(_host(header, rank) for rank in range(ranks)),
        passes,
        number(elapsed[1] if elapsed else "", None),
        starter,
        other,
        table["latency_us"].to_numpy(),
        table["least_us"].to_numpy(),
    )


def _host(header: Mapping[str, str], rank: int) -> str:
    words = header.get(f"rank {rank}", "").split()
    if len(words) != 2:
        raise OutputError(f"the header does not name the host of rank {rank}")
    return words[1]


def _table(frame: fabric.Frame) -> pl.DataFrame:
    table = long_table.rows(frame, _COLUMNS)
    if table is None:
        raise _first_bad_row(frame)
    median, least = table["latency_us"], table["least_us"]
    if not (median.is_finite() & (least > 0) & (least <= median)).all():
        raise _first_bad_row(frame)
    return table


def _first_bad_row(frame: fabric.Frame) -> OutputError:
    for place, line in enumerate(frame.body.splitlines(), frame.first_line):
        if not line.strip():
            continue
        cells = line.split(" ")
        if len(cells) != len(_COLUMNS) or not all(re.fullmatch(r"[0-9]{1,9}", cell) for cell in cells[:4]):
            return OutputError(f"a row of the columns {' '.join(_COLUMNS)} was expected, found {quoted(line)}", place)
        try:
            median, least = (number(cell, place) for cell in cells[4:])
        except OutputError as error:
            return error
        if not 0 < least <= median:
            return OutputError(f"the least of the samples is {least:g} us, but their median is {median:g} us", place)
    return OutputError(f"the columns {' '.join(frame.columns)} were expected to be {' '.join(_COLUMNS)}")
