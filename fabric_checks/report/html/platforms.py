# SPDX-License-Identifier: BSD-3-Clause
"""Table 1: what the machines are, from the records and from the descriptions of the systems."""

from __future__ import annotations

import ast
from pathlib import Path

from fabric_checks.errors import FabricError
from fabric_checks.paths import ROOT
from fabric_checks.report.html.blocks import Cell, Column, Table
from fabric_checks.report.html.values import Results, clean
from fabric_checks.text import value_text

_SYSTEMS = ROOT / "config" / "systems"
_TWINS = ROOT / "config" / "twins"


def platforms(results: Results) -> Table:
    """Return Table 1: a row for each machine."""
    told = _descriptions(_SYSTEMS)
    columns = ("what it is", "nodes", "processes a node", "link", "MPI", "compiler", "measured")
    rows = tuple((machine, _row(results, machine, told)) for machine in results.machines)
    notes = (
        "Nodes and processes a node are the most that were used. MPI and compiler are as the programs themselves say.",
    )
    return Table("table-1", "Table 1. Platforms", "machine", tuple(Column(title) for title in columns), rows, notes)


def _row(results: Results, machine: str, told: dict[str, str]) -> tuple[Cell, ...]:
    values = [value for value in results.values if value.machine == machine]
    simulated = results.simulated(machine)
    about, link = _about(values[0].record["system"], machine, told) if values else ("", "")
    if simulated:
        _, twin_link = _twin(machine)
        about, link = _twin(machine)[0] or about, twin_link or link
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
        f"{'Simulated: ' if simulated else ''}{about or 'not described'}",
        str(max((nodes for nodes, _ in used), default=0) or ""),
        str(max((ppn for _, ppn in used), default=0) or ""),
        link,
        mpis,
        compilers,
        when,
    )
    return tuple(Cell(text) if text else Cell("not known", missing=True) for text in texts)


def _about(system: object, _: str, told: dict[str, str]) -> tuple[str, str]:
    return told.get(str(system), ""), ""


def _twin(machine: str) -> tuple[str, str]:
    """Return what the description of a simulated cluster says of it, and of its links."""
    from fabric_twins import description  # noqa: PLC0415  (only simulated machines need it)

    name = machine.partition(",")[0].rpartition(": ")[2]
    file = _TWINS / f"{name}.yaml"
    # A name is from a record: only those of the collection's own files are opened.
    if file not in set(_TWINS.glob("*.yaml")):
        return "", ""
    try:
        twin = description.load(file)
    except FabricError:
        return "", ""
    topology = getattr(twin.topology, "kind", type(twin.topology).__name__)
    words = {"Star": "one switch", "FatTree": "fat tree", "Dragonfly": "dragonfly"}
    return twin.about, f"{value_text(twin.inter_node.rate_MBps)} MB/s a node; {words.get(topology, topology)}"


def _descriptions(folder: Path) -> dict[str, str]:
    """Return what the configuration says of each system; its files are read, not run."""
    found: dict[str, str] = {}
    for path in sorted(folder.glob("*.py")):
        try:
            tree = ast.parse(path.read_text())
        except (OSError, SyntaxError):
            continue  # a site's file that is broken does not concern the report
        for node in ast.walk(tree):
            if isinstance(node, ast.Dict):
                keys = [key.value if isinstance(key, ast.Constant) else None for key in node.keys]
                if "partitions" in keys and "descr" in keys:
                    name, descr = (_constant(node.values[keys.index(key)]) for key in ("name", "descr"))
                    if name and descr:
                        found[name] = descr
    return found


def _constant(node: ast.expr) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(_constant(part) or ".." for part in node.values)
    return ""
