# SPDX-License-Identifier: BSD-3-Clause
"""Seeded machines with faults, and what is measured on them alone, at once, one way and both ways."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from lab.fluid import flows
from lab.fluid.fabric import Fabric, RATE_MBps
from lab.fluid.scenarios import Random, Row, Scenario, cable, host, pair

Pairs = Sequence[tuple[int, int]]
NOISE, SAME_LAUNCH = 0.03, 0.01
RAILS = 4
_host, _cable = partial(host, size=0.2), partial(cable, size=0.25)
#: What is at fault; ``device`` is one of the four NICs of a host, all of them in a fabric of their own.
FAULTS = {
    "healthy": (),
    "host .8": (_host,),
    "host sends .8": (partial(host, size=0.2, side="sends"),),
    "host receives .8": (partial(host, size=0.2, side="receives"),),
    "cable .75": (_cable,),
    "pair .8": (partial(pair, size=0.2),),
    "two hosts .8": (_host, _host),
    "host .8 and cable .75": (_host, _cable),
    "device .8": (_host,),
}
#: Of each three machines one has heavy tails, one a second, healthy kind of nodes.
CONDITIONS = ("plain", "heavy tails", "two kinds")
_NODES, _WEIGHTS = (16, 24, 32, 48, 64, 128), (0.42, 0.28, 0.18, 0.07, 0.04, 0.01)


@dataclass
class Site:
    """A machine whose pairs are measured.

    :param rails: a fabric for each device of a host; one where a host has only one.
    :param device: the rail whose device is at fault, none where whole hosts are.
    """

    at: Scenario
    rails: list[Fabric]
    condition: str
    rng: Random
    device: int | None = None
    drawn: dict[tuple[int, int, int], float] = field(default_factory=dict)

    @property
    def hosts(self) -> list[str]:
        """The names of the hosts."""
        return self.at.fabric.names

    def alone(self, pairs: Pairs, rail: int = 0) -> flows.Floats:
        """Return the rate of pairs that stream one after another, one way, without noise, in MB/s."""
        fabric = self.rails[rail]
        path, weight = fabric.paths(pairs, np.zeros(len(pairs), dtype=np.int64))
        fabric.begin_round()
        share = np.divide(
            fabric.state(0.0)[0][path],
            weight,
            out=np.full(path.shape, np.inf),
            where=weight > 0,
        )
        return np.asarray(share.min(axis=1))

    def together(self, pairs: Pairs, megabytes: float, rail: int = 0) -> flows.Floats:
        """Return the rate of pairs that stream at once, each its own amount, in MB/s."""
        fabric = self.rails[rail]
        path, weight = fabric.paths(pairs, np.zeros(len(pairs), dtype=np.int64))
        fabric.begin_round()
        took = flows.finish(
            path, weight, np.full(len(pairs), megabytes), 0.0, fabric.state
        )
        return np.asarray(megabytes / took)

    def sees(self) -> bool:
        """Return whether each fault makes a pair slower that is measured alone: a cable may lead to slow
        nodes only.

        It draws random numbers: a machine that is asked is not measured any more.
        """
        fabric, pairs, rail = self.at.fabric, ordered(len(self.hosts)), self.device or 0
        levels, seen = fabric.levels, []
        measured = self.alone(pairs, rail)
        for number in range(len(levels)):
            fabric.levels = levels[:number] + levels[number + 1 :]
            seen.append(bool((self.alone(pairs, rail) > measured * 1.001).any()))
        return all(seen)

    def noisy(self, rates: flows.Floats, repeats: int = 1) -> flows.Floats:
        """Return measured values, repeats x pairs: of each launch some noise, of each measurement more."""
        launch = 1 + SAME_LAUNCH * self.rng.standard_normal(len(rates))
        values = (
            rates
            * launch
            * np.exp(NOISE * self.rng.standard_normal((repeats, len(rates))))
        )
        if self.condition == "heavy tails":
            low = self.rng.uniform(size=values.shape) < 0.01
            values[low] *= self.rng.uniform(0.5, 0.95, int(low.sum()))
        return values

    def latency(self, pairs: Pairs) -> flows.Floats:
        """Return the half round-trip times of pairs, in us: by their switches, and with noise that only
        adds."""
        _, weight = self.at.fabric.paths(pairs, np.zeros(len(pairs), dtype=np.int64))
        hops = 1.2 + 0.2 * (weight[:, :-1] > 0).sum(
            axis=1
        )  # the last is the pair itself, at fault or not
        return np.asarray(
            hops * (1 + np.abs(NOISE * self.rng.standard_normal(len(pairs))))
        )


def build(seed: int, fault: str, most: int) -> Site:
    """Return the machine of a seed, of at most so many nodes; it is the same for each format."""
    rng = np.random.default_rng([seed, list(FAULTS).index(fault)])
    nodes = min(int(rng.choice(_NODES, p=_WEIGHTS)), most)
    condition = CONDITIONS[seed % 3]
    routing = (
        "static"
        if "cable" in fault
        else str(rng.choice(["static", "static", "adaptive"]))
    )
    row = Row(
        FAULTS[fault],
        "full" if "cable" in fault else "any",
        {"routing": routing},
        kinds=str(rng.choice(["random", "leaf", "regular"]))
        if condition == "two kinds"
        else "",
    )
    at = row.build(rng, nodes)
    while (
        condition == "two kinds"
        and not 0.24 * nodes <= np.sum(at.fabric.base[:nodes] < RATE_MBps) <= nodes / 2
    ):
        at = row.build(rng, nodes)  # a few nodes of another kind look as faults do
    rails = [at.fabric]
    device = None
    if fault == "device .8":
        device = int(rng.integers(RAILS))
        for number in range(RAILS - 1):
            other = replace(at.fabric, levels=[], seed=at.fabric.seed + number + 1)
            other.base[:] = at.fabric.base
            rails.append(other)
        rails[0], rails[device] = rails[device], rails[0]
    return Site(at, rails, condition, rng, device)


def rounds(nodes: int) -> list[list[tuple[int, int]]]:
    """Return the rounds of a tournament by the circle method, in which each pair meets once."""
    seats = list(range(nodes + nodes % 2))
    result = []
    for _ in range(len(seats) - 1):
        half = len(seats) // 2
        met = [(seats[i], seats[-1 - i]) for i in range(half)]
        result.append([each for each in met if max(each) < nodes])
        seats = [seats[0], *seats[2:], seats[1]]
    return result


def ordered(nodes: int) -> list[tuple[int, int]]:
    """Return all ordered pairs."""
    return [
        (one, other) for one in range(nodes) for other in range(nodes) if one != other
    ]


def unordered(nodes: int) -> list[tuple[int, int]]:
    """Return each pair once."""
    return [(one, other) for one in range(nodes) for other in range(one + 1, nodes)]
