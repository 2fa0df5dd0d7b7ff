# SPDX-License-Identifier: BSD-3-Clause
"""Predict the run time of a traced application on twins and on planned clusters, by replay with SimGrid's
SMPI.

The messages are those of the traced run; computation is its processor time, at the speed that the user gives.
Nothing is measured. A program that was traced on 1, 2, 4 ... ranks is replayed in every layout that the
traces fill; source of the comparison of layouts: SAND2005-5199, section 6, Figures 15 and 16.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
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
from fabric_twins.model.description import Table, Twin
from fabric_twins.model.sourced_yaml import sources_by_kind
from fabric_twins.model.topology import Dragonfly, FatTree
from fabric_twins.processes import run_all, slot
from fabric_twins.simulate import Bounds, bounded, require_end
from fabric_twins.smpirun import failure

#: Computation takes its time, and SimGrid prints the time at its end.
_FLAGS = ("--cfg=smpi/simulate-computation:yes", "--log=smpi_replay.t:info")
_TIME = r"\[.*\] \[smpi_replay/INFO\] Simulation time ([0-9]+\.[0-9]+)"

#: Selectors of collectives that crash SimGrid's replay (3.32) as a whole: it has no operation there, and some
#: ask for its properties (``op->is_commutative()`` of a null pointer in ``src/smpi/colls``). Those that do
#: not crash, tried with 2 to 16 ranks, stay; SimGrid's own replace the others. MVAPICH2's Allreduce is
#: MPICH's: recursive doubling, and of long vectors a scatter of sums and an Allgather.
_SURVIVED = {
    "mpich": {
        **dict.fromkeys(
            (
                "alltoall",
                "alltoallv",
                "allgather",
                "allgatherv",
                "scatter",
                "reduce_scatter",
            ),
            "mpich",
        ),
        "allreduce": "mvapich2_rs",
    },
    "mvapich2": {
        **dict.fromkeys(
            ("alltoall", "alltoallv", "allgatherv", "reduce_scatter"), "mvapich2"
        ),
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

    :param folder: the folder that has it, a file a rank.
    """

    folder: Path
    ranks: tuple[RankTrace, ...]

    @property
    def compute_s(self) -> float:
        """The processor time that a rank computed, the mean of all."""
        return sum(rank.compute_s for rank in self.ranks) / len(self.ranks)


@dataclass(frozen=True)
class Point:
    """A replay of a trace in one layout.

    :param run_s: the run time. :param compute_s: of that the computation of a rank, the mean of all.
    :param changed_s: the run time with a quantity of :data:`QUANTITIES` 10 % worse, and 10 % better.
    """

    run_s: float
    compute_s: float
    changed_s: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def communication_percent(self) -> float:
        """The share of the run time that a rank does not compute: messages, collectives, and waiting for
        others."""
        return 100 * (1 - self.compute_s / self.run_s)

    def change_percent(self, quantity: str) -> tuple[float, float]:
        """Return by how much the run time changes if a quantity is 10 % worse, and if it is 10 % better."""
        worse, better = self.changed_s[quantity]
        return 100 * (worse / self.run_s - 1), 100 * (better / self.run_s - 1)


@dataclass(frozen=True)
class Series:
    """The replays of all traces on a cluster, by layout; its name includes the alternative."""

    name: str
    twin: Twin
    points: Mapping[Layout, Point]

    def gap_percent(self, layout: Layout) -> float | None:
        """Return how much longer it takes than with one process on each of the same nodes; None if that is
        unknown."""
        return self._longer(layout, Layout(layout.nodes, 1))

    def spread_percent(self, layout: Layout) -> float | None:
        """Return how much longer it takes than with as many processes on a node each; None if that is
        unknown."""
        return self._longer(layout, Layout(layout.tasks, 1))

    def _longer(self, layout: Layout, one: Layout) -> float | None:
        if layout.ppn == 1 or one not in self.points:
            return None
        return 100 * (self.points[layout].run_s / self.points[one].run_s - 1)


def load(folder: Path) -> dict[int, Trace]:
    """Read a trace, or the traces of a program on several numbers of ranks, a folder each in this one.

    :returns: by the number of ranks.
    :raises FabricError: if two have as many ranks, or one cannot be replayed.
    """
    folders = (
        sorted(each for each in folder.iterdir() if each.is_dir())
        if folder.is_dir()
        else []
    )
    found: dict[int, Trace] = {}
    for trace in map(load_trace, folders or [folder]):
        ranks = len(trace.ranks)
        if ranks in found:
            raise FabricError(
                f"{trace.folder}: has {ranks} ranks, and so does {found[ranks].folder}; leave one of them out"
            )
        found[ranks] = trace
    return dict(sorted(found.items()))


