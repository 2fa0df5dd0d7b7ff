# SPDX-License-Identifier: BSD-3-Clause
"""What `rotate --pattern round-robin --confirm` measures on a fabric of the laboratory, by the program's own rules.

The rules are those of checks/fabric/src/rotate_patterns.h, rotate_suspects.h and rotate_confirm.h.
"""

import numpy as np

from fabric_checks.analysis.cross_section import suspects
from fabric_checks.parsers.rotate import RotateOutput, Transfers

REPEATS, SHARE = 4, 0.06
NEAR, FAR = 4, 8
CONTROLS_KEPT, CONTROLS_OF_ALL, CONTROLS_MOST = 8, 8, 32
QUOTAS = (4, 8, 2**31)
NONE = Transfers(*(np.empty(0, dtype=np.int32) for _ in range(3)), np.empty(0))


def round_robin(nodes, rounds=0):
    """Return round, sender and receiver of so many rounds of the tournament; N/2, rounded up, if it is 0."""
    turns = nodes - 1 + nodes % 2
    wanted = min(rounds or (nodes + 1) // 2, turns)
    turn = np.arange(wanted) * (turns - 1) // max(wanted - 1, 1)
    middle = np.where(turn % 2 == 0, turn // 2, turn // 2 + turns // 2 + 1)
    away = np.arange(1, turns // 2 + 1)
    upper, lower = (middle[:, None] + away) % turns, (middle[:, None] - away) % turns
    rank = np.arange(turns)
    if nodes % 2 == 0:
        rank = np.where(rank >= nodes // 2, rank + 1, rank)
    one_sends = np.broadcast_to(away % 2 == 1, upper.shape)
    if nodes >= 16:
        one_sends = one_sends ^ ((np.minimum(upper, lower) % 2 == 1) & ((upper ^ lower) % 2 == 1))
    upper, lower = rank[upper], rank[lower]
    sender, receiver = np.where(one_sends, upper, lower), np.where(one_sends, lower, upper)
    if nodes % 2 == 0:
        half, met = np.full(wanted, nodes // 2), rank[middle]
        sends = middle % 2 == 1
        sender = np.column_stack((sender, np.where(sends, half, met)))
        receiver = np.column_stack((receiver, np.where(sends, met, half)))
    number = np.repeat(turn, sender.shape[1])
    sender, receiver = sender.ravel(), receiver.ravel()
    order = np.lexsort((sender, number))
    return number[order].astype(np.int32), sender[order].astype(np.int32), receiver[order].astype(np.int32)


def partners(rank, nodes):
    """Return with whom a suspect node is measured again: its nearest by rank, and some of all others."""
    window = min(NEAR + 1, nodes)
    first = min(max(rank - NEAR // 2, 0), nodes - window)
    near = [each for each in range(first, first + window) if each != rank]
    rest = nodes - window
    far = min(rest, FAR)
    places = [i * rest // far + i * (i + 1) // 2 % (rest // far) for i in range(far)]
    return near + [at if at < first else at + window for at in places]


def budget(nodes):
    """Return the most rounds of `together`, and pairs alone and controls beside both, and all of the three."""
    bits = nodes.bit_length() - 1
    everything = (nodes // 2 + 64 * bits) // REPEATS
    alone = 8 * bits + nodes // 16
    rest = everything - alone
    controls = min(CONTROLS_KEPT, rest // 3)
    return rest - controls, alone, controls, everything


def run(fabric, *, rounds=0, confirm=True):
    """Return the output of a run; its rounds are in `rounds_of`."""
    nodes = fabric.nodes
    round_, sender, receiver = round_robin(nodes, rounds)
    scan = Transfers(round_, sender, receiver, fabric.measure(round_, sender, receiver))
    phases = {"scan": scan, "together": NONE, "control": NONE, "alone": NONE}
    found = suspects.find(scan, nodes, SHARE)
    wanted = _listed(scan, found, nodes)
    if confirm and len(wanted):
        _confirm(fabric, phases, found, wanted)
    return RotateOutput({}, "round-robin", tuple(fabric.wiring.hosts), nodes // 2, SHARE, confirm, 1.0, 1.1, phases)


def rounds_of(output):
    """Return how many rounds a run has, of all phases."""
    return sum(len(np.unique(part.round)) for part in output.phases.values())


def _listed(scan, found, nodes):
    """Return the suspects, both directions of each, in the order in which they are measured: sender, receiver."""
    order = {}

    def offer(place, one, other):
        for pair in ((one, other), (other, one)):
            order[pair] = min(place, order.get(pair, place))

    seen = {}
    by_sender = found.pairs[np.lexsort((found.share, scan.sender[found.pairs]))]
    for k in by_sender:
        one = int(scan.sender[k])
        offer(seen.get(one, 0), one, int(scan.receiver[k]))
        seen[one] = seen.get(one, 0) + 1
    for ranks, sends in ((found.senders, True), (found.receivers, False)):
        for rank in ranks:
            for place, other in enumerate(partners(rank, nodes)):
                offer(place, *((rank, other) if sends else (other, rank)))
    rows = sorted((place, *pair) for pair, place in order.items())
    return np.array([row[1:] for row in rows], dtype=np.int64).reshape(-1, 2)


def _confirm(fabric, phases, found, wanted):
    nodes = fabric.nodes
    together, most_alone, most_controls, everything = budget(nodes)
    place = _packed(wanted, nodes, together)
    kept = np.flatnonzero(place >= 0)
    used = int(place.max()) + 1
    phases["together"] = _together(fabric, wanted[kept], place[kept], used, nodes)
    value = dict(_medians(phases["together"], nodes))
    median = np.array([value[int(one) * nodes + int(other)] for one, other in wanted[kept]])
    slow = np.flatnonzero(median < (1 - SHARE) * found.overall_MBps)
    slow = slow[np.lexsort((wanted[kept][slow, 1], wanted[kept][slow, 0], median[slow]))]
    slow = wanted[kept][slow]
    # Pairs of suspect nodes first, of others evenly spread ones: what shares stands at 1/2 and 1/3, a fault anywhere.
    own = np.array([one in found.senders or other in found.receivers for one, other in slow.tolist()], dtype=bool)
    first, rest = slow[own][_fair(slow[own], most_alone * 3 // 4, nodes)], slow[~own]
    left = min(most_alone - len(first), len(rest))
    alone = np.vstack((first, rest[(2 * np.arange(left) + 1) * len(rest) // max(2 * left, 1)]))
    if not len(alone):
        return
    left = max(0, everything - used - len(alone) - most_controls)
    controls = _controls(phases["scan"], found, slow, alone, most_controls + left, nodes)
    _alone(fabric, phases, controls, alone)


def _packed(wanted, nodes, most):
    """Return the round of each pair: the first in which both its nodes are free, -1 beyond the last."""
    busy = [set() for _ in range(nodes)]
    place = np.full(len(wanted), -1)
    for k, (one, other) in enumerate(wanted.tolist()):
        at = 0
        while at in busy[one] or at in busy[other]:
            at += 1
        if at < most:
            place[k] = at
            busy[one].add(at)
            busy[other].add(at)
    return place


def _together(fabric, wanted, place, rounds, nodes):
    """Measure suspects in their rounds, with the pairs of the next ranks beside them."""
    rows = []
    for at in range(rounds):
        own = [tuple(pair) for pair in wanted[place == at].tolist()]
        taken = {rank for pair in own for rank in pair}
        for one, other in list(own):
            for step in (-1, 1):
                pair = (one + step, other + step)
                if min(pair) >= 0 and max(pair) < nodes and not taken & set(pair):
                    own.append(pair)
                    taken |= set(pair)
        rows += [(at, *pair) for pair in sorted(own)]
    number, one, other = np.array(rows, dtype=np.int64).T
    number = np.concatenate([number + rounds * repeat for repeat in range(REPEATS)])
    return _measured(fabric, number, np.tile(one, REPEATS), np.tile(other, REPEATS))


def _measured(fabric, number, one, other):
    rates = fabric.measure(number, one, other)
    return Transfers(number.astype(np.int32), one.astype(np.int32), other.astype(np.int32), rates)


def _medians(part, nodes):
    """Return pairs as numbers with the median of each."""
    key = part.sender.astype(np.int64) * nodes + part.receiver
    order = np.argsort(key, kind="stable")
    starts = np.flatnonzero(np.diff(key[order], prepend=-1))
    return [
        (int(key[order][a]), float(np.median(values)))
        for a, values in zip(starts, np.split(part.MBps[order], starts[1:]), strict=True)
    ]


def _fair(slow, limit, nodes):
    """Return which pairs are measured alone: the slowest first, but at first only a few of a sender or receiver."""
    chosen, left = [], list(range(len(slow)))
    sent, received = np.zeros(nodes, dtype=int), np.zeros(nodes, dtype=int)
    for quota in QUOTAS:
        rest = []
        for k in left:
            one, other = slow[k]
            if len(chosen) < limit and sent[one] < quota and received[other] < quota:
                chosen.append(k)
                sent[one] += 1
                received[other] += 1
            else:
                rest.append(k)
        left = rest
    return np.array(chosen, dtype=np.int64)


def _controls(scan, found, slow, alone, most, nodes):
    """Return the controls: some of all that may be, and for a node of several pairs alone one in each direction."""
    most = min(most, CONTROLS_MOST)
    key = scan.sender.astype(np.int64) * nodes + scan.receiver
    may = ~np.isin(scan.sender, list(found.senders)) & ~np.isin(scan.receiver, list(found.receivers))
    may &= ~np.isin(key, slow[:, 0] * nodes + slow[:, 1])
    may = np.flatnonzero(may)
    wanted = min(CONTROLS_OF_ALL, most, len(may))
    chosen = [int(may[(2 * k + 1) * len(may) // (2 * wanted)]) for k in range(wanted)]
    often = np.bincount(alone.ravel(), minlength=nodes) >= 2
    sends, receives = often.copy(), often.copy()
    for k in may[sends[scan.sender[may]] | receives[scan.receiver[may]]]:
        one, other = scan.sender[k], scan.receiver[k]
        if len(chosen) < most and (sends[one] or receives[other]) and int(k) not in chosen:
            sends[one] = receives[other] = False
            chosen.append(int(k))
    return np.column_stack((scan.sender[chosen], scan.receiver[chosen])).astype(np.int64).reshape(-1, 2)


def _alone(fabric, phases, controls, alone):
    """Measure the controls and then the suspects, and all of it again for every repeat."""
    pairs = np.vstack((controls, alone))
    number = np.arange(REPEATS * len(pairs))
    rates = fabric.measure(number, np.tile(pairs[:, 0], REPEATS), np.tile(pairs[:, 1], REPEATS))
    for phase, part in (("control", slice(0, len(controls))), ("alone", slice(len(controls), None))):
        of_phase = rates.reshape(REPEATS, -1)[:, part]
        own = pairs[part]
        phases[phase] = Transfers(
            np.arange(of_phase.size, dtype=np.int32),
            np.tile(own[:, 0], REPEATS).astype(np.int32),
            np.tile(own[:, 1], REPEATS).astype(np.int32),
            of_phase.ravel(),
        )
