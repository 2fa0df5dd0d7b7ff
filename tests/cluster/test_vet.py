# SPDX-License-Identifier: BSD-3-Clause
"""A vet, live: a node whose daemon has died is named. ``python -m lab.vet`` tries other faults, many times."""

import json
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.conftest import CI
from tests.guard import wait_for

NODES = 8
#: Longer than `Rotate` takes to confirm a slow node at the rates of the trials, on a loaded machine as well.
STEP_MINUTES = 2.0
#: Four rounds of all nodes in which each job is ended at its limit, a minute late at worst.
BUDGET = 4 * (STEP_MINUTES + 1) * NODES
SETTINGS = Path(__file__).with_name("vetted_settings.py")


class Fault:
    """A fault of a host: made when it is entered, taken away when it is left."""

    word: str

    def __init__(self, cluster, host):
        self.cluster, self.host = cluster, host


class Dead(Fault):
    """The daemon of the node dies, and Slurm does not know it."""

    word = "faulty"

    def __enter__(self):
        self.cluster.on(self.host, "pkill", "-KILL", "-x", "slurmd")

    def __exit__(self, *_):
        self.cluster("kill", self.host)
        self.cluster("start", self.host)
        self.cluster.sh(f"scontrol update nodename={self.host} state=resume || :")
        wait_for(lambda: "idle" in self.cluster.sh(f"sinfo -h -n {self.host} -o %T"), f"{self.host} is not back")


@dataclass
class Vetted:
    """What a vet prints: its exit status, the words of the nodes that are not good, the cost, the reasons."""

    status: int
    words: dict[str, str]
    spent: dict[str, float]
    seconds: float
    queue: str
    reasons: str


def vet(cluster, results):
    """Vet a cluster that is up."""
    env = {"FABRIC_RESULTS": str(results), "FABRIC_MPI": "mpich"}
    options = ["--budget", str(BUDGET), "--step-minutes", str(STEP_MINUTES), "--json", "-C", str(SETTINGS)]
    began = time.monotonic()
    line = [str(CI / "run"), "--mode", "vet", "--system", "minicluster", *options]
    done = cluster.call("exec", "head", "--", *line, timeout=1800, **env)
    took_s = time.monotonic() - began
    try:
        found = json.loads(done.stdout)
    except json.JSONDecodeError:
        raise AssertionError(done.stdout + done.stderr) from None
    words = {node: word for node, word in found["nodes"].items() if word != "good"}
    reasons = json.dumps(found["reasons"] | {"-": found["paths"]})
    return Vetted(done.returncode, words, found["spent"], took_s, cluster.sh("squeue -h").strip(), reasons)


def trial(cluster, results, faults):
    """Make faults, vet, take the faults away; return what the vet prints, and whether it is right.

    It is right if these nodes and no others are named, with the right word, within the budget, and nothing is left in
    the queue.
    """
    with ExitStack() as made:
        for fault in faults:
            made.enter_context(fault)
        found = vet(cluster, results)
    expected = {fault.host: fault.word for fault in faults}
    is_right = (found.status, found.words, found.queue) == (3 if expected else 0, expected, "")
    return found, is_right and found.spent["node_minutes"] <= BUDGET


def test_a_dead_node_is_named_and_no_other(four, tmp_path, report_table):
    """That of the host on which the job script runs: Slurm would queue such a job again, in front of all others."""
    # Links that are slower than a machine whose cores are all taken: else a healthy pair may be slow.
    four("shape", *(f"n{number}=200mbit" for number in range(1, 5)))
    try:
        found, is_right = trial(four, tmp_path, [Dead(four, "n1")])
    finally:
        four("shape", *(f"n{number}=none" for number in range(1, 5)))
    report_table("vet: slurmd of n1 killed", [str(found)])
    assert is_right, found
    # All nodes, and without it once more.
    assert found.spent["jobs"] == 2 and found.spent["rounds"] == 2
