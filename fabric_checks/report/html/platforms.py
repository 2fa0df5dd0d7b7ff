# SPDX-License-Identifier: BSD-3-Clause
"""Table 1: what the machines are."""

from __future__ import annotations

from fabric_checks.report.html.blocks import Cell, Column, Table
from fabric_checks.report.html.values import Results, clean
from fabric_checks.text import value_text


def platforms(results: Results) -> Table:
    """Return Table 1: a row for each machine."""
    columns = ("what it is", "nodes", "processes a node", "link", "MPI", "compiler", "measured")
    rows = tuple((machine, _row(results, machine)) for machine in results.machines)
    notes = (
        "Nodes and processes a node are the most that were used. MPI and compiler are as the programs themselves say.",
    )
    return Table("table-1", "Table 1. Platforms", "machine", tuple(Column(title) for title in columns), rows, notes)


def _row(results: Results, machine: str) -> tuple[Cell, ...]:
    values = [value for value in results.values if value.machine == machine]
    latest = values[-1].record if values else {}
    link_MBps = latest.get("link_MBps")
    used = [(value.record["nodes"] or 0, value.record["ppn"] or 0) for value in values]
    mpis, compilers = (
        "; ".join(dict.fromkeys(clean(value.record[name] or "") for value in values if value.record[name]))
        for name in ("mpi", "compiler")
    )
    dates = [time for value in values for time, _, _ in value.runs if time]
    when = f"{min(dates):%Y-%m-%d} to {max(dates):%Y-%m-%d}" if dates else ""
    if dates and min(dates).date() == max(dates).date():
        when = f"{min(dates):%Y-%m-%d}"
    texts = (
        clean(latest.get("about") or ""),
        str(max((nodes for nodes, _ in used), default=0) or ""),
        str(max((ppn for _, ppn in used), default=0) or ""),
        f"{value_text(link_MBps)} MB/s" if link_MBps else "",
        mpis,
        compilers,
        when,
    )
    return tuple(Cell(text) if text else Cell("not known", missing=True) for text in texts)
