# SPDX-License-Identifier: BSD-3-Clause
"""A fabric whose faults are known, and the output of `rotate --confirm` on it."""

from dataclasses import dataclass, field

import numpy as np

from fabric_checks.parsers import fabric
from fabric_checks.parsers.rotate import RotateOutput, Transfers
from lab.rotate import suspects

NONE = Transfers(*(np.empty(0, dtype=np.int32) for _ in range(3)), np.empty(0))


@dataclass
class Fabric:
    """The oracle: the bandwidth of every pair, alone and while others run.

    :param nodes: the number of nodes, even.
    :param noise: standard deviation of the logarithm of a measured value.
    :param senders: slow senders, the share they run at; likewise `receivers` and `pairs`.
    :param spread: standard deviation of the logarithm of what a healthy pair has from another's.
    :param sharing: probabilities that 1, 2, 3, ... pairs share a link while all pairs of a round run.
    """

    nodes: int
    noise: float
    seed: int
    senders: dict[int, float] = field(default_factory=dict)
    receivers: dict[int, float] = field(default_factory=dict)
    pairs: dict[tuple[int, int], float] = field(default_factory=dict)
    sharing: tuple[float, ...] = (1.0,)
    link_MBps: float = 1000.0
    single_MBps: float = 1000.0
    spread: float = 0.0

    def __post_init__(self):
        self.random = np.random.default_rng(self.seed)
        half = self.nodes // 2
        own = np.random.default_rng([self.seed, 1]).standard_normal(
            (self.nodes, self.nodes)
        )
        self.own = np.exp(self.spread * own)
        # Static routing: the same pairs share a link whenever the same round runs.
        self.shared_by = self.random.choice(
            np.arange(1, len(self.sharing) + 1), p=self.sharing, size=(half, half)
        )

    def rate(self, sender, receiver, shared_by):
        """Return measured bandwidths in MB/s of pairs given as arrays."""
        health = np.ones(len(sender))
        for rank, share in self.senders.items():
            health[sender == rank] *= share
        for rank, share in self.receivers.items():
            health[receiver == rank] *= share
        for (one, other), share in self.pairs.items():
            health[(sender == one) & (receiver == other)] *= share
        own = self.own[sender, receiver]
        true = np.minimum(self.single_MBps * health, self.link_MBps / shared_by) * own
        return true * np.exp(self.noise * self.random.standard_normal(len(sender)))

    def scan(self):
        """Return the measurements of a scan with the pattern `rotate`."""
        half = self.nodes // 2
        round_, sender = np.divmod(np.arange(half * half, dtype=np.int32), half)
        receiver = half + (sender + round_) % half
        return Transfers(
            round_,
            sender,
            receiver,
            self.rate(sender, receiver, self.shared_by[round_, sender]),
        )

    def again(self, sender, receiver, repeats, together):
        """Return pairs measured again, all of them `repeats` times, alone or with others."""
        sender, receiver = (
            np.tile(np.asarray(ranks, dtype=np.int32), repeats)
            for ranks in (sender, receiver)
        )
        shared_by = np.ones(len(sender))
        if together:
            shared_by = self.random.choice(
                np.arange(1, len(self.sharing) + 1), p=self.sharing, size=len(sender)
            )
        return Transfers(
            np.arange(len(sender), dtype=np.int32),
            sender,
            receiver,
            self.rate(sender, receiver, shared_by),
        )


def run(fabric, *, suspect_share=0.06, repeats=4, confirm=True):
    """Return the output of a run on the fabric, its suspects measured again by the program's rule."""
    half = fabric.nodes // 2
    scan = fabric.scan()
    phases = {"scan": scan, "together": NONE, "control": NONE, "alone": NONE}
    found = suspects.find(scan, fabric.nodes, suspect_share)
    budget = suspects.budget(fabric.nodes)
    listed = suspects.listed(found, scan, fabric.nodes)
    if confirm and listed:
        passes, used = [], 0

        def measure(rounds, times):
            nonlocal used
            used += len(rounds) * times
            pairs = [pair for pairs in rounds for pair in pairs]
            part = fabric.again(*zip(*pairs, strict=True), times, together=True)
            first = int(passes[-1].round[-1]) + 1 if passes else 0
            passes.append(
                Transfers(first + part.round, part.sender, part.receiver, part.MBps)
            )
            return dict(
                zip(
                    pairs,
                    part.MBps.reshape(times, -1).mean(axis=0).tolist(),
                    strict=True,
                )
            )

        slow = suspects.sift(
            found, listed, suspect_share, budget, measure, repeats=repeats
        )
        joined = zip(
            *((part.round, part.sender, part.receiver, part.MBps) for part in passes),
            strict=True,
        )
        phases["together"] = Transfers(*map(np.concatenate, joined))
        alone = suspects.choose_alone(found, slow, budget.alone, budget.of_others)
        left = budget.total - -(-used // repeats) - len(alone)
        few, more = (
            suspects.controls(found, scan, slow, alone, left, is_slow=is_slow)
            for is_slow in (False, True)
        )
        if alone:
            phases["alone"] = fabric.again(
                *zip(*alone, strict=True), repeats, together=False
            )
        if alone and few:
            phases["control"] = fabric.again(
                *zip(*few, strict=True), repeats, together=False
            )
        if len(more) > len(few) and suspects.is_any_slow(
            phases, len(few), len(alone), suspect_share
        ):
            phases["control"] = fabric.again(
                *zip(*more, strict=True), repeats, together=False
            )
    hosts = tuple(f"n{rank}" for rank in range(fabric.nodes))
    return RotateOutput(
        {}, "rotate", hosts, half, suspect_share, confirm, 10000.0, 11000.0, phases
    )


def text_of(output, repeats=4):
    """Return the output of the program for a run."""
    ranks = len(output.hosts)
    confirm = "yes" if output.confirmed else "no"
    lines = [
        "# fabric-checks rotate 1",
        "# mpi: a model",
        "# compiler: none",
        f"# ranks: {ranks}",
    ]
    lines += [f"# rank {rank}: host {host}" for rank, host in enumerate(output.hosts)]
    lines.append(
        f"# options: size 8388608 messages 10 tests 3 pattern rotate rails 1 adapters 0 confirm {confirm} "
        f"suspect-share {output.suspect_share} confirm-repeats {repeats}"
    )
    lines += ["# groups: none", f"# shifts: {output.pairs} of {output.pairs}"]
    lines.append("# columns: round sender receiver MBps slowest_MBps phase")
    rows = [
        f"{round_} {sender} {receiver} {rate:.6g} {rate:.6g} {phase}"
        for phase, part in in_turns(output.phases, repeats)
        for round_, sender, receiver, rate in zip(
            part.round, part.sender, part.receiver, part.MBps, strict=True
        )
    ]
    tail = [f"# transfers: {output.transfers_s} s", f"# elapsed: {output.elapsed_s} s"]
    text = "\n".join([*lines, *rows, *tail]) + "\n"
    return text + fabric.last_line(text, len(rows))


def in_turns(phases, repeats):
    """Yield the parts of the phases in the order of the rows: controls and pairs alone take turns."""
    yield from ((phase, phases[phase]) for phase in ("scan", "together"))
    for repeat in range(repeats):
        for phase in ("control", "alone"):
            part = phases[phase]
            each = slice(
                repeat * len(part) // repeats, (repeat + 1) * len(part) // repeats
            )
            yield (
                phase,
                Transfers(
                    part.round[each],
                    part.sender[each],
                    part.receiver[each],
                    part.MBps[each],
                ),
            )
