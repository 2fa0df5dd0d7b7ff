# SPDX-License-Identifier: BSD-3-Clause
"""The values that people ask for first: which they are, where they come from, and how a cell of a table has them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from fabric_checks.core.layouts import Layout
from fabric_checks.core.text import size_text, value_text
from fabric_checks.records.record import Record, machine_name

MiB = 1024**2
_BLOCKS = "▁▂▃▄▅▆▇█"

#: A place in a table: what was measured where.
Machine = str
#: The points of a curve by message size in bytes; a value that is no point has the size -1.
Points = Mapping[int, Record]
#: Machine, layout and parameters of a test.
_Series = tuple[Machine, str, tuple[tuple[str, str], ...]]
#: Sorts layouts, the best first.
Order = Callable[[Layout], tuple[int, ...]]


@dataclass(frozen=True)
class Way:
    """Where a value may come from: a check, one of its quantities, and what its parameters have to be."""

    check: str
    quantity: str
    parameters: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Ask:
    """A value that people ask for.

    :param fits: tells the layouts in which it is what is asked for; :param order: their order, the best first.
    :param ways: where it may come from, the best first. :param show: what a cell has, see :func:`cell`.
    """

    title: str
    unit: str
    fits: Callable[[Layout], bool]
    order: Order
    ways: tuple[Way, ...]
    show: str = "value"


@dataclass(frozen=True)
class Cell:
    """A value in a table: text before its curve, the values of the curve in its order, and text after it.

    :param missed: whether it missed its reference, or a point of its curve did. :param record: that of the first text.
    """

    before: str
    curve: tuple[float, ...] = ()
    after: str = ""
    missed: bool = False
    record: Record | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Row:
    """What came of an :class:`Ask`: its layout, the program, and a cell for each machine that has the value."""

    title: str
    unit: str
    layout: str
    program: str
    cells: Mapping[Machine, Cell]


def _within(layout: Layout) -> bool:
    return layout.nodes == 1 and layout.ppn > 1


def _between(layout: Layout) -> bool:
    return layout.nodes > 1


def _any(layout: Layout) -> bool:
    return True


def _smallest(layout: Layout) -> tuple[int, ...]:
    return (layout.ppn if layout.nodes > 1 else 0, layout.nodes, layout.ppn)


def _largest(layout: Layout) -> tuple[int, ...]:
    return (-layout.tasks, -layout.nodes)


def _pairs(layout: Layout) -> bool:
    return layout.tasks > 2


def _most_nodes(layout: Layout) -> tuple[int, ...]:
    return (-layout.nodes, layout.ppn)


def _pair(fits: Callable[[Layout], bool]) -> tuple[Ask, ...]:
    """Return what is asked of two processes."""
    return (
        Ask(
            "latency, smallest size", "us", fits, _smallest,
            (
                Way("OsuLatency", "latency"),
                Way("ImbPointToPoint", "time", {"benchmark": "PingPong"}),
                Way("Streaming", "ping_pong_time"),
            ),
            "first",
        ),
        Ask(
            "bandwidth, peak", "MB/s", fits, _smallest,
            (
                Way("OsuBandwidth", "bandwidth", {"benchmark": "bw"}),
                Way("Streaming", "peak_bandwidth_streaming"),
                Way("ImbPointToPoint", "bandwidth", {"benchmark": "PingPong"}),
            ),
            "peak",
        ),
        Ask(
            "both directions, peak", "MB/s", fits, _smallest,
            (
                Way("OsuBandwidth", "bandwidth", {"benchmark": "bibw"}),
                Way("Streaming", "peak_bandwidth_exchange"),
                Way("ImbParallel", "bandwidth", {"benchmark": "Sendrecv"}),
            ),
            "peak",
        ),
        Ask(
            "message rate, 8 B", "Mmsg/s", fits, _smallest,
            (Way("Streaming", "message_rate_8B"), Way("OsuMessageRate", "message_rate")),
            "first",
        ),
    )  # fmt: skip


def _collective(name: str) -> Ask:
    ways = (
        Way("OsuCollective", "latency", {"benchmark": name}),
        Way("ImbCollective", "time", {"benchmark": name.capitalize()}),
    )
    return Ask(f"{name}, 8 B and 1 MiB", "us", _any, _largest, ways, "ends")


def _lammps(problem: str) -> Ask:
    ways = (
        Way("LammpsBench", "timestep_rate", {"problem": problem}),
        Way("LammpsScaled", "timestep_rate", {"problem": problem}),
    )
    return Ask(f"{problem}, timesteps", "1/s", _any, _largest, ways)


def _rotate(title: str, unit: str, quantity: str, fits: Callable[[Layout], bool]) -> Ask:
    patterns = ("rotate", "round-robin", "shift", "bisection")
    ways = tuple(Way("Rotate", quantity, {"pattern": pattern}) for pattern in patterns)
    return Ask(title, unit, fits, _most_nodes, ways)


def _overlap(title: str, check: str, quantity: str, order: Order, **parameters: str) -> Ask:
    return Ask(title, "%", _any, order, (Way(check, quantity, parameters),), "last")


#: By section, in the order of the screen.
ASKS: Mapping[str, tuple[Ask, ...]] = {
    "Within a node": _pair(_within),
    "Between nodes": _pair(_between),
    "All processes": (
        Ask(
            "barrier", "us", _any, _largest, (Way("OsuBarrier", "latency"), Way("ImbBarrier", "time")),
        ),
        *map(_collective, ("allreduce", "alltoall", "allgather", "bcast")),
    ),
    "LAMMPS": tuple(map(_lammps, ("lj", "chain", "eam", "chute", "rhodo"))),
    "All pairs at once": (
        _rotate("median pair", "MB/s", "median_bandwidth", _any),
        _rotate("slowest pair", "MB/s", "slowest_pair_bandwidth", _pairs),
        _rotate("slowest pair to median", "%", "slowest_to_median", _pairs),
    ),
    "Left for other work": (
        _overlap("isend, largest size", "Overlap", "isend_availability", _most_nodes, poll="none"),
        _overlap("irecv, largest size", "Overlap", "irecv_availability", _most_nodes, poll="none"),
        _overlap("iallreduce, largest size", "CollectiveOverlap", "iallreduce_availability", _largest),
    ),
}  # fmt: skip
#: What the screen has of each machine where there are more machines than columns: heading, section, place in it.
SHORT = (
    ("latency within", "Within a node", 0),
    ("latency", "Between nodes", 0),
    ("bandwidth", "Between nodes", 1),
    ("both ways", "Between nodes", 2),
    ("rate, 8 B", "Between nodes", 3),
    ("slowest pair", "All pairs at once", 2),
)


class Values:
    """The values of a run, to be asked for.

    :param records: of the perflog; only those with a value count, and none of one process a node against more.
    :param machine_of: returns what has a column of its own.
    """

    def __init__(self, records: Iterable[Record], machine_of: Callable[[Record], Machine] = machine_name) -> None:
        self._found: dict[tuple[str, str], dict[_Series, dict[int, Record]]] = {}
        machines: dict[Machine, None] = {}
        for record in records:
            machine = machine_of(record)
            machines.setdefault(machine)
            value = record["value"]
            if record["metric"] is None or record.get("compared") or not isinstance(value, (int, float)):
                continue
            if not math.isfinite(value):
                continue
            parameters = tuple(sorted((str(k), str(v)) for k, v in (record["parameters"] or {}).items()))
            of = self._found.setdefault((str(record["check"]), str(record["quantity"])), {})
            points = of.setdefault((machine, str(record["layout"]), parameters), {})
            points[-1 if record["size_B"] is None else record["size_B"]] = record
        #: All machines of the run, in its order, whether or not they have values.
        self.machines = tuple(machines)

    def row(self, ask: Ask) -> Row | None:
        """Return the cells of a value: one program in one layout for all machines, those that most of them have."""
        best: tuple[tuple[int, ...], str, dict[Machine, Points]] | None = None
        for rank, way in enumerate(ask.ways):
            by_layout: dict[str, dict[Machine, Points]] = {}
            for (machine, layout, parameters), points in self._found.get((way.check, way.quantity), {}).items():
                if way.parameters.items() <= dict(parameters).items():
                    by_layout.setdefault(layout, {}).setdefault(machine, points)
            for layout, of in by_layout.items():
                try:
                    its = Layout.of(layout)
                except ValueError:
                    continue
                merit = (len(of), *(-number for number in ask.order(its)), -rank)
                if ask.fits(its) and (best is None or merit > best[0]):
                    best = (merit, layout, of)
        if best is None:
            return None
        _, layout, of = best
        cells = {machine: cell(points, ask.show) for machine, points in of.items()}
        return Row(ask.title, ask.unit, layout, program_text(next(iter(next(iter(of.values())).values()))), cells)

    def series(self) -> list[tuple[Record, Row]]:
        """Return every curve and every value of the run, each with a record of it."""
        rows = []
        for (_, quantity), of in self._found.items():
            by_case: dict[tuple[str, tuple[tuple[str, str], ...]], dict[Machine, Points]] = {}
            for (machine, layout, parameters), points in of.items():
                by_case.setdefault((layout, parameters), {})[machine] = points
            for (layout, _), by_machine in by_case.items():
                record = next(iter(next(iter(by_machine.values())).values()))
                cells = {machine: cell(points, "both") for machine, points in by_machine.items()}
                rows.append((record, Row(quantity, str(record["unit"]), layout, program_text(record), cells)))
        return rows


def cell(points: Points, show: str) -> Cell:
    """Return how a value is shown.

    :param show: ``value`` or ``first``: that of the smallest size; ``last``: of the largest; ``peak``: the best;
        ``ends``: those of 8 B and 1 MiB, or of the sizes next to them; ``both``: of the smallest and the largest size.
    """
    sizes = sorted(points)
    values = [float(points[size]["value"]) for size in sizes]
    missed = any(points[size]["result"] == "fail" for size in sizes)
    curve = tuple(values) if len(values) > 2 else ()
    if show == "peak":
        best = min if points[sizes[0]]["better"] == "smaller" else max
        top = best(sizes, key=lambda size: float(points[size]["value"]))
        return Cell(value_text(float(points[top]["value"])), curve, "", missed, points[top])
    if show == "last":
        after = _named(sizes[-1]) if len(sizes) > 1 else ""
        return Cell(value_text(values[-1]), curve, after, missed, points[sizes[-1]])
    if show in ("ends", "both") and len(sizes) > 1:
        texts, of = [], []
        for wanted in (8, MiB) if show == "ends" else (sizes[0], sizes[-1]):
            size = _nearest(sizes, wanted)
            named = "" if show == "ends" and size == wanted else _named(size)
            texts.append(f"{value_text(float(points[size]['value']))}{named}")
            of.append(points[size])
        return Cell(texts[0], curve, texts[1], missed, of[0])
    return Cell(value_text(values[0]), curve, "", missed, points[sizes[0]])


def _nearest(sizes_B: Sequence[int], wanted_B: int) -> int:
    return min(sizes_B, key=lambda size_B: abs(size_B - wanted_B))


def _named(size_B: int) -> str:
    return "" if size_B < 0 else f" @{size_text(size_B)}"


def program_text(record: Record) -> str:
    """Return the program of a record, short: ``own`` is one of this collection."""
    program = str(record.get("program") or "")
    return "own" if program.startswith("fabric-checks") else program or "?"


def sparkline(values: Sequence[float], width: int) -> str:
    """Return a curve in block characters, on a logarithmic scale where all its values are positive.

    :param width: how many characters it may have; of more points it has every second, third, ...

    >>> sparkline([1, 2, 4, 8], 8), sparkline([3, 3, 3], 2), sparkline([1], 0)
    ('▁▃▆█', '▄▄', '')
    """
    if width < 2 or len(values) < 2:
        return ""
    if len(values) > width:
        values = [values[round(at * (len(values) - 1) / (width - 1))] for at in range(width)]
    heights = [math.log(value) for value in values] if min(values) > 0 else list(values)
    low, high = min(heights), max(heights)
    if not high > low:
        return "▄" * len(values)
    return "".join(_BLOCKS[round((height - low) / (high - low) * (len(_BLOCKS) - 1))] for height in heights)
