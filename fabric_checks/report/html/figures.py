# SPDX-License-Identifier: BSD-3-Clause
"""Figures 1 to 16 of SAND2005-5199, for the machines of the report.

Sections 4 (Figures 1 to 11), 5 (12 to 14) and 6 (15 and 16). Each is titled by what it shows here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fabric_checks.report.html.blocks import Picture, Section
from fabric_checks.report.html.curves import NumberOf, by_size, label, picture
from fabric_checks.report.html.plots import Line, Panel
from fabric_checks.report.html.scaling import lammps, layout_of
from fabric_checks.report.html.tables import BETWEEN, WITHIN
from fabric_checks.report.html.values import Results, Value

#: The number of nodes of the source's collectives.
NODES = 16


@dataclass(frozen=True)
class Way:
    """One way to a curve: the check, what is asked of it, and what it is called.

    :param convert: makes the value of a point what the figure shows.
    """

    check: str
    quantity: str
    name: str
    parameters: tuple[tuple[str, str], ...] = ()
    convert: Callable[[Value], Value] = lambda value: value


def _bandwidth(messages: int) -> Callable[[Value], Value]:
    """Return what turns the time of a message into MB/s: bytes a microsecond are that."""
    words = "message size" if messages == 1 else "twice the message size"

    def convert(value: Value) -> Value:
        how = f"{words} over the time {value.record['metric']}"
        return value.computed(messages * (value.size_B or 0), "MB/s", how, inverse=True)

    return convert


def _same(value: Value) -> Value:
    return value


def _imb(check: str, benchmark: str, quantity: str) -> Way:
    return Way(check, quantity, f"IMB {benchmark}", (("benchmark", benchmark),), _same)


def curve(results: Results, machine: str, layout: str, way: Way) -> list[Value]:
    """Return the points of a machine's curve by size."""
    found = results.of(machine, way.check, way.quantity, layout, **dict(way.parameters))
    values = [way.convert(value) for value in found if value.size_B is not None]
    return [value for value in values if value.median == value.median and not (value.size_B == 0 and value.derived)]


def panel(
    results: Results, title: str, layout: str, ways: Sequence[Way], y_label: str, *, log_y: bool = False
) -> Panel:
    """Return a panel with a line for each machine, by the first of the ways that it was measured."""
    found = []
    for machine in results.machines:
        for way in ways:
            values = curve(results, machine, layout, way)
            if values:
                found.append((machine, way.name, values))
                break
    names = {name for _, name, _ in found if name}
    several = len(names) > 1
    if len(names) == 1 and names != {title}:
        title = f"{title} ({names.pop()})"
    lines = [by_size(label(results, machine, name if several else ""), values) for machine, name, values in found]
    return Panel(title, tuple(line for line in lines if line), y_label, log_y=log_y)


_TIME = (Way("Streaming", "ping_pong_time", "ping-pong"), _imb("ImbPointToPoint", "PingPong", "time"))
_RATE = (
    Way("Streaming", "ping_pong_time", "ping-pong", (), _bandwidth(1)),
    _imb("ImbPointToPoint", "PingPong", "bandwidth"),
)
_STREAM_TIME = (Way("Streaming", "streaming_time", "streaming"),)
_STREAM_RATE = (Way("Streaming", "streaming_time", "streaming", (), _bandwidth(1)),)
_SENDRECV = (
    _imb("ImbParallel", "Sendrecv", "bandwidth"),
    Way("Streaming", "bidirectional_ping_pong_time", "both directions at once", (), _bandwidth(2)),
)
_US, _MBPS = "time, us", "bandwidth, MB/s"


def _pairs(results: Results, number_of: NumberOf) -> tuple[list[Picture], list[Picture]]:
    between, within = "between two nodes", "between two processes of a node"
    first = [
        picture(
            "figure-1",
            "Figure 1. Latency, ping-pong and streaming",
            f"Time of a message by its size, {between}: half the round trip, and the time a message with 64 in flight.",
            [
                panel(results, "ping-pong", BETWEEN, _TIME, _US, log_y=True),
                panel(results, "streaming", BETWEEN, _STREAM_TIME, _US, log_y=True),
            ],
            number_of,
        ),
        picture(
            "figure-2",
            "Figure 2. Bandwidth, ping-pong and streaming",
            f"Bandwidth by message size, {between}.",
            [
                panel(results, "ping-pong", BETWEEN, _RATE, _MBPS),
                panel(results, "streaming", BETWEEN, _STREAM_RATE, _MBPS),
            ],
            number_of,
        ),
        picture(
            "figure-3",
            "Figure 3. SendRecv bandwidth",
            f"Bandwidth of both directions together by message size, {between}.",
            [panel(results, between, BETWEEN, _SENDRECV, _MBPS)],
            number_of,
        ),
    ]
    return first, [
        picture(
            "figure-8",
            "Figure 8. Ping-pong latency within a node",
            f"Half the round trip by message size, {within}.",
            [panel(results, within, WITHIN, _TIME, _US, log_y=True)],
            number_of,
        ),
        picture(
            "figure-9",
            "Figure 9. Ping-pong bandwidth within a node",
            f"Bandwidth by message size, {within}.",
            [panel(results, within, WITHIN, _RATE, _MBPS)],
            number_of,
        ),
        picture(
            "figure-10",
            "Figure 10. SendRecv bandwidth within a node",
            f"Bandwidth of both directions together by message size, {within}.",
            [panel(results, within, WITHIN, _SENDRECV, _MBPS)],
            number_of,
        ),
    ]


