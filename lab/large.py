# SPDX-License-Identifier: BSD-3-Clause
"""Who is named among thousands of nodes: ``python -m lab.large --first-seed S --jobs 1 --details``.

The fabric is the tree of three levels of :mod:`lab.big_fabric`, whose map is made in memory; a night is that
of :mod:`lab.faults`, with the noise of 3 % that is there. Trials are healthy, of a host that sends and
receives at 80 %, of a scanned pair at 80 %, and of a cable at 75 % both ways that four scanned pairs cross.
*Named*: that part and no other; *blamed*: a part without a fault.
"""

import resource
import time
from functools import partial
from types import SimpleNamespace

import numpy as np

from fabric_checks.core.routing import STATIC
from fabric_checks.diagnosis.cross_section import evaluation
from fabric_checks.diagnosis.finding import faults as faults_of
from fabric_checks.fabric_map.model import FabricMap, arcs_of
from lab import harness
from lab.big_fabric import Tree
from lab.faults import program
from lab.faults.fabric import Fabric, LINK_MBps, Noise

NOISE = Noise(0.03)
KINDS = ("host", "pair", "cable", "healthy")
COLUMNS = ("named", "among", "missed", "blamed", "quiet")
TREES = {512: Tree(8, 8, 8), 4096: Tree(16, 16, 16), 10000: Tree(25, 20, 25)}


def map_of(tree):
    """Return the map of a tree."""
    names = tree.switches
    number, ends, cables = {}, [], []
    for switch in range(len(names)):
        for port, (kind, other, far) in enumerate(tree.ports(switch), 1):
            if kind == "S" and other > switch:
                number[switch, port], number[other, far] = len(ends), len(ends) + 1
                ends += [(switch, other), (other, switch)]
                cables.append(
                    f"{names[switch]} port {port} to {names[other]} port {far}"
                )
    towards = np.full((len(names), tree.hosts), -1, dtype=np.int32)
    for switch in range(len(names)):
        most = max(port for at, port in number if at == switch)
        arcs = [number.get((switch, port), -1) for port in range(most + 1)]
        towards[switch] = np.array(arcs)[np.minimum(tree.table(switch), most)]
    starts, reached = np.array(ends, dtype=np.int64).T
    hosts = tuple(f"cn{host:05d}" for host in range(tree.hosts))
    at = np.arange(tree.hosts) // tree.width
    return FabricMap(
        "lab.big_fabric", hosts, tuple(names), at, starts, reached, tuple(cables), towards, routing=STATIC
    )  # fmt: skip


def fabric(known, seed, **faults):
    """Return the fabric of a map, whose links are all alike."""
    cables = [SimpleNamespace(rate_MBps=LINK_MBps)] * len(known.cables)
    wiring = SimpleNamespace(hosts=known.hosts, cables=cables)
    return Fabric(wiring, known, NOISE, seed, **faults)


def drawn(known, kind, random):
    """Return the shares of a fabric with a fault, and the name of the part."""
    _, sender, receiver = program.round_robin(len(known.hosts))
    place = int(random.integers(len(sender)))
    one, other = int(sender[place]), int(receiver[place])
    if kind == "host":
        return {
            "senders": {one: 0.8},
            "receivers": {one: 0.8},
        }, f"node {known.hosts[one]}"
    if kind == "pair":
        return {
            "pairs": {(one, other): 0.8}
        }, f"{known.hosts[one]} to {known.hosts[other]}"
    if kind == "cable":
        crossed = (
            arcs_of(known, sender.astype(np.int64), receiver.astype(np.int64)) // 2
        )
        count = np.bincount(crossed[crossed >= 0])
        cable = int(random.choice(np.flatnonzero(count >= 4)))
        return {
            "arcs": {2 * cable: 0.75, 2 * cable + 1: 0.75}
        }, f"cable {known.cables[cable]}"
    return {}, ""


def trial(kind, seed, nodes):
    """Return what became of a trial as the table counts it, and what was said."""
    known = map_of(TREES[nodes])
    faults, part = drawn(known, kind, np.random.default_rng([seed, 1]))
    output = program.run(fabric(known, seed, **faults))
    began = time.process_time()
    report = evaluation.of_run(output, known=known)
    took_s = time.process_time() - began
    found = faults_of(report.findings)
    parts = [[each.part, *each.others] for each in found]
    if not found:
        word = "missed" if part else "quiet"
    elif not part or any(part not in each for each in parts):
        word = "blamed"
    else:
        word = "named" if parts == [[part]] else "among"
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    said = f"{part}: {[each.text for each in found]}; {report.limits}"
    return [word], f"{said}; {took_s:.0f} s of a processor, {peak:.1f} GB at most"


def main():
    """Print a table."""
    parser = harness.options("lab.large", __doc__)
    parser.add_argument("--nodes", type=int, default=4096, choices=TREES)
    given = parser.parse_args()
    harness.table(given, KINDS, COLUMNS, partial(trial, nodes=given.nodes))


if __name__ == "__main__":
    main()
