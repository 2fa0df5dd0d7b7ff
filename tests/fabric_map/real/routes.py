# SPDX-License-Identifier: BSD-3-Clause
"""The routes of forwarding tables, walked port by port over the cabling that was made."""

import re
from collections import Counter

from fabric_checks.fabric_map import names
from fabric_checks.fabric_map.model import UNKNOWN, arcs_of
from tests.fabric_map.real.cabling import GBITS, is_adapter

ENTRY = re.compile(r"0x(\w+) (\d+) (?:: \(|# )(?:Channel Adapter.*'(.*)')?")


def true_routes(cabling, tables):
    """Return the ends of cables at which each ordered pair of adapters passes from switch to switch.

    :param tables: the output of ``dump_fts``, whole, or OpenSM's own dump.
    """
    ports, lids = {}, {}
    for line in tables.splitlines():
        if line.startswith("Unicast"):
            table = ports.setdefault(line[line.rindex("(") + 1 : -2].strip("'"), {})
        elif entry := ENTRY.match(line):
            table[int(entry[1], 16)] = int(entry[2])
            lids.setdefault(
                entry[3], int(entry[1], 16)
            )  # its first one is what MPI takes
    adapters = [node for node in cabling.ends if is_adapter(node) and node in lids]
    return {
        (a, b): walk(cabling, ports, a, b, lids[b]) for a in adapters for b in adapters
    }


def walk(cabling, ports, sender, receiver, lid):
    """Follow tables from a sender's switch to a receiver."""
    node, _, _ = cabling.ends[sender][1]
    passed = []
    while (far := cabling.ends[node][ports[node][lid]])[0] != receiver:
        passed.append((node, ports[node][lid], *far))
        node = far[0]
        assert len(passed) < 20, (
            f"OpenSM's own route from {sender} to {receiver} is a loop"
        )
    return passed


def shown(node):
    """Return the name by which a switch is known to people: of a board with its chassis."""
    name, _, board = node.removeprefix("MF0;").partition(":")
    return f"{name} {board.partition('/')[2]}" if board.count("/") > 1 else name


def compare(known, truth, adapter="mlx5_*"):
    """Return how many routes of a map are right, unknown and wrong.

    :param adapter: the adapter that the hosts of the run used; where it is not known, its ranks name it.
    """
    known = names.on_adapters(known, [adapter])
    pairs = [
        pair
        for pair in truth
        if "*" in adapter or all(end.endswith(adapter) for end in pair)
    ]
    words = 2 if "*" in adapter else 1
    ranks = [
        [" ".join(pair[side].split()[:words]) for pair in pairs] for side in (0, 1)
    ]
    (senders, _), (receivers, _) = (
        names.positions(of_side, known.hosts) for of_side in ranks
    )
    counts = Counter()
    ratios = set()
    for pair, arcs in zip(
        pairs, arcs_of(known, senders, receivers).tolist(), strict=True
    ):
        arcs = [arc for arc in arcs if arc != -1]
        expected = [
            f"{shown(a)} port {b} to {shown(c)} port {d}"
            for a, b, c, d, _ in truth[pair]
        ]
        if arcs and arcs[0] == UNKNOWN:
            counts["unknown"] += 1
            continue
        found = [
            " to ".join(known.cables[arc // 2].split(" to ")[:: -1 if arc % 2 else 1])
            for arc in arcs
        ]
        counts["right" if found == expected else "wrong"] += 1
        if known.rates is not None:
            ratios |= {
                round(known.rates[arc] / GBITS[kind], 6)
                for arc, (*_, kind) in zip(arcs, truth[pair], strict=True)
            }
    assert len(ratios) < 2
    return counts