def load_trace(folder: Path) -> Trace:
    """Read one trace.

    :raises FabricError: if a rank's file is missing, cut, or has what cannot be replayed.
    """
    first = _rank(folder, 0)
    found = [first, *(_rank(folder, number) for number in range(1, first.ranks))]
    for number, each in enumerate(found):
        if (each.rank, each.ranks, each.flops_per_s) != (
            number,
            first.ranks,
            first.flops_per_s,
        ):
            raise FabricError(
                f"{_file(folder, number)}: belongs to a different trace than that of rank 0; trace it again"
            )
    if len(list(folder.glob("rank-*.trace"))) != first.ranks:
        raise FabricError(
            f"{folder}: has files from more ranks than {first.ranks}; trace into an empty folder"
        )
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


def clusters_of(files: Sequence[Path]) -> list[tuple[str, Twin]]:
    """Return the names and twins of the clusters that files describe, with the alternatives of planned ones.

    :raises TwinError: if there is anything wrong with a description.
    """
    found = [each for file in files for each in plan.load(file)]
    own = {plan.AS_DESCRIBED: ""}
    return [
        (f"{each.twin.name}{own.get(each.name, f': {each.name}')}", each.twin)
        for each in found
    ]


def layouts(twin: Twin, ranks: Sequence[int], ppns: Sequence[int]) -> list[Layout]:
    """Return the layouts that these numbers of ranks fill on a twin, with these numbers of processes a
    node."""
    found = {
        Layout(count // ppn, ppn) for count in ranks for ppn in ppns if count % ppn == 0
    }
    return sorted(
        each
        for each in found
        if each.nodes <= twin.nodes and each.ppn <= twin.cpus_per_node
    )


def run(
    traces: Mapping[int, Trace],
    clusters: Sequence[tuple[str, Twin]],
    ppns: Sequence[int],
    cpu_speed: float,
    bounds: Bounds,
    *,
    sensitivity: bool = False,
) -> list[Series]:
    """Replay all traces on all clusters, in all layouts that they fill; no more at once than there are
    processors.

    :param clusters: name and twin of each.
    :param cpu_speed: how many times as fast a processor computes as the traced one.
    :param sensitivity: whether to replay with each quantity worse and better as well.
    :raises FabricError: if one of them fails, or nothing fits a twin; the others are ended.
    """
    filled = [_filled(twin, list(traces), ppns) for _, twin in clusters]
    quantities = QUANTITIES if sensitivity else ()
    steps = list(product(quantities, (-_STEP, _STEP)))

    def replayed(number: int, layout: Layout, quantity: str, step: float) -> float:
        twin = changed(clusters[number][1], quantity, 1 + step)
        speed = cpu_speed * (1 + step if quantity == "CPU speed" else 1)
        with slot():
            return run_s(twin, layout, traces[layout.tasks], speed, bounds)

    keys = [
        (number, layout, *step)
        for number, own in enumerate(filled)
        for layout in own
        for step in [("", 0.0), *steps]
    ]
    times_s = run_all({key: partial(replayed, *key) for key in keys})

    def point(number: int, layout: Layout) -> Point:
        changed_s = {
            each: (
                times_s[number, layout, each, -_STEP],
                times_s[number, layout, each, _STEP],
            )
            for each, _ in steps
        }
        return Point(
            times_s[number, layout, "", 0.0],
            traces[layout.tasks].compute_s / cpu_speed,
            changed_s,
        )

    return [
        Series(name, twin, {layout: point(number, layout) for layout in filled[number]})
        for number, (name, twin) in enumerate(clusters)
    ]


def _filled(twin: Twin, ranks: Sequence[int], ppns: Sequence[int]) -> list[Layout]:
    """Return the layouts of a twin that as many ranks as were traced fill.

    :raises TwinError: if there is none.
    """
    if found := layouts(twin, list(ranks), ppns):
        return found
    raise TwinError(
        f"{twin.file}: {' or '.join(map(str, ranks))} ranks fill none of the {twin.nodes} nodes of"
        f" {twin.cpus_per_node} processors with {' or '.join(map(str, ppns))} on each; give another"
        " --ppn, or trace fewer ranks"
    )


def run_s(
    twin: Twin, layout: Layout, trace: Trace, cpu_speed: float, bounds: Bounds
) -> float:
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
            twin,
            layout.nodes,
            layout.ppn,
            words,
            Path(folder),
            flops=flops,
            flags=flags,
        )
        stdout, stderr, status = bounded(prepared, ranks, folder, bounds, what)
    printed = stderr + stdout
    require_end(failure(printed, printed, status, _TIME), bounds, what)
    return float(re.findall(_TIME, printed)[-1])


def _collectives(selector: str, ranks: int) -> list[str]:
    """Return the flags that choose those collectives of a selector that a replay survives."""
    chosen = dict(_SURVIVED.get(selector, {}))
    if "alltoall" in chosen and ranks & (ranks - 1):
        # Of long blocks these exchange in pairs, which SimGrid has for a power of two alone; round a ring it
        # is the same number of steps, each of a block out and one in.
        chosen["alltoall"] = "ring"
    return [
        f"--cfg=smpi/{collective}:{algorithm}"
        for collective, algorithm in chosen.items()
    ]


