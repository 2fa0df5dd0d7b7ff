# SPDX-License-Identifier: BSD-3-Clause
"""Predict the run time of a traced application on twins and on planned clusters, by replay with SimGrid's SMPI.

The messages are those of the traced run; computation is its processor time, at the speed that the user gives. Nothing
is measured.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from fabric_checks.core.errors import FabricError, OutputError
from fabric_checks.core.layouts import Layout
from fabric_checks.core.text import value_text
from fabric_profile import trace as parser
from fabric_profile.trace import RankTrace
from fabric_twins import launch, plan
from fabric_twins.errors import TwinError
from fabric_twins.lines import aligned
from fabric_twins.model.description import Twin
from fabric_twins.model.reading import Table, sources_by_kind
from fabric_twins.model.topology import Dragonfly, FatTree
from fabric_twins.processes import run_all
from fabric_twins.simulate import Bounds, bounded, require_end
from fabric_twins.smpirun import failure

#: Computation takes its time, and SimGrid says at the end what time it is.
_FLAGS = ("--cfg=smpi/simulate-computation:yes", "--log=smpi_replay.t:info")
_TIME = r"\[.*\] \[smpi_replay/INFO\] Simulation time ([0-9]+\.[0-9]+)"

#: Selectors of collectives that crash SimGrid's replay (3.32) as a whole: it has no operation there, and some ask for
#: its properties (``op->is_commutative()`` of a null pointer in ``src/smpi/colls``). Those that do not crash,
#: tried with 2 to 16 ranks, stay; SimGrid's own replace the others. MVAPICH2's Allreduce is MPICH's: recursive
#: doubling, and of long vectors a scatter of sums and an Allgather.
_SURVIVED = {
    "mpich": {
        **dict.fromkeys(("alltoall", "alltoallv", "allgather", "allgatherv", "scatter", "reduce_scatter"), "mpich"),
        "allreduce": "mvapich2_rs",
    },
    "mvapich2": {
        **dict.fromkeys(("alltoall", "alltoallv", "allgatherv", "reduce_scatter"), "mvapich2"),
        "allreduce": "mvapich2_rs",
    },
    "impi": {},
}

#: The change of a quantity, to the worse and to the better, whose effect is predicted.
_STEP = 0.1

#: The quantities, and the keys of a description that each stands for.
QUANTITIES = {
    "latency": "inter_node.latency_us and hop_latency_us",
    "bandwidth": "inter_node.rate_MBps and the links between switches",
    "message rate": "inter_node.send_us and receive_us, the processor time of a message",
    "CPU speed": "all computation",
}


@dataclass(frozen=True)
class Trace:
    """A trace of all ranks, in their order.

    :param folder: where it is, a file a rank.
    """

    folder: Path
    ranks: tuple[RankTrace, ...]

    @property
    def compute_s(self) -> float:
        """The processor time that a rank computed, the mean of all."""
        return sum(rank.compute_s for rank in self.ranks) / len(self.ranks)

    @property
    def actions(self) -> int:
        """The number of its actions."""
        return sum(sum(rank.actions.values()) for rank in self.ranks)


@dataclass(frozen=True)
class Point:
    """A replay of a trace in one layout: its run time, and of that the computation of a rank, the mean of all."""

    run_s: float
    compute_s: float

    @property
    def communication_percent(self) -> float:
        """The share of the run time that a rank does not compute: messages, collectives, and waiting for others."""
        return 100 * (1 - self.compute_s / self.run_s)


@dataclass(frozen=True)
class Replay(Point):
    """The replay of a trace on a twin, with the effect of changes to it.

    :param name: of the twin, and of the alternative where there are some. :param layout: nodes x processes a node.
    :param one_rank_s: the run time of one rank, where that is known.
    :param changed_s: the run time with a quantity of :data:`QUANTITIES` 10 % worse, and 10 % better.
    """

    name: str
    twin: Twin
    layout: Layout
    ranks: int
    one_rank_s: float | None
    changed_s: dict[str, tuple[float, float]]

    @property
    def efficiency_percent(self) -> float | None:
        """The parallel efficiency: the run time of one rank over that of all, times their number."""
        return None if self.one_rank_s is None else 100 * self.one_rank_s / (self.ranks * self.run_s)

    def change_percent(self, quantity: str) -> tuple[float, float]:
        """Return by how much the run time changes if a quantity is 10 % worse, and if it is 10 % better."""
        worse, better = self.changed_s[quantity]
        return 100 * (worse / self.run_s - 1), 100 * (better / self.run_s - 1)


def load(folder: Path) -> Trace:
    """Read a trace.

    :raises FabricError: if a rank's file is missing, cut, or has what cannot be replayed.
    """
    first = _rank(folder, 0)
    found = [first, *(_rank(folder, number) for number in range(1, first.ranks))]
    for number, each in enumerate(found):
        if (each.rank, each.ranks, each.flops_per_s) != (number, first.ranks, first.flops_per_s):
            raise FabricError(
                f"{_file(folder, number)}: belongs to a different trace than that of rank 0; trace it again"
            )
    if len(list(folder.glob("rank-*.trace"))) != first.ranks:
        raise FabricError(f"{folder}: has files from more ranks than {first.ranks}; trace into an empty folder")
    return Trace(folder, tuple(found))


def _file(folder: Path, rank: int) -> Path:
    return folder / f"rank-{rank}.trace"


def _rank(folder: Path, rank: int) -> RankTrace:
    file = _file(folder, rank)
    try:
        with file.open(errors="replace", newline="\n") as lines:
            return parser.parse(lines)
    except FileNotFoundError:
        remedy = "is it a folder that `fabric-checks profile --trace` wrote, shared by all hosts?"
        raise FabricError(f"{file}: is not there; {remedy}") from None
    except OutputError as error:
        raise FabricError(f"{file}: {error}") from None


def layout_of(twin: Twin, ranks: int, ppn: int | None) -> Layout:
    """Return the layout of the ranks: with as few a node as fit, if ``ppn`` is not given.

    :raises TwinError: if they do not fit.
    """
    ppn = ppn or -(-ranks // twin.nodes)
    nodes = -(-ranks // ppn)
    if ppn > twin.cpus_per_node or nodes > twin.nodes:
        places = twin.nodes * twin.cpus_per_node
        raise TwinError(
            f"{twin.file}: the trace has {ranks} ranks, and {twin.name} has {places} places ({twin.nodes} nodes of "
            f"{twin.cpus_per_node} processors), so that {nodes} x {ppn} do not fit; trace fewer ranks, or "
            f"{'give another --ppn' if ranks <= places else 'raise nodes or cpus_per_node'}"
        )
    return Layout(nodes, ppn)


def run_s(twin: Twin, layout: Layout, trace: Trace, cpu_speed: float, bounds: Bounds) -> float:
    """Return the run time of a trace on a twin, in s, from MPI_Init to MPI_Finalize.

    :param cpu_speed: how many times as fast its processors compute as the traced ones.
    :raises TwinError: if the replay does not come to its end within the bounds, with the cause.
    """
    ranks, what = len(trace.ranks), f"{twin.file}: the trace {trace.folder} on {layout}"
    flags = _collectives(twin.collectives, ranks)
    if twin.collectives in _SURVIVED:
        twin = replace(twin, collectives="default")
    with tempfile.TemporaryDirectory() as folder:
        # Links, because SimGrid takes no blank in a name.
        files = [Path(folder) / f"{number}.trace" for number in range(ranks)]
        for number, file in enumerate(files):
            file.symlink_to(_file(trace.folder, number).absolute())
        listed = Path(folder) / "traces"
        listed.write_text("".join(f"{file}\n" for file in files))
        flops = cpu_speed * trace.ranks[0].flops_per_s
        words = ["-replay", str(listed), *_FLAGS]
        prepared = launch.prepare(
            twin, layout.nodes, layout.ppn, words, Path(folder), ranks=ranks, flops=flops, flags=flags
        )
        stdout, stderr, status = bounded(prepared, ranks, folder, bounds, what)
    printed = stderr + stdout
    require_end(failure(printed, printed, status, _TIME), bounds, what)
    return float(re.findall(_TIME, printed)[-1])


def _collectives(selector: str, ranks: int) -> list[str]:
    """Return the flags that choose those collectives of a selector that a replay survives."""
    chosen = dict(_SURVIVED.get(selector, {}))
    if "alltoall" in chosen and ranks & (ranks - 1):
        # Of long blocks these exchange in pairs, which SimGrid has for a power of two alone; round a ring it is the
        # same number of steps, each of a block out and one in.
        chosen["alltoall"] = "ring"
    return [f"--cfg=smpi/{collective}:{algorithm}" for collective, algorithm in chosen.items()]


def changed(twin: Twin, quantity: str, factor: float) -> Twin:
    """Return a twin with a quantity of :data:`QUANTITIES` better by a factor; latency is better if it is less."""
    costs, topology = twin.inter_node, twin.topology
    if quantity == "latency":
        longer = 2 - factor
        latency_us, hop_us = _times(costs.latency_us, longer), costs.hop_latency_us * longer
        costs = replace(costs, latency_us=latency_us, hop_latency_us=hop_us)
    elif quantity == "message rate":
        send_us, receive_us = (_times(table, 1 / factor) for table in (costs.send_us, costs.receive_us))
        costs = replace(costs, send_us=send_us, receive_us=receive_us)
    elif quantity == "bandwidth":
        costs = replace(costs, rate_MBps=factor * costs.rate_MBps)
        if isinstance(topology, Dragonfly):
            topology = replace(topology, global_link_MBps=factor * topology.global_link_MBps)
        if isinstance(topology, FatTree | Dragonfly):
            topology = replace(topology, link_MBps=factor * topology.link_MBps)
    return replace(twin, inter_node=costs, topology=topology)


def _times(table: Table, factor: float) -> Table:
    return tuple((size, factor * value) for size, value in table)


@dataclass(frozen=True)
class Questions:
    """The options of a replay.

    :param ppn: processes a node; None: as few as fit.
    :param cpu_speed: how many times as fast the processors compute as the traced ones.
    :param one_rank: a trace of the same problem on one rank, for the efficiency.
    :param sensitivity: whether to replay with each quantity worse and better as well.
    """

    ppn: int | None = None
    cpu_speed: float = 1.0
    one_rank: Trace | None = None
    sensitivity: bool = True


def replay(
    trace: Trace, files: Sequence[Path], questions: Questions, bounds: Bounds, say: Callable[[str], None]
) -> list[Replay]:
    """Replay a trace on all twins and on all alternatives of planned clusters, as many at once as there are processors.

    :raises FabricError: if one of them fails, or the trace does not fit; the others are ended.
    """
    if questions.one_rank and len(questions.one_rank.ranks) != 1:
        raise FabricError(f"{questions.one_rank.folder}: has {len(questions.one_rank.ranks)} ranks; trace it on one")
    clusters = clusters_of(files)
    layouts = [layout_of(twin, len(trace.ranks), questions.ppn) for _, twin in clusters]
    steps = [(quantity, step) for quantity in QUANTITIES for step in (-_STEP, _STEP)] if questions.sensitivity else []
    say(f"{len(clusters) * (1 + len(steps))} replays of {trace.actions} actions")

    def job(number: int, quantity: str, step: float) -> Callable[[], float]:
        twin = changed(clusters[number][1], quantity, 1 + step)
        cpu_speed = questions.cpu_speed * (1 + step if quantity == "CPU speed" else 1)
        return partial(run_s, twin, layouts[number], trace, cpu_speed, bounds)

    keys = [(number, *step) for number in range(len(clusters)) for step in [("", 0.0), *steps]]
    times = run_all({key: job(*key) for key in keys})
    alone = questions.one_rank.compute_s / questions.cpu_speed if questions.one_rank else None
    found = []
    for number, (name, twin) in enumerate(clusters):
        changed_s = {each: (times[number, each, -_STEP], times[number, each, _STEP]) for each, _ in steps}
        point = times[number, "", 0.0], trace.compute_s / questions.cpu_speed
        found.append(Replay(*point, name, twin, layouts[number], len(trace.ranks), alone, changed_s))
    return found


def clusters_of(files: Sequence[Path]) -> list[tuple[str, Twin]]:
    """Return the names and twins of the clusters that files describe, with the alternatives of planned ones.

    :raises TwinError: if there is anything wrong with a description.
    """
    found = [each for file in files for each in plan.load(file)]
    own = {plan.AS_DESCRIBED: ""}
    return [(f"{each.twin.name}{own.get(each.name, f': {each.name}')}", each.twin) for each in found]


# ------------------------------------------------------------------------------------------------------------ output


def as_lines(trace: Trace, found: Sequence[Replay], questions: Questions) -> list[str]:
    """Return the results as lines for a terminal."""
    lines = [
        f"{trace.folder}: {len(trace.ranks)} ranks, {trace.actions} actions, {value_text(trace.compute_s)} s of "
        "computation a rank",
        f"PREDICTED by replay, not measured; processors {value_text(questions.cpu_speed)} times as fast as the traced "
        "ones",
        "",
    ]
    rows = [("", "layout", "run time", "communication", "efficiency"), ("", "", "s", "%", "%")]
    for each in found:
        efficiency = "-" if each.efficiency_percent is None else f"{each.efficiency_percent:.1f}"
        rows.append((each.name, str(each.layout), f"{each.run_s:.6g}", f"{each.communication_percent:.1f}", efficiency))
    lines += aligned(rows)
    if questions.sensitivity:
        lines += ["", "change of the run time in %, if 10 % worse / 10 % better"]
        changes = [("", *QUANTITIES)]
        for each in found:
            pairs = (each.change_percent(quantity) for quantity in QUANTITIES)
            changes.append((each.name, *(f"{_signed(worse)} / {_signed(better)}" for worse, better in pairs)))
        lines += aligned(changes)
        lines.append(
            "message rate: the processor time of a message between nodes, which limits it; bandwidth: of links"
        )
    lines.append("communication: everything but computation, including waiting for slower ranks")
    lines += [line for each in found for line in replaced(each.name, each.twin)]
    if questions.one_rank is None:
        lines.append("efficiency: give a trace of one rank by --one-rank")
    return lines


def replaced(name: str, twin: Twin) -> list[str]:
    """Return a note where a replay takes other collectives than those of a cluster's description."""
    if twin.collectives not in _SURVIVED:
        return []
    kept = ", ".join(_SURVIVED[twin.collectives])
    but = f", but for {kept}" if kept else ""
    return [f"collectives of {name}: SimGrid's own, as a replay does not survive those of {twin.collectives}{but}"]


def _signed(percent: float) -> str:
    return f"{percent:+.2f}" if abs(percent) >= 0.005 else "0"


def as_json(trace: Trace, found: Sequence[Replay], questions: Questions) -> str:
    """Return the results as JSON."""
    twins: list[dict[str, Any]] = []
    for each in found:
        entry: dict[str, Any] = {
            "name": each.name,
            "layout": str(each.layout),
            "run_s": each.run_s,
            "communication_percent": each.communication_percent,
            "efficiency_percent": each.efficiency_percent,
            "sources": sources_by_kind(each.twin.sources),
        }
        if each.changed_s:
            entry["sensitivity"] = {
                quantity: dict(zip(("worse_percent", "better_percent"), each.change_percent(quantity), strict=True))
                for quantity in QUANTITIES
            }
        twins.append(entry)
    content = {
        "trace": str(trace.folder),
        "kind": "predicted",
        "ranks": len(trace.ranks),
        "actions": trace.actions,
        "compute_s": trace.compute_s,
        "cpu_speed": questions.cpu_speed,
        "quantities": QUANTITIES,
        "step_percent": 100 * _STEP,
        "twins": twins,
    }
    return json.dumps(content, indent=1)
