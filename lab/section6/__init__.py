# SPDX-License-Identifier: BSD-3-Clause
"""Section 6 of SAND2005-5199 by replay: the kept traces, the run times in run_times.json, and the tables made
of them.

`python -m lab.section6` makes them; the tests compare them with the report.
"""

import tarfile
from itertools import product
from pathlib import Path

from fabric_checks.core.layouts import Layout
from fabric_checks.core.paths import ROOT
from fabric_twins import replay

#: lj is the report's own problem; rhodo stands for its stouch (lab/applications.md argues why).
PROBLEMS = ("lj", "rhodo")
TWINS = ("cbc", "red-squall", "escher")
RANKS = (1, 2, 4, 8, 16, 32)
#: The traces.
TRACES = ROOT / "config/twins/traces"
#: Run times in s, by problem, speed of the processors, twin and layout. The tests hold them to what the
#: report says.
RUN_TIMES = Path(__file__).with_name("run_times.json")


def unpacked(folder):
    """Unpack the traces into a folder, and return them by problem."""
    for problem in PROBLEMS:
        with tarfile.open(TRACES / f"lammps-{problem}.tar.xz") as archive:
            # Pythons before 3.11.4 and 3.10.12 have no filters; later ones warn without one.
            archive.extractall(
                folder,
                **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}),
            )
    return {problem: replay.load(folder / problem) for problem in PROBLEMS}


def gaps(times, ranks_alike):
    """Return how much longer, in %, two processes a node take than one.

    :param times: by layout. :param ranks_alike: with as many processes, by their number; else on as many
        nodes, by theirs.
    """
    found = {}
    for text, time in times.items():
        layout = Layout.of(text)
        one = str(Layout(layout.tasks if ranks_alike else layout.nodes, 1))
        if layout.ppn == 2 and one in times:
            found[layout.tasks if ranks_alike else layout.nodes] = 100 * (
                time / times[one] - 1
            )
    return found


def tables(found):
    """Return the tables of the documentation, line by line."""
    lines = []
    for ranks_alike, what in ((True, "processes"), (False, "nodes")):
        counts = RANKS[1:-1] if ranks_alike else RANKS[:-1]
        titles = [
            f"{count} {what}" if count > 1 else f"1 {what[:-1]}" for count in counts
        ]
        heads = ["problem", "processors", "cluster", *titles]
        lines += ["", f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
        for problem, speed, name in product(PROBLEMS, found[PROBLEMS[0]], TWINS):
            values = gaps(found[problem][speed][name], ranks_alike)
            cells = [
                f"{values[count]:+.1f}" if count in values else "" for count in counts
            ]
            lines.append(f"| {problem} | {speed} | {name} | {' | '.join(cells)} |")
    return lines
