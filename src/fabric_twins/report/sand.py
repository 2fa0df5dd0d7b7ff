# SPDX-License-Identifier: BSD-3-Clause
"""The tables and figures of SAND2005-5199, filled with measurements.

An Analysis of the PathScale Inc. InfiniBand HCA, InfiniPath (Sandia National Laboratories, August 2005). Its tables
have a row for each platform; so have these. Where it took the Pallas (now Intel) MPI Benchmarks, there is a column for
them next to that of the collection's own program. Its figures set platforms side by side, so they are drawn for two
machines or more: of one, the sections of the families have the same curves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from fabric_checks.core.text import clean, size_text, value_text
from fabric_checks.report.blocks import Cell, Column, Picture, Section, Table, column_of
from fabric_checks.report.drawing import Line, Panel
from fabric_checks.report.figures import by_size, label, layout_of, picture
from fabric_checks.report.provenance import Provenance
from fabric_checks.report.values import Results, Value
from fabric_twins.report.published import Platforms
from fabric_twins.report.published import platforms as published_platforms

BETWEEN, WITHIN = "2x1", "1x2"
#: The number of nodes of the source's collectives.
NODES = 16


@dataclass(frozen=True)
class Ask:
    """The values of a column.

    :param unit: that the values have to have. :param check: the class.
    :param quantity: the metric, or the curve if ``peak`` or ``size_B`` is given. :param parameters: of the test.
    :param size_B: the point of the curve; :param peak: whether it is the largest value of the curve.
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
    """Return a machine's value for a column, or None if it was not measured."""
    found = [
        value
        for value in results.of(machine, ask.quantity, ask.layout, check=ask.check, **ask.parameters)
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
        _own("both directions (streaming)", "MB/s", "peak_bandwidth_exchange", layout),
        Ask("Sendrecv (IMB)", "MB/s", "ImbParallel", "bandwidth", layout, {"benchmark": "Sendrecv"}, peak=True),
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
            _own("ping-pong (streaming)", "us", "zero_byte_latency_ping_pong", WITHIN),
            Ask("PingPong (IMB)", "us", "ImbPointToPoint", "time", WITHIN, _PING_PONG, size_B=0),
        ),
    ),
    8: (
        "Peak ping-pong bandwidth between two processes of a node",
        (
            _own("ping-pong (streaming)", "MB/s", "peak_bandwidth_ping_pong", WITHIN),
            Ask("PingPong (IMB)", "MB/s", "ImbPointToPoint", "bandwidth", WITHIN, _PING_PONG, peak=True),
        ),
    ),
    9: ("Peak bandwidth of SendRecv between two processes of a node, both directions together", _sendrecv(WITHIN)),
}


def table(results: Results, key: str, caption: str, asks: Sequence[Ask], published: Platforms) -> Table | None:
    """Return a table with a row for each machine, a column for each of ``asks`` that has a value; None without any.

    :param published: published values, in rows of their own where they have the columns.
    """
    columns = [(ask, [answer(results, machine, ask) for machine in results.machines]) for ask in asks]
    kept = [(ask, values) for ask, values in columns if any(values)]
    if not kept:
        return None
    cells = [column_of(values) for _, values in kept]
    rows = [(machine, tuple(column[row] for column in cells)) for row, machine in enumerate(results.machines)]
    for name, of in published.items():
        found = [of.get((ask.check, ask.layout, ask.quantity)) for ask, _ in kept]
        if any(found):
            cells_of_row = (
                Cell(value_text(each.value), mark=each.source) if each else Cell("", missing=True) for each in found
            )
            rows.append((f"{name} (published)", tuple(cells_of_row)))
    return Table(key, caption, "machine", tuple(Column(ask.title, ask.unit) for ask, _ in kept), tuple(rows))


def platforms(results: Results) -> Table:
    """Return Table 1: what each machine is."""
    columns = ("what it is", "nodes", "processes a node", "link", "MPI", "compiler")
    rows = tuple((machine, _platform(results, machine)) for machine in results.machines)
    note = "Nodes and processes a node are the most that were used. MPI and compiler are as reported by the programs."
    return Table("table-1", "Table 1. Platforms", "machine", tuple(map(Column, columns)), rows, (note,))


def _platform(results: Results, machine: str) -> tuple[Cell, ...]:
    values = results.of_machine(machine)
    latest = values[-1].record if values else {}
    link_MBps = latest.get("link_MBps")
    texts = (
        clean(latest.get("about") or ""),
        *(str(max((value.record[name] or 0 for value in values), default=0) or "") for name in ("nodes", "ppn")),
        f"{value_text(link_MBps)} MB/s" if link_MBps else "",
        *(
            "; ".join(dict.fromkeys(clean(value.record[name]) for value in values if value.record[name]))
            for name in ("mpi", "compiler")
        ),
    )
    return tuple(Cell(text) if text else Cell("not known", missing=True) for text in texts)


# The figures

#: A way to a curve: check, quantity, parameters.
_Way = tuple[str, str, Mapping[str, str]]
_TIME: tuple[_Way, ...] = (("Streaming", "ping_pong_time", {}), ("ImbPointToPoint", "time", _PING_PONG))
_SENDRECV: tuple[_Way, ...] = (
    ("ImbParallel", "bandwidth", {"benchmark": "Sendrecv"}),
    ("Streaming", "bidirectional_ping_pong_time", {}),
)
_NO_POLL = {"poll": "none"}


