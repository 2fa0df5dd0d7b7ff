# SPDX-License-Identifier: BSD-3-Clause
"""Faults on a real cluster of eight nodes (`ci/cluster`): how many are named rightly, kind by kind.

    python -m lab.faults.live --trials 20                    all kinds, about an hour and a half
    python -m lab.faults.live --trials 20 --beside           with a job of other people on every node
    python -m lab.faults.live --trials 1 --kind sending      one trial of one kind
    python -m lab.faults.live --trials 5 --ways              four switches with two ways to each other: all,
    one lost

Each trial runs what the level nightly runs: eight ranks of the pattern round-robin, with --confirm. A trial
is right if exactly the node that was shaped is blamed, with the side on which it is slow, and of a healthy
cluster nobody is. A node that receives slowly from a drawn moment of its part of the scan on is to be named;
since when is counted apart, for a node receives in three rounds only. Where half of the nodes are slow,
nobody is to be blamed, and this or the two levels are to be printed. With a way lost the switch is to be
named, or nobody.
"""

import argparse
import contextlib
import random
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from ci.minicluster.network import bridge_side
from fabric_checks.core.routing import HASHED
from fabric_checks.diagnosis.cross_section import evaluation
from fabric_checks.diagnosis.finding import faults
from fabric_checks.fabric_map import topology_files
from fabric_checks.fabric_map.model import of_switches
from fabric_checks.parsers import rotate_patterns
from tests.cluster import ways
from tests.cluster.conftest import MPIS, Cluster
from tests.fabric.test_programs import Mpi

#: A rate that a few cores reach for all pairs at once, also beside other work: what is measured is the links.
NODES, RATE, HALF = 8, "200mbit", "100mbit"
#: What is shaped, and what has to be said: the kind of the finding.
KINDS = {
    "healthy": ((), None),
    "half rate": (("send", "receive"), "node"),
    "sending": (("send",), "sender"),
    "receiving": (("receive",), "receiver"),
    "mid-scan": (("receive",), "receiver"),
    "half of the machine": (("send", "receive"), None),
}
#: Less than the check moves, so that a trial takes seconds: still an eighth of a second a pair.
LESS = ("--size", "512K", "--messages", "6", "--tests", "2")
#: Fewer repeats, without the pause before the last: for one trial of each kind in the tests. With fewer bytes
#: a pair differs by a tenth from one measurement to the next, and nothing is certain.
SOON = ("--confirm-repeats", "2", "--confirm-pause", "0")
#: What other people do: a process on each node that computes and talks to the next node, a little at a time.
OTHERS = """
import os, socket, threading, time
me = os.environ["SLURMD_NODENAME"]
other = f"n{int(me[1:]) % 8 + 1}"
def listen():
    with socket.create_server(("", 5999)) as server:
        while True:
            peer, _ = server.accept()
            while peer.recv(1 << 16): pass
threading.Thread(target=listen, daemon=True).start()
time.sleep(2)
peer = socket.create_connection((other, 5999))
while True:
    peer.sendall(bytes(1 << 18)); sum(range(200000)); time.sleep(0.1)
"""


@dataclass
class Trial:
    """What was broken, as kinds by node, and what was said: kinds and nodes of all that was blamed, with the
    words."""

    broken: dict
    blamed: list
    words: list

    @property
    def is_right(self):
        expected = [(KINDS[kind][1], node) for node, kind in self.broken.items()]
        kinds = set(self.broken.values())
        shown = " ".join(self.words)
        return self.blamed == sorted(each for each in expected if each[0]) and (
            "half of the machine" not in kinds
            or f"{NODES // 2} of {NODES} nodes reach" in shown
            or "half of the nodes are slow" in shown
        )


