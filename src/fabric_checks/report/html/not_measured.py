# SPDX-License-Identifier: BSD-3-Clause
"""What was not measured, and what would measure it: one list at the end."""

from __future__ import annotations

import re
from collections.abc import Callable

from fabric_checks.report.html.blocks import Lines, Section
from fabric_checks.report.html.curves import layout_of
from fabric_checks.report.html.values import Results, Value


def _nodes(least: int) -> Callable[[Value], bool]:
    return lambda value: (layout.nodes if (layout := layout_of(value.layout)) else 0) >= least


def _check(pattern: str) -> Callable[[Value], bool]:
    return lambda value: re.match(pattern, str(value.record["check"])) is not None


#: What people look for: what it is, whether a value is of it, and what would measure it.
_THINGS: tuple[tuple[str, Callable[[Value], bool], str], ...] = (
    (
        "between nodes",
        _nodes(2),
        "a system of two nodes or more (docs/adding-a-system.md), or `--system minicluster` to try it",
    ),
    ("within a node", lambda value: value.layout.startswith("1x"), "the level nightly, or the default run"),
    (
        "latency, bandwidth and message rate",
        _check("Streaming|OsuLatency|ImbPointToPoint"),
        "-n 'Streaming|OsuLatency'",
    ),
    ("collectives", _check("(Osu|Imb)Collective"), "-n 'OsuCollective|ImbCollective'"),
    ("all pairs at once (cross-section)", _check("Rotate"), "-n Rotate"),
    ("the latency of every pair", _check("LatencyMap"), "-n LatencyMap"),
    ("overlap", _check("(Collective)?Overlap"), "-n Overlap"),
    ("hot spot", _check("HotSpot"), "-n HotSpot"),
    ("fresh buffers", _check("BufferReuse"), "-n BufferReuse"),
    ("an application", _check("Lammps"), "-n LammpsBench"),
    ("one process a node against more", lambda value: bool(value.record["compared"]), "--tag ppn-ratio"),
    ("OSU's own programs", lambda value: value.record["program"] == "osu", "--stack spack, or a module of the site's"),
    ("one-sided communication", _check("(Osu|Imb).*(OneSided|Put|Get|Passive)"), "-n OneSided"),
    ("NAS Parallel Benchmarks", _check("Npb"), "--stack spack, or a module of the site's"),
)


def section(results: Results) -> Section:
    """Return what was not measured on which machine; what no machine has is listed once."""
    groups: dict[str, list[str]] = {}
    for what, is_of, how in _THINGS:
        having = {value.machine for value in results.values if is_of(value)}
        lacking = [machine for machine in results.machines if machine not in having]
        if lacking:
            whom = "" if len(lacking) == len(results.machines) else ", ".join(lacking)
            groups.setdefault(whom, []).append(f"{what}: `ci/run {how}`" if how.startswith("-") else f"{what}: {how}")
    for machine in results.machines:
        for suite, why in results.not_offered.get(machine, {}).items():
            line = f"{suite}: {why}"
            if not any(line in lines for lines in groups.values()):
                same = [name for name in results.machines if results.not_offered.get(name, {}).get(suite) == why]
                whom = "" if len(same) == len(results.machines) else ", ".join(same)
                groups.setdefault(whom, []).append(line)
    listed = tuple((whom, tuple(lines)) for whom, lines in sorted(groups.items()))
    return Section(
        "not-measured",
        "Not measured",
        (Lines("not-measured-list", "What was not measured, and what would measure it", listed, "Nothing."),),
    )
