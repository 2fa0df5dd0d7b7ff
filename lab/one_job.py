# SPDX-License-Identifier: BSD-3-Clause
"""Measure what one allocation for all cases saves, against a job for each, on the test cluster.

    . ci/env.sh
    python -m lab.one_job 3                               # so many rounds of runs, in turn
    python -m lab.one_job 1 --wait 60 -n '^Osu'           # a queue in which each job waits for a minute
    python -m lab.one_job 1 --against CLONE               # also a job for each by another state of it all

The ways run the same cases on one cluster; every job is submitted with ``--begin=now+WAIT``. Printed are the
walls, how long the allocation was held, and what the harness took of it between two cases; without a queue
also those of cases beside each other (``--beside``). A clone needs its own home, set up before.
"""

import argparse
import os
import re
import statistics
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from fabric_checks.records import runs
from tests.cluster.conftest import CI, Cluster

#: What is compared: as many as a night has of these families, without their long ones.
CASES = "^(OsuBarrier|OsuLatency|OsuBandwidth|Streaming|Imb|Rotate%pattern=round-robin)"
HELD = re.compile(r"held for ([\d.]+) s; cases ran for ([\d.]+) s, in (\d+)% of")
#: The ways by name, with the options of each.
WAYS = {
    "a job each": [],
    "one job": ["--one-job"],
    "one job, within": ["--one-job", "--beside", "within"],
    "one job, between": ["--one-job", "--beside", "between"],
}


@dataclass
class Lab:
    """A cluster, and what is run in it: cases, and how long each job waits."""

    cluster: Cluster
    cases: str
    wait_s: int

    def run(self, results, options, clone=CI.parent, **env):
        """Run the cases once; return the wall in seconds."""
        # Programs measure for a moment, so that what is compared is the harness.
        short = clone / "tests/cluster/short.py"
        line = [clone / "ci/run", "--system", "minicluster", "--mode", "nightly"]
        line += ["-C", short, "-n", self.cases, *options]
        if self.wait_s:
            line += ["-J", f"begin=now+{self.wait_s}"]
        env = {"FABRIC_RESULTS": str(results), "FABRIC_MPI": "mpich"} | env
        began_s = time.monotonic()
        self.cluster.tried("head", *line, timeout=3600, **env)
        return time.monotonic() - began_s


def described(results, wall_s):
    """Return a run in one line."""
    session = runs.load_session(results)
    cases = [case for case in session.cases if not case.fixture]
    passed = sum(case.result == "pass" for case in cases)
    text = f"{wall_s:6.1f} s, {passed} of {len(cases)} passed"
    log = (results / "logs" / f"{session.name}.log").read_text()
    if held := HELD.search(log):
        held_s, busy_s, share = map(float, held.groups())
        gap_s = (held_s - busy_s) / len(cases)
        # Cases beside each other take longer together than they are held for.
        gap = f", between two {gap_s:.2f} s" if gap_s > 0 else ""
        text += f"; held {held_s:.1f} s{gap}, used {share:.0f} %"
    return f"{text}; load {os.getloadavg()[0]:.1f}"


def main():
    """Print a line for each run, and the medians of the walls."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rounds", type=int)
    parser.add_argument("--wait", type=int, default=0)
    parser.add_argument("--against", type=Path)
    parser.add_argument("-n", "--name", default=CASES)
    given = parser.parse_args()
    lab = Lab(Cluster(), given.name, given.wait)
    # With a queue, what runs beside what hardly matters.
    ways = list(WAYS.items())[: 2 if given.wait else None]
    walls_s = {}
    lab.cluster("up", "--nodes", "4", "--rate", "10gbit")
    try:
        with tempfile.TemporaryDirectory() as folder:
            for number in range(given.rounds):
                for name, options in ways:
                    results = Path(folder, re.sub(r"[^a-z]", "-", name))
                    wall_s = lab.run(results, options)
                    walls_s.setdefault(name, []).append(wall_s)
                    print(f"{name:24}{described(results, wall_s)}", flush=True)
                if given.against:
                    wall_s = lab.run(
                        Path(folder, str(number), "against"), [], given.against,
                        FABRIC_HOME=str(given.against / ".fabric"), FABRIC_SETUP_OPTIONS="",
                    )  # fmt: skip
                    walls_s.setdefault("a job each, the other", []).append(wall_s)
                    print(f"{'a job each, the other':24}{wall_s:6.1f} s", flush=True)
    finally:
        lab.cluster("down")
    each_s = statistics.median(walls_s["a job each"])
    for name, of_s in walls_s.items():
        median_s = statistics.median(of_s)
        print(
            f"{name:24}median {median_s:.1f} s, {median_s / each_s:.2f} of a job each"
        )


if __name__ == "__main__":
    main()
