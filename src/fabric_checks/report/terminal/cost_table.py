# SPDX-License-Identifier: BSD-3-Clause
"""Costs for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from fabric_checks.records.cost import past
from fabric_checks.records.cost.estimate import Estimate
from fabric_checks.records.cost.recorded import MEASURED
from fabric_checks.report.terminal.summary import plain

#: The costs that are computed and measured: what readers call it, key, unit, and how much of the key's unit that is.
COSTS = (
    ("node-minutes", "node_minutes", "", 1),
    ("wall minutes", "wall_minutes", "", 1),
    ("disk", "disk_B", "MB", 1e6),
)
_RESTS = {
    past.OWN: "the same case's own records",
    past.SYSTEM: "the same test in another environment or partition of the system",
    past.LAYOUT: "the same check in the nearest layout on the system",
    past.ELSEWHERE: "the same test on another system",
    past.BOUND: "only the time limit: at most",
    past.UNKNOWN: "nothing: not in the total",
}


def number(value: float) -> str:
    """Return a value as costs are read: three significant digits, no exponent."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}" if value >= 0.001 or not value else "0.001"


def computed(estimate: Estimate) -> list[Table | Text]:
    """Return what was computed, and what it rests on."""
    passes = f" in {estimate.passes} passes" if estimate.passes > 1 else ""
    what = estimate.level or estimate.command or "all"
    out: list[Table | Text] = [
        plain(f"{what} on {estimate.system or 'no system'}: {_count(estimate.jobs)}{passes}, computed, nothing was run")
    ]
    if not estimate.jobs:
        return [*out, plain("no case matches the selection; ci/run -l lists what there is")]
    for share in estimate.partitions:
        nodes = (
            f"{share.nodes} of {share.of} nodes"
            if share.of
            else f"{share.nodes} node: the host that runs the simulation"
        )
        out.append(plain(f"  {share.name}: {_count(share.jobs)}, at most {nodes} at once"))
    for title, key, unit, factor in COSTS:
        text = f"  {title + ':':<14}{_told(estimate, key, unit, factor)}"
        out.append(plain(f"{text}{_assumed(estimate) if key == 'wall_minutes' else ''}"))
    out.append(_rests(estimate))
    return out


def _told(estimate: Estimate, key: str, unit: str, factor: float) -> str:
    """Return a sum, with what is only a bound of it apart, and what it lacks."""
    value = getattr(estimate, key)
    if value is None or (key != "disk_B" and estimate.untimed == estimate.jobs):
        return "unknown"
    if key == "disk_B":
        return f"{number(value / factor)} {unit}"
    if estimate.untimed:
        return f"no less than {number(value)}"
    bounded = {"node_minutes": estimate.bounded_node_minutes, "wall_minutes": estimate.bounded_minutes}[key]
    if bounded:
        return f"{number(value - bounded)}, and at most {number(bounded)} more by time limits"
    return number(value)


def _assumed(estimate: Estimate) -> str:
    """Return what the wall time takes for granted."""
    beside = estimate.beside
    words = ["jobs one after the other", "no wait in a queue"]
    if beside.runs:
        words.append(
            f"{number(beside.seconds)} s a job in addition to its work, as in {_count(beside.runs, 'past run')}"
        )
    else:
        words.append("not counting the time between jobs, which no past run here recorded")
    if len(estimate.partitions) > 1 or any(share.max_jobs > 1 for share in estimate.partitions):
        words[0] = "jobs one after the other, although several may run at once"
    return f" ({'; '.join(words)})"


def _rests(estimate: Estimate) -> Table:
    out = Table(box=box.SIMPLE, pad_edge=False, header_style="bold")
    out.add_column("jobs whose value rests on", overflow="fold")
    for title in ("time", "disk"):
        out.add_column(title, justify="right")
    for basis in past.BASES:
        counts = [estimate.rests[cost].get(basis, 0) for cost in past.COSTS]
        if any(counts):
            out.add_row(_RESTS[basis], *(str(count or "") for count in counts))
    return out


def listed(lines: Sequence[Mapping[str, Any]]) -> Table:
    """Return the runs whose cost was recorded: measured, and beside it what was computed and the ratio of the two."""
    out = Table(box=box.SIMPLE, pad_edge=False, header_style="bold")
    for title in ("run", "system", "level or options"):
        out.add_column(title, overflow="fold")
    costs = (f"{title} {unit}".strip() for title, _, unit, _ in COSTS)
    for title in ("jobs", "nodes", *costs, "one node's traffic GB"):
        out.add_column(title, justify="right")
    for line in lines:
        if line["kind"] != MEASURED:
            continue
        names = (line["session"], line["system"], line.get("level") or line["command"] or "all")
        counts = (str(line["jobs"]), str(line["nodes"]))
        both = (_both(line, key, by) for _, key, _, by in COSTS)
        out.add_row(*(plain(name) for name in names), *counts, *both, _traffic_GB(line) or "unknown")
    return out


def ratio(line: Mapping[str, Any], key: str) -> float | None:
    """Return the computed cost in terms of the measured one, or None where there are not both."""
    before, measured = (line.get("computed") or {}).get(key), line.get(key)
    return before / measured if before is not None and measured else None


def _both(line: Mapping[str, Any], key: str, factor: float) -> str:
    if line.get(key) is None:
        return "unknown"
    told = ratio(line, key)
    text = number(line[key] / factor)
    return text if told is None else f"{text} (computed {number(line['computed'][key] / factor)}: {told:.2f})"


def _traffic_GB(line: Mapping[str, Any]) -> str:
    """Return what went in and out of one node of each job, and of how many jobs if not of all; nothing if of none."""
    if line["node_traffic_B"] is None:
        return ""
    of = "" if line["traffic_jobs"] == line["jobs"] else f" (of {_count(line['traffic_jobs'])})"
    return f"{number(line['node_traffic_B'] / 1e9)}{of}"


def one_line(line: Mapping[str, Any]) -> str:
    """Return the cost of a run as the end of its summary has it."""
    parts = [_count(line["jobs"]), f"{_count(line['nodes'], 'node')} at most"]
    for title, key, unit, factor in COSTS:
        if line.get(key) is not None:
            told = ratio(line, key)
            words = f"{number(line[key] / factor)} {unit} {title}".replace("  ", " ")
            parts.append(words if told is None else f"{words} (computed {number(line['computed'][key] / factor)})")
    if traffic := _traffic_GB(line):
        parts.append(f"GB in and out of one node a job: {traffic}")
    if line["timed_jobs"] < line["jobs"]:
        parts.append(f"the time of {line['jobs'] - line['timed_jobs']} is unknown")
    return ", ".join(parts)


def _count(count: int, noun: str = "job") -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
