# SPDX-License-Identifier: BSD-3-Clause
"""What `rotate --pattern round-robin --confirm` measures on a fabric of the laboratory.

Its rounds are those of `rotate_patterns`, its suspects those of `suspects`, which the program is held
against.
"""

import numpy as np

from fabric_checks.parsers import rotate_patterns
from fabric_checks.parsers.rotate import RotateOutput, Transfers
from lab import patterns
from lab.faults import exchanges, suspects
from lab.faults.leaf_flows import leaf_flows

#: What the program takes without `--confirm-repeats` and `--suspect-share`.
REPEATS, SHARE = suspects.REPEATS, 0.06
#: A round of three tests of ten messages of 8 MiB at 12.5 GB/s; and the program's pause before the last
#: repeat alone.
ROUND_s, PAUSE_s = 3 * 10 * 8 * 2**20 / 12.5e9, 3
PAUSE_ROUNDS = round(PAUSE_s / ROUND_s)
NONE = Transfers(*(np.empty(0, dtype=np.int32) for _ in range(3)), np.empty(0))


def round_robin(nodes):
    """Return round, sender and receiver of the rounds of a night."""
    rounds = patterns.round_robin_rounds(nodes, rotate_patterns.nightly_rounds(nodes))
    sender, receiver = patterns.pairs("round-robin", nodes, np.array(rounds))
    return np.repeat(rounds, sender.shape[1]), sender.ravel(), receiver.ravel()


def run(fabric, groups=()):
    """Return the output of a run; its rounds are in `rounds_of`.

    :param groups: the group of each rank for the phase `leaf`.
    """
    nodes = fabric.nodes
    phases = {
        "scan": _measured(fabric, *round_robin(nodes)),
        "leaf": NONE,
        "together": NONE,
        "control": NONE,
        "alone": NONE,
    }
    if flows := leaf_flows(groups):
        phases["leaf"] = _measured(fabric, *np.array(flows).T)
    found = suspects.find(phases["scan"], nodes, SHARE)
    budget = suspects.budget(nodes)
    listed = suspects.listed(found, phases["scan"], nodes)
    if listed:
        parts = []
        slow = suspects.sift(
            found,
            listed,
            SHARE,
            budget,
            lambda rounds, _: _together(fabric, rounds, parts),
        )
        phases["together"] = Transfers(
            *(np.concatenate(each) for each in zip(*parts, strict=True))
        )
        alone = suspects.choose_alone(found, slow, budget.alone, budget.of_others)
        if alone:
            used = -(-(int(phases["together"].round[-1]) + 1) // REPEATS)
            most = max(budget.controls, budget.total - used - len(alone))

            def controls(*, is_slow):
                return suspects.controls(
                    found, phases["scan"], slow, alone, most, is_slow=is_slow
                )

            _alone(fabric, phases, controls, alone)
    phases |= _exchanges(fabric, found)
    return RotateOutput(
        {},
        "round-robin",
        tuple(fabric.wiring.hosts),
        nodes // 2,
        SHARE,
        True,
        1.0,
        1.1,
        phases,
        tuple(groups),
    )


def _exchanges(fabric, found):
    """Return the phases in which nodes send and receive at once."""
    parts = {"both": [], "both-alone": []}

    def exchange(phase, number, pairs):
        both = [*pairs, *((other, one) for one, other in pairs)]
        rows = [(number, *pair) for pair in sorted(both)]
        part = _measured(fabric, *np.array(rows).T)
        parts[phase].append(part)
        rates = dict(zip(sorted(both), part.MBps.tolist(), strict=True))
        return [min(rates[one, other], rates[other, one]) for one, other in pairs]

    def pause():
        fabric.time += PAUSE_ROUNDS

    def one_way(number, pair):
        part = _measured(fabric, *np.array([(number, *pair)]).T)
        parts["both-alone"].append(part)

    shape = (fabric.nodes, 1, 1)
    exchanges.measure(found, SHARE, shape, exchange, one_way, pause)
    return {phase: _joined(some) if some else NONE for phase, some in parts.items()}


def _joined(parts):
    names = ("round", "sender", "receiver", "MBps")
    return Transfers(
        *(np.concatenate([getattr(part, name) for part in parts]) for name in names)
    )


def rounds_of(output):
    """Return how many rounds a run has, of all phases."""
    return sum(len(np.unique(part.round)) for part in output.phases.values())


def _measured(fabric, number, sender, receiver):
    rates = fabric.measure(number, sender, receiver)
    return Transfers(
        *(np.asarray(each, dtype=np.int32) for each in (number, sender, receiver)),
        rates,
    )


def _together(fabric, rounds, parts):
    """Measure suspects in rounds, at first with the pairs of the next ranks beside them; return the rate of
    each."""
    rows = []
    for number, suspect in enumerate(rounds):
        own = list(suspect)
        taken = {rank for pair in own for rank in pair}
        for one, other in suspect:
            for step in (-1, 1) if not parts else ():
                pair = (one + step, other + step)
                if (
                    min(pair) >= 0
                    and max(pair) < fabric.nodes
                    and not taken & set(pair)
                ):
                    own.append(pair)
                    taken |= set(pair)
        rows += [(number, *pair) for pair in sorted(own)]
    number, sender, receiver = np.array(rows, dtype=np.int64).T
    first = int(parts[-1][0][-1]) + 1 if parts else 0
    part = _measured(fabric, first + number, sender, receiver)
    parts.append((part.round, part.sender, part.receiver, part.MBps))
    rates = {row: rate for row, rate in zip(rows, part.MBps, strict=True)}
    return {
        pair: rates[(number, *pair)]
        for number, suspect in enumerate(rounds)
        for pair in suspect
    }


def _alone(fabric, phases, controls_of, alone):
    """Measure controls and then suspects, and all of it again for every repeat; more controls if one is
    slow."""
    controls, more = controls_of(is_slow=False), []
    repeats = []
    for repeat in range(REPEATS):
        if repeat == REPEATS - 1 and _is_any_slow(
            *(np.max(each, axis=0) for each in zip(*repeats, strict=True))
        ):
            fabric.time += PAUSE_ROUNDS
        of_controls, of_suspects = np.split(
            _one_by_one(fabric, [*controls, *more, *alone]), [-len(alone)]
        )
        if repeat == 0 and _is_any_slow(of_controls, of_suspects):
            more = controls_of(is_slow=True)[len(controls) :]
            of_controls = np.append(of_controls, _one_by_one(fabric, more))
        repeats.append((of_controls, of_suspects))
    for phase, pairs, place in (
        ("control", [*controls, *more], 0),
        ("alone", alone, 1),
    ):
        rates = np.array([each[place] for each in repeats])
        ranks = (
            np.tile(each, REPEATS).astype(np.int32)
            for each in np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        )
        number = np.arange(rates.size, dtype=np.int32)
        phases[phase] = Transfers(number, *ranks, rates.ravel())


def _one_by_one(fabric, pairs):
    ranks = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return fabric.measure(np.arange(len(pairs)), *ranks)


def _is_any_slow(controls, suspects_):
    return (
        bool(suspects_.min() < (1 - SHARE) * np.median(controls))
        if len(controls)
        else True
    )