def changed(twin: Twin, quantity: str, factor: float) -> Twin:
    """Return a twin with a quantity of :data:`QUANTITIES` better by a factor; latency is better if it is
    less."""
    costs, topology = twin.inter_node, twin.topology
    if quantity == "latency":
        longer = 2 - factor
        latency_us = _times(costs.latency_us, longer)
        hop_us = costs.hop_latency_us * longer
        costs = replace(costs, latency_us=latency_us, hop_latency_us=hop_us)
    elif quantity == "message rate":
        send_us, receive_us = (
            _times(table, 1 / factor) for table in (costs.send_us, costs.receive_us)
        )
        costs = replace(costs, send_us=send_us, receive_us=receive_us)
    elif quantity == "bandwidth":
        costs = replace(costs, rate_MBps=factor * costs.rate_MBps)
        if isinstance(topology, Dragonfly):
            topology = replace(
                topology, global_link_MBps=factor * topology.global_link_MBps
            )
        if isinstance(topology, FatTree | Dragonfly):
            topology = replace(topology, link_MBps=factor * topology.link_MBps)
    return replace(twin, inter_node=costs, topology=topology)


def _times(table: Table, factor: float) -> Table:
    return tuple((size, factor * value) for size, value in table)


# ---------------------------------------------------------------------------------------------------- output


def as_lines(folder: Path, found: Sequence[Series], cpu_speed: float) -> list[str]:
    """Return the results as lines for a terminal."""
    heads = ("", "layout", "run time", "communication", "against 1 a node, on", "")
    rows: list[tuple[str, ...]] = [
        heads,
        ("", "", "s", "%", "as many nodes, %", "as many processes, %"),
    ]
    for series in found:
        for layout, point in series.points.items():
            longer = (series.gap_percent(layout), series.spread_percent(layout))
            compared = ("" if each is None else f"{each:+.2f}" for each in longer)
            values = (
                f"{point.run_s:.6g}",
                f"{point.communication_percent:.1f}",
                *compared,
            )
            rows.append((series.name, str(layout), *values))
    lines = [
        (
            f"PREDICTED by replay of {folder}, not measured; processors {value_text(cpu_speed)} times as fast"
            " as the traced ones"
        ),
        "",
        *aligned(rows),
        "communication: everything but computation, including waiting for slower ranks",
    ]
    if any(point.changed_s for series in found for point in series.points.values()):
        lines += [
            "",
            "change of the run time in %, if 10 % worse / 10 % better",
            *aligned(_sensitivity(found)),
        ]
        lines.append(
            "message rate: the processor time of a message between nodes, which limits it"
        )
    return lines + [
        line for series in found for line in replaced(series.name, series.twin)
    ]


def _sensitivity(found: Sequence[Series]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("", "layout", *QUANTITIES)]
    for series in found:
        for layout, point in series.points.items():
            pairs = (point.change_percent(quantity) for quantity in QUANTITIES)
            cells = (f"{_signed(worse)} / {_signed(better)}" for worse, better in pairs)
            rows.append((series.name, str(layout), *cells))
    return rows


def replaced(name: str, twin: Twin) -> list[str]:
    """Return a note where a replay takes other collectives than those of a cluster's description."""
    if twin.collectives not in _SURVIVED:
        return []
    kept = ", ".join(_SURVIVED[twin.collectives])
    but = f", but for {kept}" if kept else ""
    return [
        f"collectives of {name}: SimGrid's own, as a replay does not survive those of {twin.collectives}{but}"
    ]


def _signed(percent: float) -> str:
    return f"{percent:+.2f}" if abs(percent) >= 0.005 else "0"


def as_json(folder: Path, found: Sequence[Series], cpu_speed: float) -> str:
    """Return the results as JSON."""
    twins = [
        {
            "name": series.name,
            "sources": sources_by_kind(series.twin.sources),
            "layouts": {
                str(layout): _entry(series, layout) for layout in series.points
            },
        }
        for series in found
    ]
    return json.dumps(
        {
            "traces": str(folder),
            "kind": "predicted",
            "cpu_speed": cpu_speed,
            "twins": twins,
        },
        indent=1,
    )


def _entry(series: Series, layout: Layout) -> dict[str, Any]:
    point = series.points[layout]
    entry: dict[str, Any] = {
        "run_s": point.run_s,
        "communication_percent": point.communication_percent,
        "against_one_a_node_on_as_many_nodes_percent": series.gap_percent(layout),
        "against_one_a_node_with_as_many_processes_percent": series.spread_percent(
            layout
        ),
    }
    if point.changed_s:
        entry["sensitivity"] = {
            quantity: {
                "keys": keys,
                **dict(
                    zip(
                        ("worse_percent", "better_percent"),
                        point.change_percent(quantity),
                        strict=True,
                    )
                ),
            }
            for quantity, keys in QUANTITIES.items()
        }
    return entry