#: The collectives by name: the ways to measure them.
_COLLECTIVES = {
    "Exchange": (_imb("ImbParallel", "Exchange", "time"),),
    "Allreduce": (
        _imb("ImbCollective", "Allreduce", "time"),
        Way("OsuCollective", "latency", "OSU", (("benchmark", "allreduce"),)),
    ),
    "Alltoall": (
        _imb("ImbCollective", "Alltoall", "time"),
        Way("OsuCollective", "latency", "OSU", (("benchmark", "alltoall"),)),
    ),
    "Bcast": (
        _imb("ImbCollective", "Bcast", "time"),
        Way("OsuCollective", "latency", "OSU", (("benchmark", "bcast"),)),
    ),
}


def _layout(results: Results, machine: str, way: Way, *, several: bool) -> str:
    """Return the layout of a machine that is nearest to the source's: 16 nodes if it can be, else the most."""
    found = {value.layout for value in results.of(machine, way.check, way.quantity, **dict(way.parameters))}
    known = [layout for layout in map(layout_of, found) if layout and layout.tasks > 1]
    layouts = [layout for layout in known if (layout.ppn > 1) == several]
    if several:  # two processes a node if there are, and any number of nodes
        least = min((layout.ppn for layout in layouts), default=0)
        layouts = [layout for layout in layouts if layout.ppn == least]
    fitting = [layout for layout in layouts if layout.nodes <= NODES] or layouts
    return str(max(fitting, key=lambda layout: layout.nodes)) if fitting else ""


def collective(results: Results, name: str, *, several: bool) -> Panel:
    """Return the time of a collective by message size.

    :param several: with two processes a node, or as many as there are, instead of one.
    """
    lines: list[Line] = []
    for machine in results.machines:
        for way in _COLLECTIVES[name]:
            layout = _layout(results, machine, way, several=several)
            found = by_size(
                label(results, machine, f"{layout}, {way.name}"), curve(results, machine, layout, way) if layout else []
            )
            if found:
                lines.append(found)
                break
    ppn = "several processes a node" if several else "one process a node"
    return Panel(f"{name}, {ppn}", tuple(lines), _US, log_y=True)


def _collectives(results: Results, number_of: NumberOf) -> list[Picture]:
    return [
        picture(
            f"figure-{4 + index}",
            f"Figure {4 + index}. {name}, {NODES} nodes",
            f"Time of {name} by message size, one process a node, on {NODES} nodes or as many as there are.",
            [collective(results, name, several=False)],
            number_of,
        )
        for index, name in enumerate(_COLLECTIVES)
    ]


def _overlap(results: Results, number_of: NumberOf) -> list[Picture]:
    def of(quantity: str, title: str, y_label: str, *, log_y: bool = False) -> Panel:
        return panel(results, title, BETWEEN, [Way("Overlap", quantity, "", (("poll", "none"),))], y_label, log_y=log_y)

    overhead, share = "effective latency, us", "host availability, %"
    return [
        picture(
            "figure-12",
            "Figure 12. Effective latency of MPI_Isend",
            "What a transfer takes from the host by message size, by the post-work-wait method.",
            [of("isend_overhead", "MPI_Isend", overhead, log_y=True)],
            number_of,
        ),
        picture(
            "figure-13",
            "Figure 13. Host availability of MPI_Isend",
            "The share of the transfer time that is left for work by message size.",
            [of("isend_availability", "MPI_Isend", share)],
            number_of,
        ),
        picture(
            "figure-14",
            "Figure 14. MPI_Irecv: effective latency and host availability",
            "The same two of the receiving side.",
            [of("irecv_overhead", "MPI_Irecv", overhead, log_y=True), of("irecv_availability", "MPI_Irecv", share)],
            number_of,
        ),
    ]


def section(results: Results, number_of: NumberOf) -> Section:
    """Return Figures 1 to 16."""
    first, within = _pairs(results, number_of)
    allreduce = picture(
        "figure-11",
        "Figure 11. Allreduce, two processes a node",
        "Time of Allreduce by message size with two processes on each node, or as many as there are, see the legend.",
        [collective(results, "Allreduce", several=True)],
        number_of,
    )
    blocks = (
        *first,
        *_collectives(results, number_of),
        *within,
        allreduce,
        *_overlap(results, number_of),
        *lammps(results, number_of),
    )
    return Section(
        "figures",
        "Figures 1 to 16 of the SAND report",
        blocks,
        ("Each point says where it comes from; the same figures stand in the table below each drawing.",),
    )
