# SPDX-License-Identifier: BSD-3-Clause
"""What is wrong, where, since when, and what the files say: a row of the table each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from lab.rotate import patterns, program

from .fabric import Fabric, Level, dragonfly, fat_tree
from .flows import Ints

Random = np.random.Generator


@dataclass(frozen=True)
class Fault:
    """A part at fault.

    :param kind: ``node``, ``pair``, ``cable``, or ``switch``.
    :param names: of a node, both nodes of a pair, both switches of a cable, or the switch.
    :param size: the share of its capacity that is lost.
    :param links: of its traffic; none where cables are dead. :param gone: it ends before anything is measured
        again.
    """

    kind: str
    names: frozenset[str]
    size: float
    links: frozenset[int] = frozenset()
    gone: bool = False


@dataclass
class Scenario:
    """A fabric, its faults, and the files that a run is analysed with.

    :param know: ``full``: switches and forwarding tables; ``switches``; ``slurm``; ``nothing``.
    :param printed: the fabric of the files, where it is from another day; :param swapped: the node in each
        place by these, and :param stale: their tables, where they differ. :param tail: the share of values
        that are at half.
    """

    fabric: Fabric
    know: str = "full"
    tail: float = 0.0
    faults: list[Fault] = field(default_factory=list)
    printed: Fabric | None = None
    swapped: list[int] | None = None
    stale: Ints | None = None

    def add(self, fault: Fault, **when: Any) -> None:
        """Add a part that is at fault all the time, or as ``when`` says; see :class:`.fabric.Level`."""
        self.fabric.levels.append(Level(sorted(fault.links), 1 - fault.size, **when))
        self.faults.append(fault)

    def slows(self, sender: int, receiver: int) -> set[int]:
        """Return the numbers of the faults on the way of a pair that is measured alone."""
        path, _ = self.fabric.paths([(sender, receiver)], np.zeros(1, dtype=np.int64))
        return {
            number
            for number, fault in enumerate(self.faults)
            if fault.links & set(path.ravel().tolist())
        }

    def is_hidden(self, number: int) -> bool:
        """Return whether a slow pair is as slow without its fault, for what is wrong with another part on its
        way."""
        fault = self.faults[number]
        if fault.kind != "pair":
            return False
        one, other = sorted(map(self.fabric.names.index, fault.names))
        ways = [self.slows(one, other), self.slows(other, one)]
        return all(
            any(self.faults[each].size >= fault.size for each in way - {number})
            for way in ways
        )


Add = Callable[[Random, Scenario], None]


@dataclass(frozen=True)
class Row:
    """A row of the table.

    :param add: the faults. :param know: as in :class:`Scenario`, ``any`` at random. :param fabric: for
        :func:`tree`.
    :param lost: the share of the uplinks of a leaf that are dead, 0 for one cable; the files may be from
        before.
    :param kinds: how healthy nodes of another kind are spread: ``random``, ``leaf``, or ``regular``.
    :param wrong: the share of the entries of the tables in the files that are. :param swaps: of nodes in the
        files.
    :param traffic: of others.
    :param claim: the kind of part that is then at fault by as much as a first run states that it would have
        named; a trial without such a statement does not count.
    """

    add: tuple[Add, ...] = ()
    know: str = "any"
    fabric: Mapping[str, Any] = field(default_factory=dict)
    lost: float | None = None
    kinds: str = ""
    wrong: float = 0.0
    swaps: int = 0
    tail: float = 0.0
    traffic: bool = False
    claim: str = ""

    def build(self, rng: Random, nodes: int) -> Scenario:
        """Return a trial of this row."""
        know = (
            str(rng.choice(["full", "switches", "slurm", "nothing"]))
            if self.know == "any"
            else self.know
        )
        at = Scenario(tree(rng, nodes, **self.fabric), know, self.tail)
        if self.lost is not None:
            _lose(rng, at, self.lost)
        if self.kinds:
            _mix(
                rng,
                at.fabric,
                self.kinds,
                (0.03, 0.06, 0.1, 0.35, 0.5)
                if self.add
                else (0.03, 0.06, 0.1, 0.2, 0.35, 0.5),
            )
        if self.wrong:
            other = at.fabric.make_table("random")
            at.stale = np.where(
                rng.uniform(size=other.shape) < self.wrong, other, at.fabric.out
            )
        if self.swaps:
            at.swapped = _swap(rng, at.fabric, self.swaps)
        for add in self.add:
            add(rng, at)
        if self.traffic:
            _disturb(rng, at.fabric)
        return at


def tree(
    rng: Random, nodes: int, over: int = 1, kind: str = "tree", **of: Any
) -> Fabric:
    """Return a fabric of a usual shape; ``over``: nodes by uplinks of a leaf."""
    of = {
        "table": str(rng.choice(["modulo", "random"])),
        "seed": int(rng.integers(1 << 30)),
        **of,
    }
    if kind == "dragonfly":
        return dragonfly(nodes, 4, 4 if nodes > 16 else 2, **of)
    per_leaf = 4 if nodes <= 16 else 8 if nodes <= 64 else 16
    leaves = -(-nodes // per_leaf)
    pods = 4 if leaves >= 8 and rng.uniform() < 0.5 else 1
    return fat_tree(
        nodes, per_leaf, per_leaf // over, pods, leaves // pods if pods > 1 else 0, **of
    )


# ------------------------------------------------------------------------------ faults


def host(
    rng: Random,
    at: Scenario,
    size: float,
    side: str = "both",
    gone: bool = False,
    **when: Any,
) -> None:
    """Add a node at fault that none is yet."""
    taken = {name for fault in at.faults for name in fault.names}
    free = [node for node, name in enumerate(at.fabric.names)
            if not {name, at.fabric.switches[at.fabric.leaf[node]]} & taken]  # fmt: skip
    node = int(rng.choice(free))
    links = frozenset(at.fabric.host(node, side))
    at.add(
        Fault("node", frozenset([at.fabric.names[node]]), size, links, gone=gone),
        **when,
    )


def pair(rng: Random, at: Scenario, size: float) -> None:
    """Add a pair that is slow in both directions, one of those that the scan of a night measures."""
    nodes = at.fabric.nodes
    pairs = program.pairs_of(
        nodes,
        int(rng.choice(patterns.round_robin_rounds(nodes, (nodes + 1) // 2))),
    )
    one, other = pairs[int(rng.integers(len(pairs)))]
    links = frozenset([at.fabric.pair(one, other), at.fabric.pair(other, one)])
    at.add(
        Fault(
            "pair",
            frozenset(at.fabric.names[node] for node in (one, other)),
            size,
            links,
        )
    )


def _ends(fabric: Fabric, number: int) -> frozenset[str]:
    return frozenset(fabric.switches[end] for end in fabric.cables[number])


def cable(rng: Random, at: Scenario, size: float, **when: Any) -> None:
    """Add a cable of a leaf at fault."""
    number = int(rng.choice(at.fabric.cables_of(int(rng.choice(at.fabric.leaves)))))
    at.add(
        Fault(
            "cable", _ends(at.fabric, number), size, frozenset(at.fabric.cable(number))
        ),
        **when,
    )


def switch(rng: Random, at: Scenario, size: float, which: str) -> None:
    """Add a switch whose cables to other switches are all slower: a ``leaf``, or a ``spine`` next to
    leaves."""
    fabric = at.fabric
    spines = sorted({other for one, other in fabric.cables if one in fabric.leaves})
    number = int(rng.choice(fabric.leaves if which == "leaf" else spines))
    links = frozenset(
        link for each in fabric.cables_of(number) for link in fabric.cable(each)
    )
    at.add(Fault("switch", frozenset([fabric.switches[number]]), size, links))


def flapping(
    rng: Random,
    at: Scenario,
    size: float,
    add: Callable[..., None],
    period_s: tuple[float, float],
) -> None:
    """Add a part that is slow half of the time; a round takes about 0.03 s, and a scan 0.015 s for each
    node."""
    period = float(np.exp(rng.uniform(*np.log(period_s))))
    add(rng, at, size, period=period, phase=float(rng.uniform(0, period)))


def several(rng: Random, at: Scenario, *add: Callable[..., None]) -> None:
    """Add two to six parts at fault, each by another size: nodes that are alike may be of another kind."""
    for _ in range(int(rng.integers(2, 7))):
        add[int(rng.integers(len(add)))](rng, at, float(rng.uniform(0.2, 0.5)))


def _lose(rng: Random, at: Scenario, share: float) -> None:
    """Let cables of a leaf be dead; the map is from before, or from after."""
    whole, leaf = at.fabric, int(rng.choice(at.fabric.leaves))
    cables = whole.cables_of(leaf)
    lost = [
        int(each)
        for each in rng.choice(
            cables, max(1, round(share * len(cables))), replace=False
        )
    ]
    at.fabric = replace(whole, dead=frozenset(lost))
    at.printed = whole if rng.uniform() < 0.5 else None
    if share:
        at.faults = [
            Fault("switch", frozenset([whole.switches[leaf]]), len(lost) / len(cables))
        ]
    else:
        at.faults = [Fault("cable", _ends(whole, lost[0]), 1.0)]


# ------------------------------------------------------------- what is no fault


def _mix(rng: Random, fabric: Fabric, how: str, gaps: tuple[float, ...]) -> None:
    """Make some nodes of another, healthy kind; a node at .8 is none of a kind that is 20 % slower."""
    share, gap = float(rng.choice([1 / 8, 1 / 4, 1 / 2])), float(rng.choice(gaps))
    slow = rng.permutation(fabric.nodes) < round(share * fabric.nodes)
    if how == "leaf":
        slow = rng.permutation(len(fabric.leaves))[fabric.leaf] < max(
            1, round(share * len(fabric.leaves))
        )
    elif how == "regular":
        slow = np.arange(fabric.nodes) % round(1 / share) == rng.integers(
            round(1 / share)
        )
    for node in np.flatnonzero(slow):
        fabric.base[fabric.host(int(node))] *= 1 - gap


def _swap(rng: Random, fabric: Fabric, pairs: int) -> list[int]:
    """Return the node in each place, where some nodes of different leaves are in each other's."""
    places = list(range(fabric.nodes))
    for _ in range(pairs):
        one = int(rng.integers(fabric.nodes))
        other = int(rng.choice(np.flatnonzero(fabric.leaf != fabric.leaf[one])))
        places[one], places[other] = places[other], places[one]
    return places


