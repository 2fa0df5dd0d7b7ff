# SPDX-License-Identifier: BSD-3-Clause
"""Measure what one allocation for all cases saves, against a job for each, on the test cluster.

    . ci/env.sh
    python -m lab.one_job 3 --nodes 4                     # so many pairs of runs, in turn
    python -m lab.one_job 1 --wait 60 -n '^Osu'           # a queue in which each job waits for a minute

The two ways run the same cases on one cluster; every job is submitted with ``--begin=now+WAIT``. Printed are
the walls, how long the allocation was held, and what the harness took of it between two cases.
"""

import argparse
import os
import re
import statistics
import tempfile
import time
from pathlib import Path

from fabric_checks.records import runs
from tests.cluster.conftest import CI, Cluster

#: Programs measure for a moment, so that what is compared is the harness.
SHORT = CI.parent / "tests/cluster/short.py"
#: What is compared: as many as a night has of these families, without their long ones.
CASES = "^(OsuBarrier|OsuLatency|OsuBandwidth|Streaming|Imb|Rotate%pattern=round-robin)"
HELD = re.compile(r"held for ([\d.]+) s; cases ran for ([\d.]+) s, in (\d+)% of")


def run(cluster, results, cases, wait_s, options):
    """Run the cases once; return the wall in seconds, the session, and the log."""
    line = [
        *(
            CI / "run",
            "--system",
            "minicluster",
            "--mode",
            "nightly",
            "-C",
            SHORT,
            "-n",
            cases,
        ),
        *options,
    ]
    if wait_s:
        line += ["-J", f"begin=now+{wait_s}"]
    began = time.monotonic()
    cluster.tried(
        "head", *line, timeout=3600, FABRIC_RESULTS=str(results), FABRIC_MPI="mpich"
    )
    wall_s = time.monotonic() - began
    session = runs.load_session(results)
    return wall_s, session, (results / "logs" / f"{session.name}.log").read_text()


def main():
    """Print a line for each pair of runs, and the medians."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pairs", type=int)
    parser.add_argument("--nodes", default="4")
    parser.add_argument("--wait", type=int, default=0)
    parser.add_argument("-n", "--name", default=CASES)
    given = parser.parse_args()
    cluster = Cluster()
    cluster("up", "--nodes", given.nodes, "--rate", "10gbit")
    ratios = []
    try:
        with tempfile.TemporaryDirectory() as folder:
            # The first run has no durations of cases, and asks for more time than they need.
            for pair in range(given.pairs):
                of = Path(folder, str(pair))
                one_s, one, log = run(
                    cluster, of / "one", given.name, given.wait, ["--one-job"]
                )
                each_s, each, _ = run(cluster, of / "each", given.name, given.wait, [])
                held_s, busy_s, share = map(float, HELD.search(log).groups())
                count = sum(not case.fixture for case in one.cases)
                passed = [
                    sum(case.result == "pass" for case in of.cases)
                    for of in (one, each)
                ]
                gap_s = (held_s - busy_s) / count
                ratios.append(one_s / each_s)
                print(
                    f"{count} cases, passed {passed}; a job each {each_s:.1f} s, one job {one_s:.1f} s"
                    f" ({ratios[-1]:.2f}); held {held_s:.1f} s, cases {busy_s:.1f} s, between two"
                    f" {gap_s:.2f} s, used {share:.0f} %",
                    flush=True,
                )
    finally:
        cluster("down")
    print(
        f"median of the ratios: {statistics.median(ratios):.2f}; load {os.getloadavg()[0]:.1f}"
    )


if __name__ == "__main__":
    main()
