# SPDX-License-Identifier: BSD-3-Clause
"""What `rotate --pattern round-robin --confirm` measures on a fabric of the laboratory."""

from itertools import chain

import numpy as np

from fabric_checks.parsers import rotate_patterns
from fabric_checks.parsers.rotate import RotateOutput
from lab.rotate import patterns, program

#: A round at 12.5 GB/s, and the program's pause before the last repeat alone.
ROUND_s = program.TESTS * program.MESSAGES * program.SIZE_B / 12.5e9
PAUSE_ROUNDS = round(program.PAUSE_S / ROUND_s)


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

    def measure(_phase, rounds):
        counts = [len(pairs) for pairs in rounds]
        number = np.repeat(np.arange(len(rounds)), counts)
        flows = np.array(list(chain.from_iterable(rounds))).reshape(-1, 2)
        # Those of a round by sender, as the program has them.
        order = np.lexsort((flows[:, 0], number))
        rates = np.empty(len(flows))
        rates[order] = fabric.measure(number[order], *flows[order].T)
        parts = np.split(rates, np.cumsum(counts))[:-1]
        return [[(rate,) for rate in part.tolist()] for part in parts]

    def pause(_seconds):
        fabric.time += PAUSE_ROUNDS

    done = program.Run(
        nodes, rotate_patterns.nightly_rounds(nodes), measure, groups, pause
    )
    phases = {name: done.phase(name) for name in program.PHASES}
    hosts = tuple(fabric.wiring.hosts)
    return RotateOutput(
        {},
        "round-robin",
        hosts,
        nodes // 2,
        program.SHARE,
        True,
        1.0,
        1.1,
        phases,
        tuple(groups),
    )


def rounds_of(output):
    """Return how many rounds a run has, of all phases."""
    return sum(len(np.unique(part.round)) for part in output.phases.values())
