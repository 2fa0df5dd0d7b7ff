# SPDX-License-Identifier: BSD-3-Clause
"""Replay LAMMPS's lj and rhodo on the twins of the clusters of SAND2005-5199, section 6, on 1 to 16 nodes.

. ci/env.sh
python -m lab.section6 trace FOLDER     # runs LAMMPS with Intel MPI on 1 to 32 ranks, five times each
python -m lab.section6 keep FOLDER      # packs the traces into config/twins/traces
python -m lab.section6 replay           # replays the kept traces; writes run_times.json here

LAMMPS runs as many ranks as there are processes, on whatever cores there are. Ranks that share a core do not
spoil the trace: computation is the processor time of the rank's thread. It includes what they do to each
other's caches; so each computation is the least of that of several runs, which all have the same actions. Of
a run only its time steps are kept, as LAMMPS's own loop time has them: those between two barriers.
"""

import json
import sys
import tempfile
from itertools import product
from pathlib import Path

from fabric_twins import replay
from fabric_twins.simulate import Bounds
from lab.section6 import RUN_TIMES, TWINS, tables, traces, unpacked
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


def main(what, *folder):
    """Do one of what the head of this file lists."""
    if what == "replay":
        found = replayed()
        RUN_TIMES.write_text(json.dumps(found, indent=1) + "\n")
        print("\n".join(tables(found)))
    else:
        {"trace": traces.trace, "keep": traces.keep}[what](Path(*folder))


if __name__ == "__main__":
    if len(sys.argv) != {"trace": 3, "keep": 3, "replay": 2}.get(
        sys.argv[1] if sys.argv[1:] else ""
    ):
        sys.exit(__doc__)
    main(*sys.argv[1:])
