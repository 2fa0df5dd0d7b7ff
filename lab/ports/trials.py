# SPDX-License-Identifier: BSD-3-Clause
"""Trials of what the ports say, on a cluster of four hosts with two interfaces each: every kind so many
times.

    . ci/env.sh
    python -m lab.ports.trials 20           # a table: right of 20, and what was said; needs a quiet machine
    python -m lab.ports.trials 20 loss wire
    python -m lab.ports.trials 10 loss --nodes 8 --rate 100mbit

Each trial is a run of `ci/run` with one case of `Rotate`; the host at fault is drawn, with a seed that is
printed.
"""

import argparse
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fabric_checks.records.runs import load_session
from lab.ports import wires
from tests.cluster.conftest import CI, Cluster
from tests.guard import GUARD_S

HERE = Path(__file__).parent
CASE = "^Rotate%pattern=shift%layout={}x1$"
#: Blames somebody for certain; what is of the kinds of `rotate` itself is not of the ports.
KINDS = ("port", "rail", "host")
#: With links of one rate, nothing else is unlike; of a host's load and memory nobody is blamed.
RATE = "1gbit"


@dataclass
class Said:
    """What a run says: its certain findings of ports, why the case failed, what crossed the ports, and its
    values."""

    findings: list[dict]
    reason: str | None
    ports: dict
    values: dict[str, float]

    @property
    def blamed(self):
        return {host for found in self.findings for host in found["hosts"]}

    def __str__(self):
        return (
            "; ".join(
                [
                    *([self.reason] if self.reason else []),
                    *(each["text"] for each in self.findings),
                ]
            )
            or "quiet"
        )


def run(cluster, results, *, ports="eth*", variables="", case="", mpi="mpich"):
    """Run a case on a cluster that is up, and return what its record says."""
    env = {
        "FABRIC_RESULTS": str(results),
        "FABRIC_MPI": mpi,
        "FABRIC_TRIAL_PORTS": ports,
    }
    env |= {"FABRIC_TRIAL_VARIABLES": variables}
    line = [
        CI / "run",
        "--system",
        "minicluster",
        "-C",
        HERE / "settings.py",
        "-n",
        case or CASE.format(len(cluster.entry.spec.hosts)),
    ]
    done = cluster.tried("head", *line, timeout=GUARD_S, **env)
    sessions = (
        sorted((results / "stage").iterdir()) if (results / "stage").exists() else []
    )
    assert sessions, done.stdout + done.stderr
    records = load_session(results, sessions[-1].name).records
    assert records, done.stdout + done.stderr
    record, values = records[0], {each["metric"]: each["value"] for each in records}
    found = [
        each
        for each in record["findings"] or []
        if each["kind"] in KINDS and each["severity"] == "fault"
    ]
    failed = record["case_result"] != "pass"
    return Said(
        found,
        (record["fail_reason"] or "it failed") if failed else None,
        record["ports"],
        values,
    )


def _nothing(cluster, host):
    """Leave the links as they are."""


@dataclass
class Kind:
    """A kind of fault: how it is made and taken away, how the case is run, and what is right."""

    is_right: Callable[[Said, str], bool]
    make: Callable = _nothing
    heal: Callable = _nothing
    ports: str = "eth*"
    variables: str = ""


def _down(cluster, host):
    cluster.on(host, "ip", "link", "set", "eth1", "down")


def _up(cluster, host):
    cluster.on(host, "ip", "link", "set", "eth1", "up")


#: UCX, which MPICH's wheel has, takes all interfaces, unless it is told.
ONLY_FIRST, ONLY_SECOND = "UCX_NET_DEVICES=eth0", "UCX_NET_DEVICES=eth1"
KINDS_OF_FAULTS = {
    "healthy": Kind(lambda said, host: not said.findings and said.reason is None),
    "wire": Kind(
        lambda said, host: (
            said.reason is not None
            and "MPI uses TCP" in said.reason
            and "over eth1" in said.reason
        ),
        ports="eth0",
        variables=ONLY_SECOND,
    ),
    "loss": Kind(
        lambda said, host: said.blamed == {host} and said.reason is None,
        lambda cluster, host: wires.lose(cluster, host),
        wires.heal,
        ports="eth0",
        variables=ONLY_FIRST,
    ),
    "corruption": Kind(
        lambda said, host: (
            said.blamed == {host}
            and any("wrong checksum" in each["text"] for each in said.findings)
        ),
        lambda cluster, host: wires.corrupt(cluster, host),
        wires.heal,
        ports="eth0",
        variables=ONLY_FIRST,
    ),
    "idle rail": Kind(
        lambda said, host: (
            said.blamed == {host}
            and any(each["kind"] == "rail" for each in said.findings)
        ),
        _down,
        _up,
    ),
}


def trial(cluster, results, name, host):
    """Make a fault, run the case, take the fault away; return what was said, and whether it is right."""
    kind = KINDS_OF_FAULTS[name]
    kind.make(cluster, host)
    try:
        said = run(cluster, results, ports=kind.ports, variables=kind.variables)
    finally:
        kind.heal(cluster, host)
    return said, kind.is_right(said, host)


def main(count, names, nodes, rate):
    """Print a line for each trial and a table at the end; return an exit status."""
    seed = int(os.environ.get("FABRIC_TRIAL_SEED", time.time()))
    draw = random.Random(seed)
    print(f"seed {seed}", flush=True)
    right = dict.fromkeys(names, 0)
    cluster = Cluster()
    cluster("up", "--nodes", str(nodes), "--rate", rate)
    try:
        wires.second_links(cluster, rate)
        with tempfile.TemporaryDirectory() as folder:
            for number in range(count):
                for name in names:
                    host = draw.choice(cluster.entry.spec.hosts)
                    said, is_right = trial(
                        cluster,
                        Path(folder) / f"{name.replace(' ', '-')}-{number}",
                        name,
                        host,
                    )
                    right[name] += is_right
                    print(
                        json.dumps(
                            {
                                "kind": name,
                                "host": host,
                                "right": is_right,
                                "said": str(said),
                            }
                        ),
                        flush=True,
                    )
    finally:
        cluster.end()
    for name, good in right.items():
        print(f"{name}: {good} of {count}")
    return 0 if all(good == count for good in right.values()) else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("count", type=int)
    parser.add_argument("kinds", nargs="*", help=", ".join(KINDS_OF_FAULTS))
    parser.add_argument("--nodes", type=int, default=4)
    parser.add_argument("--rate", default=RATE)
    asked = parser.parse_intermixed_args()
    sys.exit(
        main(asked.count, asked.kinds or list(KINDS_OF_FAULTS), asked.nodes, asked.rate)
    )
