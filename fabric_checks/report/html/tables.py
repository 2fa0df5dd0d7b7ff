# SPDX-License-Identifier: BSD-3-Clause
"""Tables 1 to 9 of SAND2005-5199, for the machines of the report.

An Analysis of the PathScale Inc. InfiniBand HCA, InfiniPath (Sandia National Laboratories, August 2005): sections 3
and 4. Its tables have a row for each platform; so have these. Where it took the Pallas (now Intel) MPI Benchmarks,
there is a column for them beside that of the collection's own program.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fabric_checks.report.html.blocks import Column, Section, Table, column_of
from fabric_checks.report.html.platforms import platforms
from fabric_checks.report.html.values import Results, Value
from fabric_checks.text import size_text

BETWEEN, WITHIN = "2x1", "1x2"
_STREAMING = "streaming"
_IMB = "IMB"


@dataclass(frozen=True)
class Ask:
    """Where the figures of a column are.

    :param title: of the column; :param unit: that the figures have to have.
    :param check: the class; :param quantity: the metric, or the curve if ``peak`` or ``size_B`` is given.
    :param parameters: of the test.
    :param size_B: which point of the curve; :param peak: its largest value is meant.
    """

    title: str
    unit: str
    check: str
    quantity: str
    layout: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    size_B: int | None = None
    peak: bool = False


def answer(results: Results, machine: str, ask: Ask) -> Value | None:
    """Return a machine's figure for a column, or None if it was not measured."""
    found = [
        value
        for value in results.of(machine, ask.check, ask.quantity, ask.layout, **ask.parameters)
        if value.unit == ask.unit and (ask.size_B is None or value.size_B == ask.size_B)
    ]
    if not found:
        return None
    if not ask.peak:
        return found[0]
    top = max(found, key=lambda value: value.median)
    return top.computed(
        1, ask.unit, f"the largest value of the curve {ask.quantity}, at {size_text(top.size_B or 0)} B"
    )


def _own(title: str, unit: str, metric: str, layout: str) -> Ask:
    return Ask(title, unit, "Streaming", metric, layout)


def _sendrecv(layout: str) -> tuple[Ask, ...]:
    return (
        _own(f"both directions ({_STREAMING})", "MB/s", "peak_bandwidth_exchange", layout),
        Ask(f"Sendrecv ({_IMB})", "MB/s", "ImbParallel", "bandwidth", layout, {"benchmark": "Sendrecv"}, peak=True),
    )


_PING_PONG = {"benchmark": "PingPong"}

#: Tables 2 to 9 by number: title and columns.
TABLES: Mapping[int, tuple[str, tuple[Ask, ...]]] = {
    2: (
        "Zero-byte latency between two nodes",
        (
            _own("ping-pong", "us", "zero_byte_latency_ping_pong", BETWEEN),
            _own("streaming", "us", "zero_byte_latency_streaming", BETWEEN),
            _own("reduction", "%", "zero_byte_latency_reduction", BETWEEN),
        ),
    ),
    3: ("Message rate at 8 bytes, streaming", (_own("message rate", "Mmsg/s", "message_rate_8B", BETWEEN),)),
    4: (
        "Peak bandwidth between two nodes",
        (
            _own("ping-pong", "MB/s", "peak_bandwidth_ping_pong", BETWEEN),
            _own("streaming", "MB/s", "peak_bandwidth_streaming", BETWEEN),
        ),
    ),
    5: (
        "N1/2: message size at half of the peak bandwidth",
        (
            _own("ping-pong", "B", "half_peak_size_ping_pong", BETWEEN),
            _own("streaming", "B", "half_peak_size_streaming", BETWEEN),
            _own("increase", "%", "half_peak_size_increase", BETWEEN),
        ),
    ),
    6: ("Peak bandwidth of SendRecv between two nodes, both directions together", _sendrecv(BETWEEN)),
    7: (
        "Zero-byte ping-pong latency between two processes of a node",
        (
            _own(f"ping-pong ({_STREAMING})", "us", "zero_byte_latency_ping_pong", WITHIN),
            Ask(f"PingPong ({_IMB})", "us", "ImbPointToPoint", "time", WITHIN, _PING_PONG, size_B=0),
        ),
    ),
    8: (
        "Peak ping-pong bandwidth between two processes of a node",
        (
            _own(f"ping-pong ({_STREAMING})", "MB/s", "peak_bandwidth_ping_pong", WITHIN),
            Ask(f"PingPong ({_IMB})", "MB/s", "ImbPointToPoint", "bandwidth", WITHIN, _PING_PONG, peak=True),
        ),
    ),
    9: ("Peak bandwidth of SendRecv between two processes of a node, both directions together", _sendrecv(WITHIN)),
}


def table(results: Results, key: str, caption: str, asks: tuple[Ask, ...]) -> Table:
    """Return a table with a row for each machine and a column for each of ``asks``; empty IMB columns are left out."""
    columns = [[answer(results, machine, ask) for machine in results.machines] for ask in asks]
    kept = [
        (ask, values)
        for position, (ask, values) in enumerate(zip(asks, columns, strict=True))
        if any(values) or not position or ask.check == "Streaming"
    ]
    cells = [column_of(values) for _, values in kept]
    left_out = [ask.title for ask in asks if ask not in [each for each, _ in kept]]
    notes = tuple(f"{title}: not measured on any of these machines." for title in left_out)
    rows = tuple((machine, tuple(column[row] for column in cells)) for row, machine in enumerate(results.machines))
    return Table(key, caption, "machine", tuple(Column(ask.title, ask.unit) for ask, _ in kept), rows, notes)


def section(results: Results) -> Section:
    """Return Tables 1 to 9."""
    rest = (table(results, f"table-{n}", f"Table {n}. {title}", asks) for n, (title, asks) in TABLES.items())
    return Section(
        "tables",
        "Tables 1 to 9 of the SAND report",
        (platforms(results), *rest),
        (
            "The tables of SAND2005-5199 (An Analysis of the PathScale Inc. InfiniBand HCA, InfiniPath, 2005), for "
            "these machines. MB/s is 10^6 bytes a second. The best figure of a column is bold and has a star.",
        ),
    )