def _collective(name: str) -> tuple[_Way, ...]:
    check = "ImbParallel" if name == "Exchange" else "ImbCollective"
    return ((check, "time", {"benchmark": name}), ("OsuCollective", "latency", {"benchmark": name.lower()}))


def _lines(results: Results, ways: Sequence[_Way], layout: str, messages: int = 0) -> tuple[Line, ...]:
    """Return a line for each machine, by the first of the ways that it was measured.

    :param layout: one, or ``one`` or ``several`` for the most nodes up to :data:`NODES` with so many processes each.
    :param messages: turn times into bandwidths: so many message sizes over the time.
    """
    lines = []
    for machine in results.machines:
        for check, quantity, parameters in ways:
            own = (
                layout if "x" in layout else _nearest(results.of(machine, quantity, check=check, **parameters), layout)
            )
            found = results.of(machine, quantity, own, check=check, **parameters) if own else []
            if messages and "time" in quantity:
                how = "message size" if messages == 1 else "twice the message size"
                found = [
                    v.computed(messages * v.size_B, "MB/s", f"{how} over the time {v.record['metric']}", inverse=True)
                    for v in found
                    if v.size_B
                ]
            line = by_size(label(results, machine, "" if "x" in layout else own), found)
            if line:
                lines.append(line)
                break
    return tuple(lines)


def _nearest(values: Iterable[Value], ppn: str) -> str:
    """Return the layout that is nearest to the source's: 16 nodes if there are, else the most, and the least a node."""
    known = {layout for layout in (layout_of(value.layout) for value in values) if layout and layout.tasks > 1}
    fitting = [layout for layout in known if (layout.ppn > 1) == (ppn == "several")]
    best = max(fitting, key=lambda each: (each.nodes <= NODES, each.nodes, -each.ppn), default=None)
    return str(best) if best else ""


def figures(results: Results, provenance: Provenance) -> list[Picture]:
    """Return those of Figures 1 to 14 on which two machines or more can be seen side by side."""
    us, MBps = "time, us", "bandwidth, MB/s"
    stream: tuple[_Way, ...] = (("Streaming", "streaming_time", {}),)
    times = [("ping-pong", _TIME, 0, us), ("streaming", stream, 0, us)]
    rates = [
        ("ping-pong", (_TIME[0], ("ImbPointToPoint", "bandwidth", _PING_PONG)), 1, MBps),
        ("streaming", stream, 1, MBps),
    ]
    both = [("both directions", _SENDRECV, 2, MBps)]

    def overlap(name: str) -> list[tuple[str, tuple[_Way, ...], int, str]]:
        return [
            ("effective latency", (("Overlap", f"{name}_overhead", _NO_POLL),), 0, us),
            ("host availability", (("Overlap", f"{name}_availability", _NO_POLL),), 0, "left for work, %"),
        ]

    specified = [
        (1, "Latency between two nodes", BETWEEN, times),
        (2, "Bandwidth between two nodes", BETWEEN, rates),
        (3, "SendRecv bandwidth between two nodes", BETWEEN, both),
        *(
            (4 + at, f"{name} on {NODES} nodes or as many as there are", "one", [(name, _collective(name), 0, us)])
            for at, name in enumerate(("Exchange", "Allreduce", "Alltoall", "Bcast"))
        ),
        (8, "Ping-pong latency within a node", WITHIN, times[:1]),
        (9, "Ping-pong bandwidth within a node", WITHIN, rates[:1]),
        (10, "SendRecv bandwidth within a node", WITHIN, both),
        (11, "Allreduce, several processes a node", "several", [("Allreduce", _collective("Allreduce"), 0, us)]),
        (12, "Overlap of MPI_Isend (Figures 12 and 13)", BETWEEN, overlap("isend")),
        (14, "Overlap of MPI_Irecv", BETWEEN, overlap("irecv")),
    ]
    found = []
    for at, title, layout, panels in specified:
        drawn = [Panel(name, _lines(results, ways, layout, messages), y) for name, ways, messages, y in panels]
        if any(len(each.lines) > 1 for each in drawn):
            made = picture(f"figure-{at}", f"Figure {at}. {title}", "By message size.", drawn, provenance)
            found += [made] if made else []
    return found


def section(results: Results, provenance: Provenance, published: bool = False) -> Section | None:
    """Return the tables and figures that have something to say; None if none has.

    :param published: whether to show the platforms of the document itself, next to the machines.
    """
    known = published_platforms() if published else {}
    listed = (table(results, f"table-{n}", f"Table {n}. {title}", asks, known) for n, (title, asks) in TABLES.items())
    tables = [each for each in listed if each]
    if not tables:
        return None
    blocks: list[Table | Picture] = [platforms(results), *tables, *figures(results, provenance)]
    intro = (
        "The tables of SAND2005-5199 (An Analysis of the PathScale Inc. InfiniBand HCA, InfiniPath, 2005), for these "
        "machines. MB/s is 10^6 bytes a second. The best value of a column is bold and starred."
        + (" Published values are as printed in 2005, and were not measured here." if published else ""),
    )
    return Section("tables", "As in the SAND report", tuple(blocks), intro)
