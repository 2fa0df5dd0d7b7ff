# SPDX-License-Identifier: BSD-3-Clause
"""Read the description of a twin from its YAML file, with the source of each value.

See :mod:`fabric_twins.model.sourced_yaml` for how a value and its source are written. The top level of a file
has

- ``name``, ``about`` (the cluster that it stands for, in one line), ``nodes``, ``cpus_per_node``;
- ``inter_node``: the costs of a message between nodes, by the names of :class:`Costs`, and ``eager_below_B``:
  messages below this size leave at once;
- ``intra_node``, optional: the same within a node, without ``eager_below_B``;
- ``host_bus``, optional: the limits of the bus between memory and adapter. ``duplex: half``: ``rate_MBps``
  for both directions together; ``duplex: full``: ``rate_MBps`` for each, ``aggregate_MBps`` for both
  together, one of them or both;
- ``topology``, ``faults``: see :mod:`fabric_twins.model.topology`;
- ``collectives``, optional: the algorithms that SimGrid takes (``smpi/coll-selector``);
- ``values``, optional: the values that the documents report of the cluster, a list of cases. A case has
  ``check``, ``program`` (which of ours measures it on a twin, see :mod:`fabric_twins.measured`), ``layout``,
  ``parameters`` where the check has more, and ``metrics``: by the name of a metric, with its unit at the end,
  the value, where it is ``published``, and ``twin``: fitted or predicted, or ``not_reproduced`` and why;
- ``statements``, optional: those of the documents without a number, each as a bound on a metric of a check.

Costs are numbers or tables by message size in bytes, linear between the points and level outside.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Literal

from fabric_checks.core import yaml_file
from fabric_checks.core.layouts import Layout
from fabric_checks.core.schema import Count, Positive, Text, option, rules
from fabric_twins.model.sourced_yaml import UNITS, Source, Sources, content, convert
from fabric_twins.model.topology import (
    MOST_NODES,
    Dragonfly,
    FatTree,
    Fault,
    FaultKeys,
    Routing,
    Star,
    read_topology,
)

#: Value by message size in bytes: linear between the points, level outside.
Table = tuple[tuple[int, float], ...]

#: The origin of a twin's value: the choice of a parameter for it, or a consequence of choices for other
#: values.
FITTED, PREDICTED = "fitted", "predicted"


@dataclass(frozen=True)
class Costs:
    """The costs of a message, in a description under the same names.

    :param send_us: time of the sending processor; :param receive_us: of the receiving one.
    :param latency_us: the rest of the time from one to the other, which keeps no processor.
    :param rate_MBps: of a node's link in each direction, or within the node.
    :param several_MBps: the rate of more than one transfer at once, all together; optional, within a node
        only.

    All others are optional, and between nodes only:

    :param hop_latency_us: the latency that each cable between switches adds.
    :param in_turn_below_B: below it messages of one node leave one after another; those of a pair of nodes
        always do. None: all share the link.
    :param adapter_us: how long an eager message keeps the adapter of its sender after it has left, from the
        next one and from incoming ones; LogGP's gap.
    :param needs_calls: the part of a message that is not eager which moves only within calls of MPI on both
        sides: one begin (the handshake before it) and whole, or empty for nothing.
    """

    send_us: Table
    receive_us: Table
    latency_us: Table
    rate_MBps: float
    several_MBps: float | None = None
    hop_latency_us: float = 0.0
    in_turn_below_B: int | None = None
    adapter_us: float = 0.0
    needs_calls: str = ""


@dataclass(frozen=True)
class HostBus:
    """The limits of the bus between memory and adapter: for each direction, for both together, or both."""

    each_MBps: float | None
    together_MBps: float | None


@dataclass(frozen=True)
class PublishedValue:
    """A value as the documents have it.

    :param metric: the metric that measures it; :param unit: its unit. :param value: as printed.
    :param source: the document, and the table or section in it.
    :param twin: :data:`FITTED` or :data:`PREDICTED`.
    :param why_not: why the twin does not reproduce it, empty if it does.
    :param tolerance_percent: how near the twin has to come.
    """

    metric: str
    unit: str
    value: float
    source: Source
    twin: str
    why_not: str
    tolerance_percent: float


@dataclass(frozen=True)
class Case:
    """A case of a check, and the values that the documents report of it.

    :param program: the program that measures the case on a twin.
    :param parameters: the values of the check's parameters other than the layout.
    """

    check: str
    program: str
    layout: Layout
    parameters: Mapping[str, str]
    values: tuple[PublishedValue, ...]


@dataclass(frozen=True, kw_only=True)
class Statement:
    """A statement of the documents without a number: a direction and a rough factor, as a bound on a
    metric."""

    check: Text = option("the check that measures it", ...)
    layout: Text = option("in which layout, such as 8x1", ...)
    parameters: dict[str, Text] = option(
        "the values of its other parameters", make=dict
    )
    metric: Text = option("of the check", ...)
    unit: Text = option("of the metric", ...)
    at_least: float | None = option("the bound, or at_most")
    at_most: float | None = option("the bound, or at_least")
    text: Text = option("the statement, in the words of the document or nearly so", ...)
    published: Text = option("the document, and the section in it", ...)
    not_reproduced: Text | None = option("why the twin contradicts it")
    twin: Literal["fitted"] | None = option(
        "whether a parameter was chosen so that it agrees"
    )

    def __post_init__(self) -> None:
        """Refuse no bound, and two."""
        if (self.at_least is None) == (self.at_most is None):
            raise ValueError("needs one bound; write one of at_least and at_most")

    @property
    def bound(self) -> str:
        """The kind of bound."""
        return "at_most" if self.at_least is None else "at_least"

    @property
    def value(self) -> float:
        """The bound."""
        found = self.at_most if self.at_least is None else self.at_least
        assert found is not None
        return found

    @property
    def source(self) -> Source:
        """The document, and the section in it."""
        return Source("published", self.published)

    @property
    def why_not(self) -> str:
        """Why the twin contradicts it, empty if it agrees."""
        return self.not_reproduced or ""

    @property
    def is_fitted(self) -> bool:
        """Whether a parameter was chosen so that it agrees."""
        return self.twin == FITTED


@dataclass(frozen=True)
class Twin:
    """A simulated cluster.

    :param file: its description.
    :param sources: the source of each value, by full key, such as ``inter_node.rate_MBps``.
    :param cases: the values that the documents report.
    :param statements: those of the documents without a number.
    """

    file: Path
    name: str
    about: str
    nodes: int
    cpus_per_node: int
    inter_node: Costs
    intra_node: Costs
    eager_below_B: int
    host_bus: HostBus
    topology: Star | FatTree | Dragonfly
    routing: Routing
    faults: tuple[Fault, ...]
    collectives: str
    cases: tuple[Case, ...]
    statements: tuple[Statement, ...]
    sources: Mapping[str, Source]


# ------------------------------------------------------------------------------------------ as it is written

_Number = Annotated[float, rules(minimum=0)]
_Table = _Number | dict[str, _Number]


@dataclass(frozen=True, kw_only=True)
class _Costs:
    send_us: _Table = option("time of the sending processor", ...)
    receive_us: _Table = option("time of the receiving processor", ...)
    latency_us: _Table = option("the rest of the time from one to the other", ...)
    rate_MBps: Positive = option(
        "of a node's link in each direction, or within the node", ...
    )

    def __post_init__(self) -> None:
        """Refuse tables that are none."""
        self.costs()

    def costs(self) -> Costs:
        """Return the costs; ValueError for a table that is none."""
        named = {
            each.name: getattr(self, each.name)
            for each in fields(self)
            if each.name != "eager_below_B"
        }
        given = {name: value for name, value in named.items() if value is not None}
        given |= {
            name: _points(name, given[name])
            for name in ("send_us", "receive_us", "latency_us")
        }
        if min(value for _, value in given["latency_us"]) <= 0:
            raise ValueError(
                "latency_us: is zero; write a number above 0, which SimGrid needs"
            )
        return Costs(**given)


@dataclass(frozen=True, kw_only=True)
class _Within(_Costs):
    several_MBps: Positive | None = option(
        "of more than one transfer at once, all together"
    )


@dataclass(frozen=True, kw_only=True)
class _Between(_Costs):
    eager_below_B: Annotated[int, rules(minimum=0)] = option(
        "messages below this size leave at once", ...
    )
    hop_latency_us: _Number = option(
        "the latency that each cable between switches adds", 0.0
    )
    in_turn_below_B: Annotated[int, rules(minimum=0)] | None = option(
        "below it messages leave one after another"
    )
    adapter_us: _Number = option(
        "how long an eager message keeps the adapter of its sender", 0.0
    )
    needs_calls: Literal["begin", "whole"] | None = option(
        "the part of a long message that moves within calls only"
    )


def _points(name: str, table: float | Mapping[str, float]) -> Table:
    """Return a table by message size, linear between its points; a bare number is one for all sizes."""
    if not isinstance(table, Mapping):
        return ((0, table),)
    if not table or not all(map(str.isdecimal, table)):
        raise ValueError(
            f"{name}: a table has whole message sizes in bytes, as in {{0: 0.4, 65536: 2.1}}"
        )
    points = tuple((int(size), value) for size, value in table.items())
    if points != tuple(sorted(points)):
        raise ValueError(f"{name}: the sizes do not increase; write them in order")
    return points


@dataclass(frozen=True, kw_only=True)
class _Bus:
    duplex: Literal["half", "full"] = option(
        "whether both directions share one rate", ...
    )
    rate_MBps: Positive | None = option(
        "of both directions together if it is half, else of each"
    )
    aggregate_MBps: Positive | None = option(
        "of both directions together, if it is full"
    )

    def __post_init__(self) -> None:
        """Refuse a bus without a limit, and one with two for the same."""
        if self.duplex == "half" and (
            self.rate_MBps is None or self.aggregate_MBps is not None
        ):
            raise ValueError(
                "duplex is half; write rate_MBps alone, of both directions together"
            )
        if self.rate_MBps is None and self.aggregate_MBps is None:
            raise ValueError(
                "has no limit; write rate_MBps or aggregate_MBps, or leave it out"
            )

    def bus(self) -> HostBus:
        is_half = self.duplex == "half"
        return (
            HostBus(None, self.rate_MBps)
            if is_half
            else HostBus(self.rate_MBps, self.aggregate_MBps)
        )


@dataclass(frozen=True, kw_only=True)
class _Metric:
    value: Positive = option("as printed", ...)
    published: Text = option("the document, and the table or section in it", ...)
    twin: Literal["fitted", "predicted"] | None = option(
        "the origin of the twin's value"
    )
    not_reproduced: Text | None = option("why the twin does not reproduce it")
    tolerance_percent: Positive | None = option(
        "how near the twin has to come, where that is not 1 %"
    )
    tolerance_because: Text | None = option("why")

    def __post_init__(self) -> None:
        """Refuse a value without its origin, and a tolerance without a reason."""
        if (self.twin is None) == (self.not_reproduced is None):
            raise ValueError(
                "write twin: fitted or predicted, or not_reproduced and why"
            )
        if (self.tolerance_percent is None) != (self.tolerance_because is None):
            raise ValueError("tolerance_percent and tolerance_because go together")

    def of(self, name: str) -> PublishedValue:
        """Return the value of a metric that is named with its unit."""
        metric, _, ending = name.rpartition("_")
        if ending not in UNITS:
            raise ValueError(
                f"metrics: {name}: has no unit; end the name in one of {', '.join(UNITS)}"
            )
        source = Source("published", self.published)
        tolerance = self.tolerance_percent or 1.0
        why_not = self.not_reproduced or ""
        return PublishedValue(
            metric,
            UNITS[ending],
            self.value,
            source,
            self.twin or PREDICTED,
            why_not,
            tolerance,
        )


@dataclass(frozen=True, kw_only=True)
class _Case:
    check: Text = option("the check", ...)
    program: Literal["streaming", "rotate"] = option(
        "which of ours measures it on a twin", ...
    )
    layout: Text = option("nodes x processes a node", ...)
    parameters: dict[str, Text] = option(
        "the values of the check's other parameters", make=dict
    )
    metrics: dict[str, _Metric] = option(
        "by the name of a metric, with its unit at the end", ...
    )

    def __post_init__(self) -> None:
        """Refuse a layout that is none, and metrics without a unit."""
        self.case()

    def case(self) -> Case:
        values = tuple(each.of(name) for name, each in self.metrics.items())
        return Case(
            self.check, self.program, Layout.of(self.layout), self.parameters, values
        )


@dataclass(frozen=True, kw_only=True)
class Description:
    """The keys of a description, without its sources."""

    name: Annotated[str, rules(pattern="^[a-z][a-z0-9-]*$")] = option(
        "small letters, digits and dashes", ...
    )
    about: Text = option("the cluster that it stands for, in one line", ...)
    nodes: Annotated[int, rules(minimum=2, maximum=MOST_NODES)] = option(
        "of the cluster", ...
    )
    cpus_per_node: Count = option("processors of a node", ...)
    inter_node: _Between = option("the costs of a message between nodes", ...)
    intra_node: _Within | None = option("the costs of a message within a node")
    host_bus: _Bus | None = option("the limits of the bus between memory and adapter")
    topology: dict[str, Any] = option("kind, and what it has", ...)
    faults: list[FaultKeys] = option("of the cluster", make=list)
    collectives: Literal["default", "ompi", "mpich", "mvapich2", "impi"] = option(
        "SimGrid's selector", "default"
    )
    values: list[_Case] = option("the values that the documents report", make=list)
    statements: list[Statement] = option(
        "those of the documents without a number", make=list
    )


def load(file: Path) -> Twin:
    """Read the description of a twin.

    :raises TwinError: if there is anything wrong with it: one line with file, key and remedy.
    """
    return describe(file, content(file), lambda: yaml_file.lines(file))


def load_all(folder: Path) -> list[Twin]:
    """Read the descriptions of a folder, in the order of their files.

    :raises TwinError: as :func:`load`.
    """
    return [load(file) for file in sorted(folder.glob("*.yaml"))]


def describe(
    file: Path, data: Any, lines: Callable[[], Mapping[tuple[Any, ...], int]] = dict
) -> Twin:
    """Return the twin of a description.

    :param data: the content of the file. :param lines: returns the lines of keys in it.
    :raises TwinError: as :func:`load`.
    """
    sources = Sources(file)
    given = convert(sources.taken(data), Description, file, lines)
    topology, routing = read_topology(given.topology, given.nodes, file)
    sources.require_all()
    inter_node = given.inter_node.costs()
    return Twin(
        file,
        given.name,
        " ".join(given.about.split()),
        given.nodes,
        given.cpus_per_node,
        inter_node,
        given.intra_node.costs() if given.intra_node else inter_node,
        given.inter_node.eager_below_B,
        given.host_bus.bus() if given.host_bus else HostBus(None, None),
        topology,
        routing,
        tuple(
            each.fault(f"{file}: faults: {number}: ")
            for number, each in enumerate(given.faults)
        ),
        given.collectives,
        tuple(each.case() for each in given.values),
        tuple(given.statements),
        sources.known,
    )
