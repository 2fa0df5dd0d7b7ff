# SPDX-License-Identifier: BSD-3-Clause
"""Print series over time, with a line of block characters."""

from __future__ import annotations

from fabric_checks.comparison.history import Line
from fabric_checks.core.text import count_text, sparkline, value_text


def lines_of(line: Line, width: int) -> list[str]:
    """Return a series as lines: its title, its levels, the runs as block characters, misses and changes.

    Where there are more runs than characters, some share one, which is as high as the last of them.

    :param width: in characters.
    """
    count = len(line.values)
    each = -(-count // max(1, width - 4))
    starts = range(0, count, each)
    missed = {at // each for at in line.missed}
    changed = {change.at // each for change in line.changes}
    blocks = sparkline([line.values[min(at + each, count) - 1] for at in starts], len(starts)) or "▄"
    marks = "".join("X" if at in missed else "|" if at in changed else " " for at in range(len(starts)))
    rows = [line.title, f"  {summary(line)}", f"  {blocks}", *([f"  {marks.rstrip()}"] if marks.strip() else [])]
    if line.missed:
        rows.append(f"  X: {len(line.missed)} missed the reference")
    if line.failed:
        rows.append(f"  {count_text(line.failed, 'case')} of this test failed before values were measured")
    for change in line.changes:
        when = line.times[change.at]
        moment = f"{when:%Y-%m-%d %H:%M}" if when else "time unknown"
        rows.append(f"  | run {change.at + 1} ({moment}): {change.what}: {change.before} -> {change.after}")
    return rows


def summary(line: Line) -> str:
    """Return number and dates of the runs, the median, and the reference and bounds of the latest run."""
    levels = {"median": line.median, "reference": line.references[-1], "low": line.low[-1], "high": line.high[-1]}
    parts = [f"{name} {value_text(value)}" for name, value in levels.items() if value is not None]
    days = [f"{when:%Y-%m-%d}" for when in line.times if when]
    span = f" {days[0]}..{days[-1]}" if days else ""
    return (
        f"{count_text(len(line.values), 'run')}{span}, unit {line.series['unit']}, {line.better} is better: "
        f"{', '.join(parts)}"
    )
