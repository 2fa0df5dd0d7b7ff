# SPDX-License-Identifier: BSD-3-Clause
"""Trials of a node's death in the middle of a job of two nodes, on a cluster with a real Slurm.

    . ci/env.sh
    python -m lab.node_deaths 10         # ends with 1 unless the right node was named each time

Which of the two dies is drawn, with a seed that is printed; every second trial is a step of one allocation.
``tests/cluster/test_faults.py`` makes one trial.
"""

import argparse
import random
import re
import sys
import tempfile
from pathlib import Path

from tests.cluster.conftest import Cluster
from tests.cluster.session_faults import COMMANDS, begin_held
from tests.guard import wait_for

HOSTS = ("n1", "n2")
SLURM = COMMANDS["slurm"]


def trial(cluster: Cluster, victim: str, one_job: bool) -> str:
    """Kill a node while a job runs on both, and return why its case failed."""
    with tempfile.TemporaryDirectory() as folder:
        session = begin_held(cluster, Path(folder), one_job=one_job)
        cluster("kill", victim)
        outcome = session.end()
    cluster("start", victim)
    cluster.sh(SLURM.cancel_all)
    wait_for(lambda: cluster.sh(SLURM.free).strip() == "2", lambda: cluster("status"))
    return outcome.cases["OsuLatency"].reason


def is_right(reason: str, victim: str) -> bool:
    """Return whether a reason names the node that died, and no other as failed."""
    found = re.search(r"; a node of it failed(?: \(.*?\))?: (.*)", reason)
    return found is not None and [
        host for host in HOSTS if re.search(rf"\b{host}\b", found[1])
    ] == [victim]


def main() -> int:
    """Run the trials."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("trials", type=int)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print(f"seed {options.seed}")
    draw = random.Random(options.seed)
    cluster = Cluster()
    cluster("up", "--nodes", "2")
    right = 0
    try:
        for number in range(options.trials):
            victim = draw.choice(HOSTS)
            reason = trial(cluster, victim, one_job=number % 2 == 1)
            right += is_right(reason, victim)
            print(f"{number + 1}: {victim} died: {reason}", flush=True)
    finally:
        cluster.end()
    print(f"{right} of {options.trials} right")
    return right < options.trials


if __name__ == "__main__":
    sys.exit(main())
