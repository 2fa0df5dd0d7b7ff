# SPDX-License-Identifier: BSD-3-Clause
"""Trials of a vet on a cluster of eight hosts at two switches: every kind of fault so many times.

    . ci/env.sh
    python -m tests.cluster.vetted 10                 # a line a trial, and a table; a hanging node takes minutes
    python -m tests.cluster.vetted 10 dead slow

Each trial is `ci/run --mode vet`; the hosts at fault are drawn, with a seed that is printed. A trial is right if these
and no others are named, with the right word, within the budget, and nothing is left in the queue.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.conftest import CI, Cluster
from tests.guard import wait_for

#: A rate that two cores reach for all pairs at once, also beside other work: else a node at half of it is none.
NODES, RATE, HALF = 8, "100mbit", "50mbit"
#: Longer than `Rotate` takes to confirm a slow node at this rate, beside load as well.
STEP_MINUTES = 2.0
#: Four rounds of all nodes in which each job is ended at its limit, a minute late at worst.
BUDGET = 4 * (STEP_MINUTES + 1) * NODES
SETTINGS = Path(__file__).with_name("vetted_settings.py")
#: Stops the ranks of `rotate` on a host as soon as they are there: the job hangs, and Slurm sees a healthy node.
STOP = "while :; do pkill -STOP -x rotate; sleep 0.2; done"


class Fault:
    """A fault of a host: made when it is entered, taken away when it is left."""

    def __init__(self, cluster: Cluster, host: str) -> None:
        self.cluster, self.host = cluster, host


class Dead(Fault):
    """The daemon of the node dies; nobody has told Slurm."""

    word = "faulty"

    def __enter__(self):
        self.cluster.on(self.host, "pkill", "-KILL", "-x", "slurmd")

    def __exit__(self, *_):
        self.cluster("kill", self.host)
        self.cluster("start", self.host)
        self.cluster.sh(f"scontrol update nodename={self.host} state=resume || :")
        wait_for(lambda: "idle" in self.cluster.sh(f"sinfo -h -n {self.host} -o %T"), f"{self.host} is not back")


class Hanging(Fault):
    """Processes of the job stop on the node."""

    word = "faulty"

    def __enter__(self):
        line = [*self.cluster.command, "exec", self.host, "--name", self.cluster.name, "--", "sh", "-c", STOP]
        self.stopper = subprocess.Popen(line, env=self.cluster.environment(), start_new_session=True)

    def __exit__(self, *_):
        self.cluster.on(self.host, "pkill", "-KILL", "-f", "pkill -STOP")
        self.stopper.wait()


class Slow(Fault):
    """The link of the node has half its rate, both ways."""

    word = "slow"

    def __enter__(self):
        self.cluster("shape", f"{self.host}={HALF}")

    def __exit__(self, *_):
        self.cluster("shape", f"{self.host}={RATE}")


KINDS: dict[str, tuple[Callable[[Cluster, str], Fault], ...]] = {
    "dead": (Dead,),
    "hanging": (Hanging,),
    "slow": (Slow,),
    "two": (Hanging, Slow),
}


@dataclass
class Vetted:
    """What a vet says: its exit status, the words of the nodes that are not good, what it has spent."""

    status: int
    words: dict[str, str]
    spent: dict[str, float]
    seconds: float
    queue: str
    said: str

    def is_right(self, expected: dict[str, str]) -> bool:
        return (self.status, self.words, self.queue) == (3 if expected else 0, expected, "") and (
            self.spent["node_minutes"] <= BUDGET
        )


def vet(cluster: Cluster, results: Path) -> Vetted:
    """Vet a cluster that is up."""
    env = {"FABRIC_RESULTS": str(results), "FABRIC_MPI": "mpich"}
    options = ["--budget", str(BUDGET), "--step-minutes", str(STEP_MINUTES), "--json", "-C", str(SETTINGS)]
    began = time.monotonic()
    line = [str(CI / "run"), "--mode", "vet", "--system", "minicluster", *options]
    done = cluster.call("exec", "head", "--", *line, timeout=1800, **env)
    took = time.monotonic() - began
    try:
        told = json.loads(done.stdout)
    except json.JSONDecodeError:
        raise AssertionError(done.stdout + done.stderr) from None
    words = {node: word for node, word in told["nodes"].items() if word != "good"}
    queue = cluster.sh("squeue -h").strip()
    return Vetted(
        done.returncode, words, told["spent"], took, queue, json.dumps(told["reasons"] | {"-": told["paths"]})
    )


def trial(cluster: Cluster, results: Path, name: str, hosts: list[str]) -> tuple[Vetted, bool]:
    """Make faults, vet, take the faults away; return what was said, and whether it is right."""
    faults = [kind(cluster, host) for kind, host in zip(KINDS[name], hosts, strict=True)]
    made = []
    try:
        for fault in faults:
            fault.__enter__()
            made.append(fault)
        found = vet(cluster, results)
    finally:
        for fault in made:
            fault.__exit__()
    return found, found.is_right({fault.host: fault.word for fault in faults})


def main(count: int, names: list[str]) -> int:
    """Print a line for each trial and a table at the end; return an exit status."""
    seed = int(os.environ.get("FABRIC_TRIAL_SEED", time.time()))
    draw = random.Random(seed)
    print(f"seed {seed}", flush=True)
    done: dict[str, list[Vetted]] = {name: [] for name in names}
    right = dict.fromkeys(names, 0)
    cluster = Cluster()
    cluster("up", "--nodes", str(NODES), "--rate", RATE, "--switches", "2")
    try:
        with tempfile.TemporaryDirectory() as folder:
            for name in names:
                for number in range(count):
                    hosts = draw.sample([f"n{each}" for each in range(1, NODES + 1)], len(KINDS[name]))
                    found, is_right = trial(cluster, Path(folder) / f"{name}-{number}", name, hosts)
                    done[name].append(found)
                    right[name] += is_right
                    said = {"right": is_right, "words": found.words, "spent": found.spent, "s": round(found.seconds)}
                    print(json.dumps({"kind": name, "hosts": hosts} | said), flush=True)
                    if not is_right:
                        print(found.said, flush=True)
    finally:
        cluster.end()
    for name, all_of in done.items():
        jobs, minutes = (max(each.spent[what] for each in all_of) for what in ("jobs", "node_minutes"))
        slowest = max(each.seconds for each in all_of)
        print(f"{name}: {right[name]} of {count}; at most {jobs} jobs, {minutes:.1f} node-minutes, {slowest:.0f} s")
    return 0 if all(good == count for good in right.values()) else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:] or list(KINDS)))
