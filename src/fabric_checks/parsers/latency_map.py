# SPDX-License-Identifier: BSD-3-Clause
"""Output of our program ``latency_map``: the latency of every pair, measured several times from both ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fabric_checks.core.errors import OutputError
from fabric_checks.parsers import fabric, long_table, rotate_patterns

_COLUMNS = {
    **dict.fromkeys(("pass", "round", "starter", "other"), pl.Int32),
    **dict.fromkeys(("latency_us", "least_us"), pl.Float64),
}
_VALID = pl.col("latency_us").is_finite() & (pl.col("least_us") > 0) & (pl.col("least_us") <= pl.col("latency_us"))
_RULE = "the least of the samples was expected to be above 0 and at most their median"


@dataclass(frozen=True)
class LatencyOutput:
    """One run of ``latency_map``, or the latencies of another program; measurements as arrays of the same length.

    :param header: the header and footer lines by key. :param hosts: the name of each rank's host, by rank.
    :param passes: the number of passes over the rounds; :param elapsed_s: their time in seconds.
    :param starter: the rank that started the ping-pong; :param other: its partner.
    :param latency_us: half of the time of a ping-pong in us, the median of the samples; :param least_us: the least.
    :param number: the pass of each measurement of another program, which may have missed some; None for all in order.
    """

    header: Mapping[str, str]
    hosts: tuple[str, ...]
    passes: int
    elapsed_s: float
    starter: NDArray[np.int32]
    other: NDArray[np.int32]
    latency_us: NDArray[np.float64]
    least_us: NDArray[np.float64]
    number: NDArray[np.int32] | None = None


def parse(text: str) -> LatencyOutput:
    """Read the output of ``latency_map``, which has every pair of every round of every pass.

    :raises OutputError: if the output is not whole or its values are not believable.
    """
    header, table = long_table.parse(text, "latency_map", _COLUMNS, _VALID, _RULE)
    ranks = fabric.number_of(header, "ranks", at_least=2)
    options = fabric.options(header)
    passes, samples, repetitions = (
        fabric.number_of(options, name, at_least=1) for name in ("passes", "samples", "repetitions")
    )
    shifts, of_shifts = fabric.shifts(header)
    if of_shifts != 2 * rotate_patterns.turns(ranks):
        raise OutputError(f"the header states {of_shifts} rounds; {ranks} ranks have a different number")
    if table.height != passes * shifts * (ranks // 2):
        raise OutputError(f"there are {table.height} rows; {passes} passes of {shifts} rounds have a different number")
    rounds = rotate_patterns.round_robin_rounds(ranks, shifts)
    numbers = np.array(rounds, dtype=np.int32)
    starter, other = (np.tile(each.ravel(), passes) for each in rotate_patterns.pairs("round-robin", ranks, numbers))
    number = np.repeat(np.arange(passes), len(rounds) * (ranks // 2))
    expected = (number, np.tile(np.repeat(numbers, ranks // 2), passes), starter, other)
    if not np.array_equal(table[list(_COLUMNS)[:4]].to_numpy().T, expected):
        raise OutputError("the rows are not those of the rounds, torn or out of order")
    # Half of the samples of a pair are its median or more, the others its least or more, of half a ping-pong each. The
    # pairs of a round take as long as the slowest.
    below = samples // 2
    pair_us = 2 * repetitions * ((samples - below) * table["latency_us"] + below * table["least_us"]).to_numpy()
    rounds_s = 1e-6 * float(pair_us.reshape(-1, ranks // 2).max(axis=1).sum())
    elapsed_s = fabric.require_elapsed(header, "elapsed", rounds_s, "the slowest pairs of the rounds")
    times_us = (table["latency_us"].to_numpy(), table["least_us"].to_numpy())
    return LatencyOutput(header, fabric.hosts(header, ranks), passes, elapsed_s, starter, other, *times_us)
