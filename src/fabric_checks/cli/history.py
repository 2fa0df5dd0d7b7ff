# SPDX-License-Identifier: BSD-3-Clause
"""``fabric-checks history``: a metric over time."""

from __future__ import annotations

import shutil

import click

from fabric_checks.cli import selection
from fabric_checks.cli.conditions import UNUSABLE, end_by
from fabric_checks.cli.verb import FAILED, Verb, csv_option, json_option, sources_argument
from fabric_checks.comparison import history
from fabric_checks.comparison.history import Line
from fabric_checks.core import console
from fabric_checks.core.text import count_text, csv_of, sparkline, value_text
from fabric_checks.records.record import bounds

_EPILOG = """
\b
Examples:
  fabric-checks history latency_8B                                 in the results of this clone
  fabric-checks history 'latency_(0|8)B' .fabric/results,check=OsuLatency,layout=2x1
  fabric-checks history peak_bandwidth_streaming archive,system=yours
  fabric-checks history latency_8B .fabric/results@2026-11-01.. --json
"""


#: More series are listed, not plotted.
MOST = 6


@click.command("history", cls=Verb, epilog=_EPILOG, statuses={FAILED: f"too many series, or {UNUSABLE}"})
@click.argument("metric")
@sources_argument
@json_option
@csv_option
def command(metric: str, sources: tuple[str, ...], *, as_json: bool, as_csv: bool) -> None:
    """Plot METRIC, a name or a regular expression for names, from run to run.

    Each run is a block; below it is X if it missed its reference, and | where MPI, compiler, program, hash or
    the release of this collection changed.
    """
    loaded = selection.load(sources, history.COLUMNS)
    frame = loaded.frame
    named = selection.matching(frame, {"metric": metric})["metric"].unique().to_list()
    lines = history.lines(frame.filter(frame["metric"].is_null() | frame["metric"].is_in(named)))
    if as_json:
        content = {"series": [line.as_json() for line in lines], "faults": loaded.faults}
        console.print_json(content)
    elif as_csv:
        console.print_document(
            csv_of([{**line.series, **run} for line in lines for run in line.as_json()["runs"]])
        )
    elif len(lines) > MOST:
        _list(lines)
    else:
        width = min(shutil.get_terminal_size((100, 24)).columns, 160)
        for line in lines:
            console.print(*lines_of(line, width), "")
    end_by(loaded.faults)
    if len(lines) > MOST and not (as_json or as_csv):
        raise SystemExit(FAILED)


def lines_of(line: Line, width: int) -> list[str]:
    """Return a series as lines: its title, its levels, the runs as block characters, misses and changes.

    Where there are more runs than characters, some share one, which is as high as the last of them.

    :param width: in characters.
    """
    count, changes = len(line.values), line.changes()
    each = -(-count // max(1, width - 4))
    starts = range(0, count, each)
    missed = {at // each for at in line.missed}
    changed = {change["at"] // each for change in changes}
    blocks = sparkline([line.values[min(at + each, count) - 1] for at in starts], len(starts)) or "▄"
    marks = "".join("X" if at in missed else "|" if at in changed else " " for at in range(len(starts)))
    rows = [
        line.title,
        f"  {_summary(line)}",
        f"  {blocks}",
        *([f"  {marks.rstrip()}"] if marks.strip() else []),
    ]
    if line.missed:
        rows.append(f"  X: {len(line.missed)} missed the reference")
    if line.failed:
        rows.append(f"  {count_text(line.failed, 'case')} of this test failed before values were measured")
    for change in changes:
        when = f"{line.records[change['at']]['time']:%Y-%m-%d %H:%M}"
        rows.append(
            f"  | run {change['at'] + 1} ({when}): {change['what']}: {change['before']} -> {change['after']}"
        )
    return rows


def _summary(line: Line) -> str:
    """Return number and dates of the runs, the median, and the reference and bounds of the latest run."""
    first, last = line.records[0], line.records[-1]
    low, high = bounds(last)
    levels = {"median": line.median, "reference": last["reference"], "low": low, "high": high}
    days = f"{first['time']:%Y-%m-%d}..{last['time']:%Y-%m-%d}"
    shown = ", ".join(f"{name} {value_text(value)}" for name, value in levels.items() if value is not None)
    runs = count_text(len(line.values), "run")
    return f"{runs} {days}, unit {last['unit']}, {last['better']} is better: {shown}"


def _list(lines: list[Line]) -> None:
    """Print which series there are: too many to plot."""
    for line in lines:
        last = value_text(line.values[-1])
        console.print(
            f"{line.title}: {count_text(len(line.values), 'run')}, median {value_text(line.median)}, last"
            f" {last}"
        )
    console.error(
        f"{len(lines)} series are too many to plot; choose at most {MOST}, as in "
        ".fabric/results,system=yours,check=OsuLatency,layout=2x1"
    )
