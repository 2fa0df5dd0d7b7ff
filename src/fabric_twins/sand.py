# SPDX-License-Identifier: BSD-3-Clause
"""The tables of SAND2005-5199, filled with measurements.

An Analysis of the PathScale Inc. InfiniBand HCA, InfiniPath (Sandia National Laboratories, August 2005). Its
tables have a row for each platform; so have these. Where it took the Pallas (now Intel) MPI Benchmarks, there
is a column for them next to that of the collection's own program. The curves of its figures are in the
sections of the families.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from fabric_checks.core.paths import ROOT
from fabric_checks.core.text import clean, size_text, value_text
from fabric_checks.report.blocks import Cell, Section, Table, number
from fabric_checks.report.values import Results, Value
from fabric_twins.model.description import PublishedValue, load_all

BETWEEN, WITHIN = "2x1", "1x2"

#: The published values of a platform, by layout and metric.
Platforms = Mapping[str, Mapping[tuple[str, str], PublishedValue]]


@dataclass(frozen=True)
class Ask:
    """The values of a column.

    :param unit: the unit of the values.
    :param quantity: the metric, or the curve if ``peak`` or ``size_B`` is given.
    :param parameters: all of the test but its layout.
    :param size_B: the point of the curve; :param peak: whether it is the largest value of the curve.
    """

    title: str
    unit: str
    quantity: str
    layout: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    size_B: int | None = None
    peak: bool = False

    @property
    def head(self) -> str:
        """The head of its column: title and unit."""
        return self.title if self.unit == "1" else f"{self.title}, {self.unit}"


def answer(results: Results, machine: str, ask: Ask) -> Value | None:
    """Return a machine's value for a column, or None if it was not measured."""
    found = [
        value
        for value in results.of(machine, ask.quantity, ask.layout)
        if value.unit == ask.unit
        and value.parameters == ask.parameters
        and (ask.size_B is None or value.size_B == ask.size_B)
    ]
    if not found:
        return None
    if not ask.peak:
        return found[0]
    top = max(found, key=lambda value: value.median)
    return replace(
        top,
        derived=f"the largest value of the curve {ask.quantity}, at {size_text(top.size_B or 0)} B",
    )


def _sendrecv(layout: str) -> tuple[Ask, ...]:
    return (
        Ask("both directions (streaming)", "MB/s", "peak_bandwidth_exchange", layout),
        Ask(
            "Sendrecv (IMB)",
            "MB/s",
            "bandwidth",
            layout,
            {"benchmark": "Sendrecv"},
            peak=True,
        ),
    )


_PING_PONG = {"benchmark": "PingPong"}

#: Tables 2 to 9 by number: title and columns.
TABLES: Mapping[int, tuple[str, tuple[Ask, ...]]] = {
    2: (
        "Zero-byte latency between two nodes",
        (
            Ask("ping-pong", "us", "zero_byte_latency_ping_pong", BETWEEN),
            Ask("streaming", "us", "zero_byte_latency_streaming", BETWEEN),
            Ask("reduction", "%", "zero_byte_latency_reduction", BETWEEN),
        ),
    ),
    3: (
        "Message rate at 8 bytes, streaming",
        (Ask("message rate", "Mmsg/s", "message_rate_8B", BETWEEN),),
    ),
    4: (
        "Peak bandwidth between two nodes",
        (
            Ask("ping-pong", "MB/s", "peak_bandwidth_ping_pong", BETWEEN),
            Ask("streaming", "MB/s", "peak_bandwidth_streaming", BETWEEN),
        ),
    ),
    5: (
        "N1/2: message size at half of the peak bandwidth",
        (
            Ask("ping-pong", "B", "half_peak_size_ping_pong", BETWEEN),
            Ask("streaming", "B", "half_peak_size_streaming", BETWEEN),
            Ask("increase", "%", "half_peak_size_increase", BETWEEN),
        ),
    ),
    6: (
        "Peak bandwidth of SendRecv between two nodes, both directions together",
        _sendrecv(BETWEEN),
    ),
    7: (
        "Zero-byte ping-pong latency between two processes of a node",
        (
            Ask("ping-pong (streaming)", "us", "zero_byte_latency_ping_pong", WITHIN),
            Ask("PingPong (IMB)", "us", "time", WITHIN, _PING_PONG, size_B=0),
        ),
    ),
    8: (
        "Peak ping-pong bandwidth between two processes of a node",
        (
            Ask("ping-pong (streaming)", "MB/s", "peak_bandwidth_ping_pong", WITHIN),
            Ask("PingPong (IMB)", "MB/s", "bandwidth", WITHIN, _PING_PONG, peak=True),
        ),
    ),
    9: (
        "Peak bandwidth of SendRecv between two processes of a node, both directions together",
        _sendrecv(WITHIN),
    ),
}


