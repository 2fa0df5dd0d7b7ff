# SPDX-License-Identifier: BSD-3-Clause
"""Output of our program ``latency_map``: the latency of every pair, measured several times from both ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fabric_checks.parsers import fabric
from fabric_checks.parsers.table import require

TABLE = fabric.Table(
    "latency_map",
    dict.fromkeys(("pass", "round", "starter", "other"), fabric.COUNT)
    | dict.fromkeys(("latency_us", "least_us"), fabric.POSITIVE),
    keys=("pass", "round", "starter", "other"),
)


@dataclass(frozen=True)
class LatencyOutput:
    """One run of ``latency_map``, or the latencies of another program; measurements as arrays of the same
    length.

    :param header: the header and footer lines by key. :param hosts: the name of each rank's host, by rank.
    :param passes: the number of passes over the rounds; :param elapsed_s: their time in seconds.
    :param starter: the rank that started the ping-pong; :param other: its partner.
    :param latency_us: half of the time of a ping-pong in us, the median of the samples.
    :param number: the pass of each measurement of another program, which may have missed some; None for all
        in order.
    """

    header: Mapping[str, str]
    hosts: tuple[str, ...]
    passes: int
    elapsed_s: float
    starter: NDArray[np.int32]
    other: NDArray[np.int32]
    latency_us: NDArray[np.float64]
    number: NDArray[np.int32] | None = None


def parse(text: str) -> LatencyOutput:
    """Read the output of ``latency_map``.

    :raises OutputError: if the output is not whole or its values are not believable.
    """
    header, frame = fabric.read_frame(text, TABLE)
    hosts = fabric.hosts(header)
    passes = fabric.number_of(fabric.options(header), "passes")
    of_pass = fabric.rounds(header) * (len(hosts) // 2)
    wanted = passes * of_pass
    require(
        len(frame) == wanted,
        f"{wanted} pairs in {passes} passes were asked for, but {len(frame)} were measured",
    )
    # What collects the lines of several files may have them in any order.
    frame = frame.sort("pass", maintain_order=True)
    one_by_one = pl.int_range(pl.len()) // max(of_pass, 1)
    require(
        frame.select((pl.col("pass") == one_by_one).all()).item(),
        f"{of_pass} pairs were asked for in each of {passes} passes, but some passes have more, others fewer",
    )
    require(
        frame.select((pl.col("least_us") <= pl.col("latency_us")).all()).item(),
        "the shortest sample of a pair is longer than the median of its samples",
    )
    starter, other, latency_us = (
        frame[name].to_numpy() for name in list(TABLE.columns)[2:5]
    )
    return LatencyOutput(
        header,
        hosts,
        passes,
        fabric.seconds(header, "elapsed"),
        starter,
        other,
        latency_us,
    )
