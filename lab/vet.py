# SPDX-License-Identifier: BSD-3-Clause
"""Trials of a vet on a cluster of eight hosts at two switches: every kind of fault so many times.

    . ci/env.sh
    python -m lab.vet 10                 # a line a trial, and a table; a hanging node takes minutes
    python -m lab.vet 10 dead slow
    python -m lab.vet 10 --scheduler flux          # or pbs, where they are installed

The hosts at fault are drawn, with a seed that is printed. ``tests/cluster/test_vet.py`` makes one trial.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.conftest import CI, Cluster
from tests.cluster.session_faults import COMMANDS
from tests.guard import wait_for

NODES = 8
#: Longer than `Rotate` takes to confirm a slow node at the rates of the trials, on a loaded machine as well.
STEP_MINUTES = 2.0
#: Four rounds of all nodes in which each job is ended at its limit, a minute late at worst.
BUDGET = 4 * (STEP_MINUTES + 1) * NODES
#: The daemon of a host, by scheduler.
DAEMONS = {"slurm": "slurmd", "flux": "flux-broker-.*", "pbs": "pbs_mom"}
SETTINGS = Path(__file__).with_name("vet_settings.py")
#: A rate that two loaded cores reach for all pairs at once: else a node at half of it is none.
RATE, HALF = "100mbit", "50mbit"
#: Stops the ranks of `rotate` on a host as soon as they are there: the job hangs, and Slurm sees a healthy
#: node.
STOP = "while :; do pkill -STOP -x rotate; sleep 0.2; done"


class Fault:
    """A fault of a host: made when it is entered, taken away when it is left."""

    word: str

    def __init__(self, cluster, host):
        self.cluster, self.host = cluster, host


class Dead(Fault):
    """The daemon of the node dies, and the scheduler does not know it."""

    word = "faulty"

    def __enter__(self):
        self.free = self.cluster.sh(COMMANDS[self.cluster.scheduler].free)
        # Those of a host share its processes: the head's daemons go on.
        self.cluster.on(
            self.host, "pkill", "-KILL", "-x", DAEMONS[self.cluster.scheduler]
        )

    def __exit__(self, *_):
        commands = COMMANDS[self.cluster.scheduler]
        self.cluster("kill", self.host)
        self.cluster("start", self.host)
        self.cluster.sh(f"{commands.resume.replace('n2', self.host)} || :")
        wait_for(
            lambda: self.cluster.sh(commands.free) == self.free,
            f"{self.host} is not back",
        )


class Hanging(Fault):
    """Processes of the job stop on the node."""

    word = "faulty"

    def __enter__(self):
        line = self.cluster.line_on(self.host, "sh", "-c", STOP)
        self.stopper = subprocess.Popen(
            line, env=self.cluster.environment(), start_new_session=True
        )

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


@dataclass
class Vetted:
    """The result of a vet: its exit status, the words of the nodes that are not good, the cost, the
    reasons."""

    status: int
    words: dict[str, str]
    spent: dict[str, float]
    seconds: float
    queue: str
    reasons: str


def vet(cluster, results):
    """Vet a cluster that is up."""
    env = {"FABRIC_RESULTS": str(results), "FABRIC_MPI": "mpich"}
    options = [
        "--budget",
        str(BUDGET),
        "--step-minutes",
        str(STEP_MINUTES),
        "--json",
        "-C",
        str(SETTINGS),
    ]
    began = time.monotonic()
    line = [str(CI / "run"), "--mode", "vet", "--system", "minicluster", *options]
    done = cluster.tried("head", *line, timeout=1800, **env)
    took_s = time.monotonic() - began
    try:
        found = json.loads(done.stdout)
    except json.JSONDecodeError:
        raise AssertionError(done.stdout + done.stderr) from None
    words = {node: word for node, word in found["nodes"].items() if word != "good"}
    reasons = json.dumps(found["reasons"] | {"-": found["paths"]})
    commands = COMMANDS[cluster.scheduler]
    queue = cluster.sh(f"{commands.running}; {commands.waiting}").strip()
    return Vetted(done.returncode, words, found["spent"], took_s, queue, reasons)


def trial(cluster, results, faults):
    """Make faults, vet, take the faults away; return what the vet prints, and whether it is right.

    It is right if these nodes and no others are named, with the right word, within the budget, and nothing is
    left in the queue.
    """
    with ExitStack() as made:
        for fault in faults:
            made.enter_context(fault)
        found = vet(cluster, results)
    expected = {fault.host: fault.word for fault in faults}
    is_right = (found.status, found.words, found.queue) == (3, expected, "")
    return found, is_right and found.spent["node_minutes"] <= BUDGET


KINDS: dict[str, tuple[Callable[[Cluster, str], Fault], ...]] = {
    "dead": (Dead,),
    "hanging": (Hanging,),
    "slow": (Slow,),
    "two": (Hanging, Slow),
}


def main(count: int, names: list[str], scheduler: str) -> int:
    """Print a line for each trial and a table at the end; return an exit status."""
    seed = int(os.environ.get("FABRIC_TRIAL_SEED", time.time()))
    draw = random.Random(seed)
    print(f"seed {seed}", flush=True)
    done: dict[str, list[Vetted]] = {name: [] for name in names}
    right = dict.fromkeys(names, 0)
    cluster = Cluster(scheduler=scheduler)
    switches = ["--switches", "2"] if scheduler == "slurm" else []
    cluster(
        "up", "--nodes", str(NODES), "--rate", RATE, *switches, "--scheduler", scheduler
    )
    try:
        with tempfile.TemporaryDirectory() as folder:
            for name in names:
                for number in range(count):
                    hosts = draw.sample(
                        [f"n{each}" for each in range(1, NODES + 1)], len(KINDS[name])
                    )
                    faults = [
                        kind(cluster, host)
                        for kind, host in zip(KINDS[name], hosts, strict=True)
                    ]
                    found, is_right = trial(
                        cluster, Path(folder) / f"{name}-{number}", faults
                    )
                    done[name].append(found)
                    right[name] += is_right
                    line = {
                        "right": is_right,
                        "words": found.words,
                        "spent": found.spent,
                        "s": round(found.seconds),
                    }
                    print(json.dumps({"kind": name, "hosts": hosts} | line), flush=True)
                    if not is_right:
                        print(found.reasons, flush=True)
    finally:
        cluster.end()
    for name, all_of in done.items():
        jobs, minutes = (
            max(each.spent[what] for each in all_of)
            for what in ("jobs", "node_minutes")
        )
        slowest = max(each.seconds for each in all_of)
        print(
            f"{name}: {right[name]} of {count}; at most {jobs} jobs, {minutes:.1f} node-minutes,"
            f" {slowest:.0f} s"
        )
    return 0 if all(good == count for good in right.values()) else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("count", type=int)
    parser.add_argument("kinds", nargs="*", help=", ".join(KINDS))
    parser.add_argument("--scheduler", choices=list(DAEMONS), default="slurm")
    asked = parser.parse_intermixed_args()
    sys.exit(main(asked.count, asked.kinds or list(KINDS), asked.scheduler))
