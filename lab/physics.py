# SPDX-License-Identifier: BSD-3-Clause
"""Try faults as they happen on a third model, whose physics shares no code with ``faults`` and ``fluid``.

A fat tree of leaves of eight nodes, below four spines. A test of a flow takes the time that the fairest share
of each resource on its way gives it; what is wrong changes resources, or the time of a test:

- ``loss``: each transfer takes 1 + Exp(mean) of its time, through a node or a cable;
- ``both``: sending and receiving of a node share the rate of one direction (an adapter at x8);
- ``collapse``: more than four flows into a leaf reach a fifth each;
- ``heat``: a node loses a fifth of its rate while it is busy, and regains it;
- ``other job``: each of a third of the nodes streams to the next of them, for the whole run;
- ``rail leaf``: one of the two leaves of one rail is at 0.7 of what its adapters ask for;
- ``uplinks``: half of a leaf's uplinks are dead, routing is adaptive; ``slow cable``, ``slow spine``: half
  the rate;
- ``far``: a node sends at 0.7 to other leaves only.

    python -m lab.physics --trials 20 --first-seed 7700000 --nodes 32

prints the table: runs whose fault was named by a finding of severity fault, those where an observation had
it, those in which any sentence named a node or cable that is well, in which the map was called wrong, and
exit statuses of 3. What the program measures again is that of ``fluid.program``, which is held against it.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import re
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lab.fluid import program

LEAF, SPINES, RATE_MBPS, NOISE = 8, 4, 12800.0, 0.03
#: Seconds in which a busy node loses most of what heat takes.
HEAT_S = 0.2
Flow = tuple[int, int]


@dataclass
class Fabric:
    """Hold resources by name, and what is wrong.

    :param capacity: of resources, 1 for those that are not here. :param truth: the names that a sentence may
        have; :param wanted: those that have to be in the one that blames.
    """

    nodes: int
    rng: np.random.Generator
    rails: int = 1
    adaptive: bool = False
    capacity: dict[tuple[object, ...], float] = field(default_factory=dict)
    loss: dict[tuple[object, ...], float] = field(default_factory=dict)
    both: int = -1
    collapse: int = -1
    hot: int = -1
    far: int = -1
    others: list[Flow] = field(default_factory=list)
    truth: set[str] = field(default_factory=set)
    wanted: str = ""
    heat: float = 0.0
    now: float = 0.0

    def __post_init__(self) -> None:
        """Draw the forwarding tables: of each leaf the spine to each node."""
        units = self.nodes // self.rails
        self.leaves = -(-units // LEAF)
        self.spine = self.rng.integers(SPINES, size=(self.leaves, self.nodes))
        self.names = [
            f"cn{number // self.rails + 1:04d}" for number in range(self.nodes)
        ]

    def leaf(self, rank: int) -> int:
        """Return the leaf of a node."""
        return rank // self.rails // LEAF

    def way(self, flow: Flow) -> list[tuple[object, ...]]:
        """Return the resources that a flow takes."""
        one, other = flow
        start, end, rail = self.leaf(one), self.leaf(other), one % self.rails
        found: list[tuple[object, ...]] = [("out", one), ("in", other)]
        if self.both in flow:
            found.append(("bus", self.both))
        for leaf in {start, end}:
            found.append(("leaf", rail, leaf, one, other))
        if start != end and self.rails == 1:
            spine = -1 if self.adaptive else int(self.spine[start, other])
            found += [("up", start, spine), ("down", end, spine)]
        return found

    def room(self, resource: tuple[object, ...]) -> float:
        """Return the capacity of a resource."""
        if resource[0] in ("out", "in") and resource[1] == self.hot:
            return 1 - 0.2 * self.heat
        usual = SPINES if self.adaptive and resource[0] in ("up", "down") else 1.0
        return self.capacity.get(resource[:3], usual)

    def rates(self, flows: Sequence[Flow]) -> NDArray[np.float64]:
        """Return the fairest rates: the resource with the least for each of its flows fixes these first."""
        ways = [self.way(flow) for flow in flows]
        left = {each: self.room(each) for way in ways for each in way}
        rates, open_ = np.zeros(len(flows)), set(range(len(flows)))
        while open_:
            users: dict[tuple[object, ...], list[int]] = {}
            for number in open_:
                for each in ways[number]:
                    users.setdefault(each, []).append(number)
            least = min(users, key=lambda each: left[each] / len(users[each]))
            share = left[least] / len(users[least])
            for number in users[least]:
                rates[number] = share
                open_.discard(number)
                for each in ways[number]:
                    left[each] -= share
        return rates

    def tests(self, flows: Sequence[Flow]) -> NDArray[np.float64]:
        """Return the MB/s of flows at once, a row for each of three tests."""
        every = [*flows, *self.others]
        found = np.empty((program.TESTS, len(flows)))
        into = [
            flow
            for flow in flows
            if self.leaf(flow[1]) == self.collapse != self.leaf(flow[0])
        ]
        for test in found:
            rates = self.rates(every)[: len(flows)]
            if len(into) > 4:
                rates[[flows.index(flow) for flow in into]] *= 0.2
            for number, flow in enumerate(flows):
                if flow[0] == self.far and self.leaf(flow[1]) != self.leaf(flow[0]):
                    rates[number] = min(rates[number], 0.7)
                means = [self.loss.get(each, 0.0) for each in self.way(flow)]
                rates[number] /= 1 + self.rng.exponential(max(means))
            test[:] = rates * RATE_MBPS
            self._pass(flows, float(84e6 / test.min() / 1e6))
        return found * np.exp(NOISE * self.rng.standard_normal(found.shape))

    def _pass(self, flows: Sequence[Flow], seconds: float) -> None:
        is_busy = any(self.hot in flow for flow in flows)
        self.heat += (is_busy - self.heat) * (1 - np.exp(-seconds / HEAT_S))
        self.now += seconds

    def measure(
        self, phase: str, pairs: Sequence[Flow], progress: float
    ) -> list[tuple[float, ...]]:
        """Return best, median and slowest test of pairs that stream at once."""
        found = np.sort(self.tests(pairs), axis=0)[::-1]
        return [tuple(column) for column in found.T]

    def pause(self, seconds: float) -> None:
        """Let time pass in which nothing streams."""
        self._pass((), seconds)


# ------------------------------------------------------------------------------------- what is wrong


def _blame(at: Fabric, *names: str, text: str = "") -> None:
    at.truth |= set(names)
    at.wanted = text or "|".join(map(re.escape, names))


def _cable(at: Fabric) -> tuple[int, int, str]:
    leaf, spine = int(at.rng.integers(at.leaves)), int(at.rng.integers(SPINES))
    return leaf, spine, f"leaf{leaf + 1:02d}"


def _loss_node(at: Fabric, mean: float) -> None:
    rank = int(at.rng.integers(at.nodes))
    at.loss |= {("out", rank): mean, ("in", rank): mean}
    _blame(at, at.names[rank])


def _loss_cable(at: Fabric, mean: float) -> None:
    leaf, spine, name = _cable(at)
    at.loss |= {("up", leaf, spine): mean, ("down", leaf, spine): mean}
    _blame(at, name, f"spine{spine + 1:02d}", text=f"{name} port {LEAF + 1 + spine} ")


def _both(at: Fabric) -> None:
    at.both = int(at.rng.integers(at.nodes))
    _blame(at, at.names[at.both])


def _collapse(at: Fabric) -> None:
    at.collapse, _, name = _cable(at)
    _blame(at, name)


def _heat(at: Fabric) -> None:
    at.hot = int(at.rng.integers(at.nodes))
    _blame(at, at.names[at.hot])


def _other_job(at: Fabric) -> None:
    ranks = at.rng.permutation(at.nodes)[: at.nodes // 3].tolist()
    at.others = list(zip(ranks, [*ranks[1:], ranks[0]], strict=True))
    _blame(at, *(at.names[rank] for rank in ranks), text="traffic of others")


def _rail_leaf(at: Fabric) -> None:
    rail, leaf = int(at.rng.integers(at.rails)), int(at.rng.integers(at.leaves))
    of_leaf = [
        rank
        for rank in range(at.nodes)
        if at.leaf(rank) == leaf and rank % at.rails == rail
    ]
    for rank in of_leaf:
        at.capacity |= {("out", rank): 0.7, ("in", rank): 0.7}
    _blame(at, *(at.names[rank] for rank in of_leaf), text=f"rail {rail}\\b")


def _uplinks(at: Fabric) -> None:
    leaf, _, name = _cable(at)
    at.capacity |= {("up", leaf, -1): SPINES / 2, ("down", leaf, -1): SPINES / 2}
    _blame(at, name)


def _slow(at: Fabric, *, spine: bool) -> None:
    leaf, number, name = _cable(at)
    for each in range(at.leaves) if spine else [leaf]:
        at.capacity |= {("up", each, number): 0.5, ("down", each, number): 0.5}
    of_spine = f"spine{number + 1:02d}"
    text = of_spine if spine else f"{name} port {LEAF + 1 + number} "
    _blame(at, of_spine, *([] if spine else [name]), text=text)


def _far(at: Fabric) -> None:
    at.far = int(at.rng.integers(at.nodes))
    _blame(at, at.names[at.far])


@dataclass(frozen=True)
class Row:
    """A kind of fault, and what the verb is told: ``routes``, ``switches`` (routing not told) or nothing.

    :param untold: whether adaptive routing is not told.
    :param text: what has to be in a sentence where no part can be named; empty for the part.
    """

    fault: Callable[[Fabric], None]
    told: str = "routes"
    rails: int = 1
    adaptive: bool = False
    groups: bool = False
    untold: bool = False
    text: str = ""


ROWS = {
    "healthy, routes": Row(lambda at: None),
    "healthy, switches": Row(lambda at: None, "switches", groups=True),
    "healthy, adaptive": Row(lambda at: None, "switches", adaptive=True, groups=True),
    "healthy, rails": Row(lambda at: None, "", rails=4),
    "loss of a node, 0.25": Row(partial(_loss_node, mean=0.25)),
    "loss of a node, 1.0": Row(partial(_loss_node, mean=1.0)),
    "loss of a node, 0.5, no map": Row(partial(_loss_node, mean=0.5), ""),
    "loss of a cable, 0.25": Row(partial(_loss_cable, mean=0.25)),
    "loss of a cable, 1.0": Row(partial(_loss_cable, mean=1.0)),
    "loss of a cable, 0.5, routing not told": Row(
        partial(_loss_cable, mean=0.5), "switches", text="."
    ),
    "both directions": Row(_both),
    "both directions, no map": Row(_both, ""),
    "collapse, routing not told": Row(_collapse, "switches", groups=True),
    "collapse, adaptive": Row(_collapse, "switches", adaptive=True, groups=True),
    "heat": Row(_heat),
    "heat, no map": Row(_heat, ""),
    "other job": Row(_other_job),
    "rail's leaf": Row(_rail_leaf, "", rails=4),
    "half of the uplinks": Row(_uplinks, "switches", adaptive=True, groups=True),
    "half of the uplinks, routing not told": Row(
        _uplinks, "switches", adaptive=True, groups=True, untold=True
    ),
    "slow cable, routing not told": Row(
        partial(_slow, spine=False), "switches", text="."
    ),
    "slow spine, routing not told": Row(
        partial(_slow, spine=True), "switches", text="."
    ),
    "slow to other leaves": Row(_far),
    "slow to other leaves, no map": Row(_far, ""),
}


# ------------------------------------------------------------------------------------- files and verdicts


def _slurm(at: Fabric) -> str:
    lines, every = [], ",".join(dict.fromkeys(at.names))
    for leaf in range(at.leaves):
        own = [name for rank, name in enumerate(at.names) if at.leaf(rank) == leaf]
        lines.append(
            f"SwitchName=leaf{leaf + 1:02d} Level=0 LinkSpeed=1 Nodes={','.join(own)}"
        )
    below = ",".join(f"leaf{leaf + 1:02d}" for leaf in range(at.leaves))
    lines.append(f"SwitchName=top Level=1 LinkSpeed=1 Nodes={every} Switches={below}")
    return "\n".join(lines) + "\n"


def _tables(at: Fabric) -> tuple[str, str]:
    """Return what ``ibnetdiscover`` and ``dump_lfts.sh`` print."""
    leaves = [f"leaf{number + 1:02d}" for number in range(at.leaves)]
    spines = [f"spine{number + 1:02d}" for number in range(SPINES)]
    lid = {name: number for number, name in enumerate([*leaves, *spines, *at.names], 1)}
    links: dict[str, dict[int, tuple[str, int]]] = {
        name: {} for name in [*leaves, *spines]
    }
    for rank, name in enumerate(at.names):
        links[leaves[at.leaf(rank)]][rank % LEAF + 1] = (name, 1)
    for leaf, name in enumerate(leaves):
        for spine, above in enumerate(spines):
            links[name][LEAF + 1 + spine] = (above, leaf + 1)
            links[above][leaf + 1] = (name, LEAF + 1 + spine)
    net = ["#", "# Topology file: generated on Thu Nov 26 04:00:00 2026", "#"]
    lfts = []
    guid = {name: f"{number:016x}" for name, number in lid.items()}
    for name, ports in links.items():
        net += ["", f"switchguid=0x{guid[name]}({guid[name]})"]
        port0 = f"enhanced port 0 lid {lid[name]} lmc 0"
        net.append(f'Switch\t40 "S-{guid[name]}"\t\t# "{name}" {port0}')
        for port, (far, at_far) in sorted(ports.items()):
            kind, adapter = ("S", "") if far in links else ("H", " HCA-1")
            what = f'"{far}{adapter}" lid {lid[far]} 4xEDR'
            net.append(f'[{port}]\t"{kind}-{guid[far]}"[{at_far}]\t\t# {what}')
        head = f"of switch Lid {lid[name]} guid 0x{guid[name]} ({name}):"
        lfts.append(f"Unicast lids [0x0-0x{len(lid):x}] {head}")
        lfts += ["  Lid  Out   Destination", "       Port     Info "]
        for rank, node in enumerate(at.names):
            if name in spines:
                port = at.leaf(rank) + 1
            elif leaves.index(name) == at.leaf(rank):
                port = rank % LEAF + 1
            else:
                port = LEAF + 1 + int(at.spine[leaves.index(name), rank])
            end = f"(Channel Adapter portguid 0x{guid[node]}: '{node} HCA-1')"
            lfts.append(f"0x{lid[node]:04x} {port:03d} : {end}")
        lfts.append(f"{at.nodes} valid lids dumped ")
    for rank, node in enumerate(at.names):
        leaf = leaves[at.leaf(rank)]
        own, far = f'"H-{guid[node]}"', f'"S-{guid[leaf]}"[{rank % LEAF + 1}]'
        net += ["", f"caguid=0x{guid[node]}", f'Ca\t1 {own}\t\t# "{node} HCA-1"']
        what = f'lid {lid[node]} lmc 0 "{leaf}" lid {lid[leaf]} 4xEDR'
        net.append(f"[1]({guid[node]}) \t{far}\t\t# {what}")
    return "\n".join(net) + "\n", "\n".join(lfts) + "\n"


@dataclass(frozen=True)
class Outcome:
    """What a run came to, see the module."""

    named: bool
    observed: bool
    healthy: bool
    doubted: bool
    status: int
    said: tuple[str, ...]


#: Notes that describe values, and limits.
_VALUES = (
    "slowest pair",
    "plateaus",
    "by switch",
    "by leaf",
    "not measured",
    "node classes",
)


def blame(folder: Path, options: Sequence[str]) -> tuple[list[dict[str, object]], int]:
    """Return the findings that the verb has of the output in a folder, and its exit status."""
    from fabric_checks.cli.blame import command

    printed, status = io.StringIO(), 0
    with contextlib.redirect_stdout(printed):
        try:
            command.main(
                [str(folder / "output.txt"), "--json", *options], standalone_mode=False
            )
        except SystemExit as end:
            status = int(end.code or 0)
    (run,) = json.loads(printed.getvalue())["runs"].values()
    return run["findings"], status


def trial(name: str, seed: int, nodes: int, keep: str = "") -> Outcome:
    """Measure one fabric and hold what is said against what is wrong."""
    row, rng = ROWS[name], np.random.default_rng(seed)
    at = Fabric(nodes * row.rails, rng, row.rails, row.adaptive)
    row.fault(at)
    groups = [at.leaf(rank) for rank in range(at.nodes)] if row.groups else ()
    run = program.Run(
        at.nodes, (nodes + 1) // 2, at.measure, groups, at.pause, row.rails
    )
    with tempfile.TemporaryDirectory() as own:
        folder = Path(keep) / f"{name.replace(' ', '_')}-{seed}" if keep else Path(own)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "output.txt").write_text(run.text(at.names, at.now, 1.02 * at.now))
        options = []
        if row.told == "switches":
            (folder / "slurm.txt").write_text(_slurm(at))
            options = ["--topology", str(folder / "slurm.txt")]
            options += (
                ["--routing", "adaptive"] if row.adaptive and not row.untold else []
            )
        elif row.told == "routes":
            for text, file in zip(_tables(at), ("net.txt", "lfts.txt"), strict=True):
                (folder / file).write_text(text)
                options += ["--topology", str(folder / file)]
            options += ["--routing", "static"]
        findings, status = blame(folder, options)
    return judged(findings, status, at, row.text or at.wanted)


def judged(
    findings: Sequence[dict[str, object]], status: int, at: Fabric, wanted: str
) -> Outcome:
    """Hold findings against what is wrong."""
    said, named, observed, healthy, doubted = [], False, False, False, False
    for each in findings:
        if each["kind"] in _VALUES:
            continue
        text = f"{each['text']} | {' | '.join(map(str, each.get('details') or ()))}"
        is_fault = each["severity"] == "fault"
        said.append(f"{each['severity']}: {text}")
        doubted |= each["kind"] == "map"
        has_it = bool(at.truth) and bool(re.search(wanted, text))
        named |= is_fault and has_it
        observed |= has_it
        healthy |= _is_of_healthy(each, at)
    return Outcome(named, observed, healthy, doubted, status, tuple(said))


def _is_of_healthy(finding: dict[str, object], at: Fabric) -> bool:
    """Return whether a sentence names one part, and that is well; lists of pairs name no part."""
    subject = str(finding.get("part") or "")
    if finding["kind"] in ("group", "pair", "map") and at.truth:
        return False
    parts = set(re.findall(r"cn\d+|leaf\d+|spine\d+", subject))
    return bool(parts) and not parts & at.truth


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("rows", nargs="*", help="names; default: all")
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument("--first-seed", type=int, required=True)
    parser.add_argument("--nodes", type=int, default=32)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--keep", default="", metavar="FOLDER", help="keep outputs and topology here"
    )
    parser.add_argument(
        "--details", action="store_true", help="print what was said in each trial"
    )
    given = parser.parse_args()
    print(
        "| fault | trials | named | observed | healthy named | map doubted | exit 3 |\n"
        + "|---" * 7
        + "|"
    )
    seeds = range(given.first_seed, given.first_seed + given.trials)
    with ProcessPoolExecutor(given.jobs) as pool:
        for name in [
            row
            for row in ROWS
            if not given.rows or any(each in row for each in given.rows)
        ]:
            found = list(
                pool.map(
                    partial(trial, name, nodes=given.nodes, keep=given.keep), seeds
                )
            )
            counts = [
                sum(each.named for each in found), sum(each.observed for each in found),
                sum(each.healthy for each in found), sum(each.doubted for each in found),
                sum(each.status == 3 for each in found),
            ]  # fmt: skip
            print(
                f"| {name} | {len(found)} | {' | '.join(map(str, counts))} |",
                flush=True,
            )
            for seed, each in zip(seeds, found, strict=True) if given.details else ():
                print(
                    f"    {seed}: named {each.named} healthy {each.healthy}",
                    *each.said,
                    sep="\n      ",
                )


if __name__ == "__main__":
    main()