def table(
    results: Results, key: str, caption: str, asks: Sequence[Ask], published: Platforms
) -> Table | None:
    """Return a table with a row for each machine, a column for each of ``asks`` that has a value; None
    without any.

    :param published: published values, in rows of their own where they have the columns.
    """
    columns = [
        (ask, [answer(results, machine, ask) for machine in results.machines])
        for ask in asks
    ]
    kept = [(ask, values) for ask, values in columns if any(values)]
    if not kept:
        return None
    rows = list(_rows(results.machines, [values for _, values in kept]))
    shown = [ask for ask, _ in kept]
    rows += _published_rows(shown, published)
    heads = tuple(ask.head for ask in shown)
    return Table(key, caption, "machine", heads, tuple(rows))


def _rows(
    machines: Sequence[str], columns: Sequence[Sequence[Value | None]]
) -> Iterator[tuple[str, tuple[Cell | str | None, ...]]]:
    for machine, *values in zip(machines, *columns, strict=True):
        yield machine, tuple(value and number(value) for value in values)


def _published_rows(
    asks: Sequence[Ask], published: Platforms
) -> Iterator[tuple[str, tuple[Cell | str, ...]]]:
    for name, known in published.items():
        found = [known.get((ask.layout, ask.quantity)) for ask in asks]
        if any(found):
            yield f"{name} (published)", tuple(map(_published_cell, found))


def _published_cell(published: PublishedValue | None) -> Cell | str:
    if published is None:
        return ""
    return Cell(value_text(published.value), mark=published.source.text)


def published_platforms() -> Platforms:
    """Return the values of the report's tables that the twins of its platforms reproduce."""
    found: dict[str, dict[tuple[str, str], PublishedValue]] = {}
    for twin in load_all(ROOT / "config/twins"):
        for case in twin.cases:
            for each in case.values:
                if each.source.text.startswith("SAND Table") and not (
                    case.parameters or each.why_not
                ):
                    found.setdefault(twin.name, {})[str(case.layout), each.metric] = (
                        each
                    )
    return found


def platforms(results: Results) -> Table:
    """Return Table 1: what each machine is."""
    columns = ("what it is", "nodes", "processes a node", "link", "MPI", "compiler")
    rows = tuple((machine, _platform(results, machine)) for machine in results.machines)
    note = (
        "Nodes and processes a node are the most that were used. MPI and compiler are as reported by the"
        " programs."
    )
    return Table(
        "table-1",
        "Table 1. Platforms",
        "machine",
        columns,
        rows,
        (note,),
    )


def _platform(results: Results, machine: str) -> tuple[str, ...]:
    values = results.of_machine(machine)
    latest = values[-1].record if values else {}
    link_MBps = latest.get("link_MBps")
    texts = (
        clean(latest.get("about") or ""),
        _most(values, "nodes"),
        _most(values, "ppn"),
        f"{value_text(link_MBps)} MB/s" if link_MBps else "",
        _all_of(values, "mpi"),
        _all_of(values, "compiler"),
    )
    return tuple(text or "not known" for text in texts)


def _most(values: Sequence[Value], name: str) -> str:
    return str(max((value.record[name] or 0 for value in values), default=0) or "")


def _all_of(values: Sequence[Value], name: str) -> str:
    return "; ".join(
        dict.fromkeys(
            clean(value.record[name]) for value in values if value.record[name]
        )
    )


def _is_between_nodes(results: Results) -> bool:
    return any((value.record["nodes"] or 0) > 1 for value in results.values)


def section(results: Results, published: bool = False) -> Section | None:
    """Return the tables that have a value; None if none has, or if nothing was measured between nodes.

    :param published: whether to show the platforms of the document itself, next to the machines.
    """
    if not published and not _is_between_nodes(results):
        return None
    known = published_platforms() if published else {}
    listed = (
        table(results, f"table-{n}", f"Table {n}. {title}", asks, known)
        for n, (title, asks) in TABLES.items()
    )
    tables = [each for each in listed if each]
    if not tables:
        return None
    intro = (
        "The tables of SAND2005-5199 (An Analysis of the PathScale Inc. InfiniBand HCA, InfiniPath, 2005),"
        " for these machines. MB/s is 10^6 bytes a second."
    )
    if published:
        intro += " Published values are as printed in 2005, and were not measured here."
    return Section(
        "tables", "As in the SAND report", (platforms(results), *tables), (intro,)
    )
