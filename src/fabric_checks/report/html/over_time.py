# SPDX-License-Identifier: BSD-3-Clause
"""One machine over time: its key values run by run, and where they changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fabric_checks.report.html.blocks import Lines, Picture, Section
from fabric_checks.report.html.change_points import Changed
from fabric_checks.report.html.curves import label, picture
from fabric_checks.report.html.drawing import DAY_S, Line, Panel
from fabric_checks.report.html.provenance import Provenance
from fabric_checks.report.html.values import Results, Value, case_text

#: Check and metric of the values that tell most, the first first.
KEY_METRICS = (
    ("Streaming", "zero_byte_latency_ping_pong"),
    ("Streaming", "message_rate_8B"),
    ("Streaming", "peak_bandwidth_streaming"),
    ("Rotate", "median_bandwidth"),
    ("Rotate", "slowest_to_median"),
    ("OsuLatency", "latency_8B"),
    ("OsuBandwidth", "bandwidth_1048576B"),
    ("ImbPointToPoint", "time_8B"),
    ("ImbCollective", "time_8B"),
    ("OsuCollective", "latency_8B"),
    ("HotSpot", "send_growth"),
    ("LammpsBench", "loop_time"),
)
#: As many drawings for a machine.
_MOST = 12


def section(results: Results, provenance: Provenance, changes: Sequence[Changed] | None) -> Section | None:
    """Return the key values of each machine that has several runs, None if there is none.

    :param changes: of all machines; None if they were not looked for.
    """
    blocks: list[Picture | Lines] = []
    for index, machine in enumerate(results.machines):
        chosen = key_series(results, machine)
        if chosen:
            blocks += _picture(results, f"time-{index}", chosen, provenance, changes or ())
    if not blocks:
        return None
    groups: dict[str, list[str]] = {}
    for change in changes or ():
        groups.setdefault(change.machine, []).append(change.text)
    empty = "No value changed for certain." if changes is not None else "Changes were not looked for."
    listed = tuple((machine, tuple(lines)) for machine, lines in groups.items())
    return Section("over-time", "Over time", (Lines("changes", "Changes", listed, empty), *blocks))


def key_series(results: Results, machine: str) -> list[Value]:
    """Return the series of a machine that are drawn: the key values, or others if it has none of those."""
    mine = [value for value in results.values if value.machine == machine and len(_dated(value)) > 1]
    rank = {key: position for position, key in enumerate(KEY_METRICS)}
    keyed = [v for v in mine if (str(v.record["check"]), str(v.record["metric"])) in rank]
    keyed.sort(key=lambda v: (rank[str(v.record["check"]), str(v.record["metric"])], case_text(v.record)))
    others = [value for value in mine if value.size_B is None]
    return (keyed or others or mine)[:_MOST]


def _dated(value: Value) -> list[tuple[object, str, float]]:
    return [run for run in value.runs if run[0]]


def _picture(
    results: Results, key: str, chosen: Sequence[Value], provenance: Provenance, changes: Sequence[Changed]
) -> list[Picture]:
    machine = chosen[0].machine
    panels = []
    for value in chosen:
        points = tuple(
            (run[0].timestamp() / DAY_S, replace(value, median=run[2], low=None, high=None, runs=(run,)))
            for run in value.runs
            if run[0]
        )
        series = (str(value.record["test"]), str(value.record["metric"]))
        marks = tuple(c.at.timestamp() / DAY_S for c in changes if c.machine == machine and series in c.series)
        title = f"{case_text(value.record)}: {value.record['metric']}"
        title = title if len(title) < 62 else f"{title[:59]}..."
        panels.append(Panel(title, (Line(label(results, machine), points),), value.unit, "time", marks))
    text = "Each point is one run; a dotted line marks a change. The axis of a panel does not begin at zero."
    made = picture(key, f"Runs of {machine}", text, panels, provenance)
    return [made] if made else []
