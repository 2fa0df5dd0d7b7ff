# SPDX-License-Identifier: BSD-3-Clause
"""Which check measures a value of a description, in which layout and under which name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fabric_checks.core.layouts import Layout
from fabric_twins.errors import TwinError
from fabric_twins.model.description import Twin

#: The units of a description's keys, by their ending, as the checks write them.
UNITS: Mapping[str, str] = {"us": "us", "MBps": "MB/s", "B": "B", "percent": "%", "Mps": "Mmsg/s"}


@dataclass(frozen=True)
class Place:
    """One metric of one case.

    :param check: the class; :param layout: its layout.
    :param parameters: the values of its other parameters.
    :param metric: the metric; :param unit: its unit.
    """

    check: str
    layout: Layout
    parameters: Mapping[str, str]
    metric: str
    unit: str


_PAIR, _WITHIN = Layout(2, 1), Layout(1, 2)

#: Values whose metric has another name.
_EXCHANGE = "peak_bandwidth_exchange"
_NAMES: Mapping[tuple[str, str], str] = {
    ("sendrecv", "peak_bandwidth"): _EXCHANGE,
    ("two_ppn_sendrecv", "peak_bandwidth"): _EXCHANGE,
    ("two_ppn_ping_pong", "zero_byte_latency"): "zero_byte_latency_ping_pong",
    ("two_ppn_ping_pong", "peak_bandwidth"): "peak_bandwidth_ping_pong",
    # Two nodes are a single pair.
    ("rotate", "single_pair"): "median_bandwidth",
    ("rotate", "slowest_pair"): "slowest_pair_bandwidth",
}


def place_of(twin: Twin, benchmark: str, value: str) -> Place:
    """Return where a value of a twin's description is measured.

    :param value: its name with the unit.
    :raises TwinError: if no check measures it.
    """
    name, _, ending = value.rpartition("_")
    if ending not in UNITS:
        raise TwinError(
            f"{twin.file}: values.{benchmark}.{value}: has no unit; end the name in one of {', '.join(UNITS)}"
        )
    metric, unit = _NAMES.get((benchmark, name), name), UNITS[ending]
    if benchmark in ("streaming", "sendrecv"):
        return Place("Streaming", _PAIR, {}, metric, unit)
    if benchmark in ("two_ppn_ping_pong", "two_ppn_sendrecv"):
        return Place("Streaming", _WITHIN, {}, metric, unit)
    if benchmark.startswith("streaming_queue_"):
        return Place("StreamingQueue", _PAIR, {"queue_depth": benchmark.rpartition("_")[2]}, metric, unit)
    if benchmark == "rotate":
        layout = _PAIR if name == "single_pair" else Layout(twin.nodes, 1)
        return Place("Rotate", layout, {"pattern": "rotate"}, metric, unit)
    raise TwinError(
        f"{twin.file}: values.{benchmark}: no check measures that; the known ones are {', '.join(BENCHMARKS)}"
    )


#: The benchmarks of which a description may have values.
BENCHMARKS = (
    "streaming",
    "sendrecv",
    "streaming_queue_8",
    "streaming_queue_16",
    "streaming_queue_32",
    "two_ppn_ping_pong",
    "two_ppn_sendrecv",
    "rotate",
)