def _disturb(rng: Random, fabric: Fabric) -> None:
    """Add traffic of others, which takes some of a cable for a while."""
    for _ in range(int(rng.integers(5, 40))):
        links = fabric.cable(int(rng.integers(len(fabric.cables))))[
            : int(rng.integers(1, 3))
        ]
        begin = float(rng.uniform(0, 8))
        fabric.levels.append(
            Level(
                links,
                float(rng.uniform(0.3, 0.8)),
                begin,
                begin + float(rng.exponential(1.0)),
            )
        )


# -------------------------------------------------------------------------------- rows


def _rows() -> dict[str, Row]:
    host20, cable25 = partial(host, size=0.2), partial(cable, size=0.25)
    pair20, leaf20 = partial(pair, size=0.2), partial(switch, size=0.2, which="leaf")
    rows = {
        "static healthy": Row(),
        "static host .8": Row((host20,)),
        "static host sends .8": Row((partial(host20, side="sends"),)),
        "static host receives .8": Row((partial(host20, side="receives"),)),
        "static pair .8": Row((pair20,)),
        "static cable .75": Row((cable25,), "full"),
        "static spine .8": Row((partial(switch, size=0.2, which="spine"),), "full"),
        "static leaf .8": Row((leaf20,), "full"),
        "static 2:1 healthy": Row(fabric={"over": 2}),
        "static 2:1 host .8": Row((host20,), fabric={"over": 2}),
        "static 2:1 cable .75": Row((cable25,), "full", {"over": 2}),
        "dragonfly healthy": Row(fabric={"kind": "dragonfly"}),
        "dragonfly host .8": Row((host20,), fabric={"kind": "dragonfly"}),
        "dragonfly cable .75": Row((cable25,), "full", {"kind": "dragonfly"}),
        "dragonfly adaptive healthy": Row(
            fabric={"kind": "dragonfly", "routing": "adaptive"}
        ),
    }
    for name in (
        "adaptive",
        "adaptive 2:1",
        "spray",
        "spray 2:1",
        "hash",
        "hash 2:1",
        "message",
    ):
        fabric = {"routing": name.split()[0], "over": 2 if "2:1" in name else 1}
        rows |= {
            f"{name} healthy": Row(fabric=fabric),
            f"{name} host .8": Row((host20,), fabric=fabric),
            f"{name} pair .8": Row((pair20,), fabric=fabric),
            f"{name} leaf .8": Row((leaf20,), "full", fabric),
            f"{name} spine .5": Row(
                (partial(switch, size=0.5, which="spine"),), "full", fabric
            ),
            f"{name} cable dead": Row((), "full", fabric, lost=0.0),
            f"{name} leaf quarter dead": Row((), "full", fabric, lost=0.25),
            f"{name} leaf half dead": Row((), "full", fabric, lost=0.5),
        }
        for left in (0.8, 0.5, 0.25):
            rows[f"{name} cable {left:g}"] = Row(
                (partial(cable, size=1 - left),), "full", fabric
            )
    for share in (0.1, 0.25, 0.5, 0.75, 0.9, 0.95):
        rows[f"onset at {share:.0%} host .7"] = Row(
            (partial(host, size=0.3, begin_at=share),)
        )
        rows[f"onset at {share:.0%} host .8"] = Row((partial(host20, begin_at=share),))
    rows["onset at 50% cable .75"] = Row((partial(cable25, begin_at=0.5),), "full")
    rows["host .5 from 30 to 70%"] = Row(
        (partial(host, size=0.5, gone=True, begin_at=0.3, end_at=0.7),)
    )
    for name, periods in {
        "within rounds": (0.01, 0.06),
        "over rounds": (0.1, 0.5),
    }.items():
        rows[f"flapping {name}, host .7"] = Row(
            (partial(flapping, size=0.3, add=host, period_s=periods),)
        )
        rows[f"flapping {name}, cable .5"] = Row(
            (partial(flapping, size=0.5, add=cable, period_s=periods),), "full"
        )
    for how in ("random", "leaf", "regular"):
        for know in ("full", "nothing"):
            rows[f"kinds {how}, {know}, healthy"] = Row((), know, kinds=how)
            rows[f"kinds {how}, {know}, host .8"] = Row((host20,), know, kinds=how)
    rows["kinds random, adaptive, healthy"] = Row(
        (), "full", {"routing": "adaptive"}, kinds="random"
    )
    for tail in (0.01, 0.05):
        rows |= {
            f"tails {tail:.0%} healthy": Row(tail=tail),
            f"tails {tail:.0%} host .8": Row((host20,), tail=tail),
            f"tails {tail:.0%} cable .8": Row(
                (partial(cable, size=0.2),), "full", tail=tail
            ),
            f"tails {tail:.0%} cable .8, nothing": Row(
                (partial(cable, size=0.2),), "nothing", tail=tail
            ),
        }
    spine25 = partial(switch, size=0.25, which="spine")
    host25 = partial(host, size=0.25)
    faults: dict[str, tuple[Add, ...]] = {"healthy": (), "cable .75": (cable25,), "spine .75": (spine25,),
                                          "host .75": (host25,)}  # fmt: skip
    for what, add in faults.items():
        for wrong in (0.1, 0.3, 1.0):
            rows[f"tables {wrong:.0%} wrong, {what}"] = Row(add, "full", wrong=wrong)
        for know in ("full", "switches"):
            rows[f"swapped nodes, {know}, {what}"] = Row(add, know, swaps=2)
    rows |= {
        "several nodes": Row((lambda rng, at: several(rng, at, host),)),
        "several parts": Row(
            (lambda rng, at: several(rng, at, host, cable, pair),), "full"
        ),
        "three cables .75": Row((cable25,) * 3, "full"),
        "three cables .75, switches": Row((cable25,) * 3, "switches"),
        "leaf .6 and host .7": Row(
            (partial(switch, size=0.4, which="leaf"), partial(host, size=0.3)), "full"
        ),
        "traffic healthy": Row(traffic=True),
        "traffic host .8": Row((host20,), traffic=True),
    }
    for name in ("static", "static 2:1", "adaptive", "adaptive 2:1", "hash"):
        fabric = {"routing": name.split()[0], "over": 2 if "2:1" in name else 1}
        for kind in CLAIMS:
            rows[f"{name}: {kind} as claimed"] = Row(
                know="full" if kind == "cable" else "any", fabric=fabric, claim=kind
            )
    return rows


#: What is at fault in rows with a claim.
CLAIMS: dict[str, Callable[[Random, Scenario, float], None]] = {
    "node": host,
    "pair": pair,
    "cable": cable,
}
ROWS = _rows()