class Laboratory:
    """A cluster that is up, `rotate` for it, and what Slurm says of its switches."""

    def __init__(self, cluster, folder, mpi="mpich"):
        self.moments = random.Random(1)
        self.cluster, self.built = cluster, Mpi(mpi, folder, "rotate")
        self.plugin, self.more = MPIS[mpi]
        self.known = topology_files.of_texts(
            [("scontrol", cluster.on("n1", "scontrol", "show", "topology"))]
        )

    def measure(self, *options):
        """Return the output of a run on all nodes."""
        shifts = str(rotate_patterns.nightly_rounds(NODES))
        line = [
            f"--mpi={self.plugin}",
            f"-N{NODES}",
            f"-n{NODES}",
            "--overcommit",
            self.built.folder / "rotate",
        ]
        line += [
            "--pattern",
            "round-robin",
            "--shifts",
            shifts,
            "--confirm",
            *LESS,
            *options,
        ]
        environment = {
            name: self.built.env[name]
            for name in ("PATH", "LD_LIBRARY_PATH", "I_MPI_ROOT")
        } | self.more
        done = self.cluster.srun(*line, **environment)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def try_ways(self, lost):
        """Let switches of two nodes each have two ways to each other, measure, and evaluate with hashed
        routing.

        :param lost: ways that are down, as pairs of the numbers of switch and way.
        """
        leaves = [[f"n{number}", f"n{number + 1}"] for number in range(1, NODES + 1, 2)]
        self.cluster.sh(ways.commands(leaves, 2, RATE, lost))
        named = {f"leaf{number + 1}": hosts for number, hosts in enumerate(leaves)}
        groups = self.built.folder / "groups.txt"
        groups.write_text(
            "".join(
                f"{host} {leaf}\n" for leaf, hosts in named.items() for host in hosts
            )
        )
        known = of_switches("the cluster", named, HASHED)
        report = evaluation.of_run(
            evaluation.read(self.measure("--groups", str(groups)), "round-robin"),
            known=known,
        )
        blamed = sorted((found.kind, found.part) for found in faults(report.findings))
        return blamed, [
            each.text for each in report.all_findings() if each.kind != "not measured"
        ]

    def try_(self, broken, *options):
        """Break nodes, each in its way, measure, and mend them.

        :param broken: kinds by node.
        """
        shapes = [
            f"{node}.{side}={HALF}"
            for node, kind in broken.items()
            for side in KINDS[kind][0]
        ]
        try:
            if "mid-scan" in broken.values():
                output = self.measure_and_slow(*broken, *options)
            else:
                if shapes:
                    self.cluster("shape", *shapes)
                output = self.measure(*options)
            report = evaluation.of_run(
                evaluation.read(output, "round-robin"), known=self.known
            )
        finally:
            for node in broken:
                self.cluster("shape", f"{node}={RATE}")
        blamed = sorted(
            (found.kind, " ".join(found.hosts)) for found in faults(report.findings)
        )
        return Trial(broken, blamed, [found.text for found in report.findings])

    def measure_and_slow(self, node, *options):
        """Return the output of a run during which a node begins to receive slowly, when a part of the scan is
        over.

        How far the scan is shows by what the node has received: it receives in half of the rounds.
        """
        size_B, messages, tests = 512 * 1024, 6, 2
        scan_B = rotate_patterns.nightly_rounds(NODES) / 2 * size_B * messages * tests
        link = bridge_side(node)
        counter = f"/sys/class/net/{link}/statistics/tx_bytes"
        slow = f"tc qdisc change dev {link} root tbf rate {HALF} burst 64k latency 50ms"
        script = (
            f"end=$(($(cat {counter}) + {round(self.moments.uniform(0.25, 0.75) * scan_B)}))\n"
            f"for try in $(seq 3000); do [ $(cat {counter}) -lt $end ] || break; sleep 0.02; done\n{slow}"
        )
        with ThreadPoolExecutor(1) as aside:
            waiting = aside.submit(self.cluster.sh, script)
            output = self.measure(*options)
            waiting.result()
        return output

    @contextlib.contextmanager
    def others_at_work(self):
        """Let other people's processes run on every node meanwhile."""
        line = self.cluster.line_on("head")
        line += [
            "srun",
            f"-N{NODES}",
            f"-n{NODES}",
            "--overcommit",
            "--overlap",
            sys.executable,
            "-c",
            OTHERS,
        ]
        with subprocess.Popen(
            line, env=self.cluster.environment(), stdout=subprocess.DEVNULL
        ) as work:
            try:
                yield
            finally:
                work.terminate()


@contextlib.contextmanager
def laboratory():
    """Start a cluster for the trials, and end it."""
    cluster = Cluster()
    cluster(
        "up", "--nodes", str(NODES), "--rate", RATE, "--cores", "4", "--switches", "2"
    )
    try:
        with tempfile.TemporaryDirectory() as folder:
            yield Laboratory(cluster, Path(folder))
    finally:
        cluster("down")


def of_ways(trials, draw):
    """Try a cluster with several ways between switches, healthy and with one lost; return an exit status."""
    wrong = 0
    with laboratory() as place:
        for lost in (False, True):
            right = named = 0
            for number in range(trials):
                at = (draw.randrange(NODES // 2), draw.randrange(2))
                blamed, words = place.try_ways([at] if lost else [])
                expected = (
                    [("uplinks", f"all uplinks of leaf{at[0] + 1}")] if lost else []
                )
                right += blamed in ([], expected)
                named += bool(blamed) and blamed == expected
                print(
                    f"lost: {expected}, trial {number}: blamed {blamed}: {words}",
                    flush=True,
                )
            wrong += trials - right
            what = f"one way lost: {named} named," if lost else "healthy:"
            print(f"{what} {right} of {trials} without a false name", flush=True)
    return 1 if wrong else 0


def main():
    """Run the trials and print a line for each that was wrong, and a line for each kind."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--trials", type=int, required=True, help="of each kind")
    options.add_argument(
        "--kind",
        action="append",
        choices=KINDS,
        help="only this one; may be given again",
    )
    options.add_argument(
        "--ways",
        action="store_true",
        help="two ways between four switches, one lost or none",
    )
    options.add_argument(
        "--beside",
        action="store_true",
        help="other people's processes run on every node",
    )
    options.add_argument(
        "--seed", type=int, default=1, help="of the nodes that are broken (default: 1)"
    )
    asked = options.parse_args()
    nodes = random.Random(asked.seed)
    wrong = 0
    if asked.ways:
        return of_ways(asked.trials, nodes)
    with (
        laboratory() as place,
        place.others_at_work() if asked.beside else contextlib.nullcontext(),
    ):
        for kind in asked.kind or KINDS:
            right = since = observed = 0
            for number in range(asked.trials):
                hosts = [f"n{nodes.randint(1, NODES)}"]
                if kind == "half of the machine":
                    hosts = nodes.choice(
                        [
                            [f"n{first + each}" for each in range(NODES // 2)]
                            for first in (1, 5)
                        ]
                    )
                trial = place.try_(dict.fromkeys(hosts, kind))
                right += trial.is_right
                since += " since about " in " ".join(trial.words)
                observed += any(
                    f"node {hosts[0]} " in each and " since late " in each
                    for each in trial.words
                )
                if not trial.is_right:
                    print(f"{kind}, trial {number}, {hosts}: {trial.words}", flush=True)
            wrong += asked.trials - right
            when = (
                f", {since} with since when, {observed} observed only"
                if kind == "mid-scan"
                else ""
            )
            print(f"{kind}: {right} of {asked.trials} right{when}", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
