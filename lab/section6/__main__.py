# SPDX-License-Identifier: BSD-3-Clause
"""Replay LAMMPS's lj and rhodo on the twins of the clusters of SAND2005-5199, section 6, on 1 to 16 nodes.

. ci/env.sh
python -m lab.section6 trace FOLDER     # runs LAMMPS with Intel MPI on 1 to 32 ranks, five times each
python -m lab.section6 keep FOLDER      # packs the traces into config/twins/traces
python -m lab.section6 replay           # replays the kept traces; writes run_times.json here, and
lab/section6.svg python -m lab.section6 why              # the gap at 16 processes, on twins without some of
their limits

LAMMPS runs as many ranks as there are processes, on whatever cores there are. Ranks that share a core do not
spoil the trace: computation is the processor time of the rank's thread. It includes what they do to each
other's caches; so each computation is the least of that of several runs, which all have the same actions. Of
a run only its time steps are kept, as LAMMPS's own loop time has them: those between two barriers.
"""

import json
import sys
import tempfile
from dataclasses import replace
from itertools import product
from pathlib import Path

from fabric_checks.core.layouts import Layout
from fabric_checks.core.paths import ROOT
from fabric_checks.report import svg_panels
from fabric_checks.report.svg_panels import Line, Panel
from fabric_twins import replay
from fabric_twins.model.description import HostBus
from fabric_twins.simulate import Bounds
from lab.section6 import PROBLEMS, RUN_TIMES, TWINS, gaps, tables, traces, unpacked
from tests.twins.simulation import shipped

#: As the traced machine's, and a quarter of that: processors of 2005 were slower; by how much is not
#: published.
CPU_SPEEDS = (1, 0.25)


def replayed():
    """Return the run times, in s, by problem, speed of the processors, twin and layout."""
    clusters = [(name, shipped(name)) for name in TWINS]
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for (problem, traced), speed in product(
            unpacked(Path(folder)).items(), CPU_SPEEDS
        ):
            for series in replay.run(traced, clusters, (1, 2), speed, Bounds()):
                times = {
                    str(layout): round(point.run_s, 9)
                    for layout, point in series.points.items()
                }
                found.setdefault(problem, {}).setdefault(f"{speed:g}", {})[
                    series.name
                ] = times
    return found


def draw(found, path):
    """Draw efficiency and gap over the nodes and over the processes: the report's Figures 15 and 16 in
    kind."""
    panels = []
    for problem in PROBLEMS:
        what = "lj" if problem == "lj" else "rhodo, for stouch"
        shares, over = [], []
        for name in TWINS:
            times = {
                Layout.of(text): time
                for text, time in found[problem]["1"][name].items()
            }
            alone = times[Layout(1, 1)]
            for ppn in (1, 2):
                points = tuple(
                    (at.nodes, 100 * alone / (at.tasks * s))
                    for at, s in times.items()
                    if at.ppn == ppn
                )
                shares.append(Line(f"{name}, {ppn} a node", points))
            over.append(
                Line(
                    f"{name}, 2 a node against 1",
                    tuple(gaps(found[problem]["1"][name], True).items()),
                )
            )
        panels += [
            Panel(
                f"{what}, 32,000 atoms in all: over nodes",
                tuple(shares),
                "parallel efficiency, %",
                "count",
            ),
            Panel(
                f"{what}: over processes",
                tuple(over),
                "longer with as many processes, %",
                "count",
            ),
        ]
    looks = svg_panels.looks(panels)
    title = "LAMMPS replayed on the twins of SAND2005-5199, section 6"
    svg_panels.save(
        path,
        svg_panels.document(
            title, [("", svg_panels.panel(each, looks)) for each in panels], looks
        ),
    )


def why():
    """Print how much longer 8 nodes with two processes take than 16 with one, on twins without some of their
    limits."""
    with tempfile.TemporaryDirectory() as folder:
        for (problem, traced), name in product(
            unpacked(Path(folder)).items(), ("cbc", "red-squall")
        ):
            twin = shipped(name)
            within = replace(twin.intra_node, rate_MBps=1e4, several_MBps=None)
            no_bus = replace(twin, host_bus=HostBus(None, None))
            fast = replace(twin.inter_node, rate_MBps=1e4)
            for what, each in (
                ("as it is", twin),
                ("no bus", no_bus),
                ("no bus, 10 GB/s between nodes", replace(no_bus, inter_node=fast)),
                ("10 GB/s within a node", replace(twin, intra_node=within)),
                (
                    "no bus, 10 GB/s between nodes and within",
                    replace(no_bus, inter_node=fast, intra_node=within),
                ),
            ):
                (series,) = replay.run(
                    {16: traced[16]}, [(what, each)], (1, 2), 1, Bounds()
                )
                print(
                    f"{problem} on {name}, {what}: {series.spread_percent(Layout(8, 2)):+.1f} %",
                    flush=True,
                )


def main(what, *folder):
    """Do one of what the head of this file lists."""
    if what == "replay":
        found = replayed()
        RUN_TIMES.write_text(json.dumps(found, indent=1) + "\n")
        draw(found, ROOT / "lab/section6.svg")
        print("\n".join(tables(found)))
    elif what == "why":
        why()
    else:
        {"trace": traces.trace, "keep": traces.keep}[what](Path(*folder))


if __name__ == "__main__":
    if len(sys.argv) != {"trace": 3, "keep": 3, "replay": 2, "why": 2}.get(
        sys.argv[1] if sys.argv[1:] else ""
    ):
        sys.exit(__doc__)
    main(*sys.argv[1:])
