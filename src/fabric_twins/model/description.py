# SPDX-License-Identifier: BSD-3-Clause
"""Read the description of a twin from its YAML file, with the source of each value.

See :mod:`fabric_twins.model.reading` for how a value and its source are written. The top level of a file has

- ``name``, ``about`` (the cluster that it stands for, in one line), ``nodes``, ``cpus_per_node``;
- ``inter_node``: the costs of a message between nodes, by the names of :class:`Costs`, and ``eager_below_B``: messages
  below this size leave at once;
- ``intra_node``, optional: the same within a node, without ``eager_below_B``;
- ``host_bus``, optional: the limits of the bus between memory and adapter. ``duplex: half``: ``rate_MBps`` for both
  directions together; ``duplex: full``: ``rate_MBps`` for each, ``aggregate_MBps`` for both together, one of them
  or both;
- ``topology``, ``faults``: see :mod:`fabric_twins.model.topology`;
- ``collectives``, optional: the algorithms that SimGrid takes (``smpi/coll-selector``);
- ``values``, optional: the values that the documents report of the cluster, a list of cases. A case has ``check``,
  ``program`` (which of ours measures it on a twin, see :mod:`fabric_twins.measured`), ``layout``, ``parameters`` where
  the check has more, and ``metrics``: by the name of a metric, with its unit at the end, the value, where it is
  ``published``, and ``twin``: fitted or predicted, or ``not_reproduced`` and why;
- ``statements``, optional: those of the documents without a number, each as a bound on a metric of a check.

Costs are numbers or tables by message size in bytes, linear between the points and level outside.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from fabric_checks.core.layouts import Layout
from fabric_twins.model.reading import UNITS, Section, Source, Table, read
from fabric_twins.model.topology import MOST_NODES, Dragonfly, FatTree, Fault, Routing, Star, read_faults, read_topology

#: The selectors of collective algorithms.
SELECTORS = ("default", "ompi", "mpich", "mvapich2", "impi")

#: The part of a long message that moves only within calls of MPI: the handshake before it, or all of it.
NEEDS_CALLS = ("begin", "whole")

#: The origin of a twin's value: the choice of a parameter for it, or a consequence of choices for other values.
FITTED, PREDICTED = "fitted", "predicted"

#: Our programs that measure the values of cases; :mod:`fabric_twins.measured` has one function for each.
PROGRAMS = ("streaming", "rotate")

#: The bounds that a statement can be.
BOUNDS = ("at_least", "at_most")


@dataclass(frozen=True)
class Costs:
    """The costs of a message, in a description under the same names.

    :param send_us: time of the sending processor; :param receive_us: of the receiving one.
    :param latency_us: the rest of the time from one to the other, which keeps no processor.
    :param rate_MBps: of a node's link in each direction, or within the node.
    :param several_MBps: the rate of more than one transfer at once, all together; optional, within a node only.

    All others are optional, and between nodes only:

    :param hop_latency_us: the latency that each cable between switches adds.
    :param in_turn_below_B: below it messages of one node leave one after another; those of a pair of nodes always do.
        None: all share the link.
    :param adapter_us: how long an eager message keeps the adapter of its sender after it has left, from the next one
        and from incoming ones; LogGP's gap.
    :param needs_calls: the part of a message that is not eager which moves only within calls of MPI on both sides: one
        of :data:`NEEDS_CALLS`, or empty for nothing.
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


@dataclass(frozen=True)
class Statement:
    """A statement of the documents without a number: a direction and a rough factor, as a bound on a metric.

    :param check: the check that measures it; :param layout: in which layout, such as ``8x1``.
    :param parameters: the values of its other parameters.
    :param metric: the metric; :param unit: its unit.
    :param bound: one of :data:`BOUNDS`; :param value: the bound.
    :param text: the statement, in the words of the document or nearly so.
    :param source: the document, and the section in it.
    :param why_not: why the twin contradicts it, empty if it agrees.
    :param is_fitted: whether a parameter was chosen so that it agrees.
    """

    check: str
    layout: str
    parameters: Mapping[str, str]
    metric: str
    unit: str
    bound: str
    value: float
    text: str
    source: Source
    why_not: str
    is_fitted: bool = False


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


def load(file: Path) -> Twin:
    """Read the description of a twin.

    :raises TwinError: if there is anything wrong with it: one line with file, key and remedy.
    """
    return describe(read(file))


def load_all(folder: Path) -> list[Twin]:
    """Read the descriptions of a folder, in the order of their files.

    :raises TwinError: as :func:`load`.
    """
    return [load(file) for file in sorted(folder.glob("*.yaml"))]


def describe(top: Section) -> Twin:
    """Return the twin of the top level of a description.

    :raises TwinError: as :func:`load`.
    """
    name = top.text("name")
    if not re.fullmatch(r"[a-z][a-z0-9-]*", name):
        raise top.error("name", f"{name!r} is not a name; use small letters, digits and dashes")
    about = top.text("about")
    nodes = top.count("nodes", 2)
    if nodes > MOST_NODES:
        raise top.error("nodes", f"{nodes} nodes are more than the {MOST_NODES} that can be simulated")
    cpus_per_node = top.count("cpus_per_node")
    between = top.section("inter_node")
    eager_below_B = between.count("eager_below_B", 0)
    inter_node = _costs(between, between_nodes=True)
    topology, routing = read_topology(top.section("topology"), nodes)
    twin = Twin(
        top.file,
        name,
        about,
        nodes,
        cpus_per_node,
        inter_node,
        _costs(top.section("intra_node"), between_nodes=False) if top.optional("intra_node") else inter_node,
        eager_below_B,
        _host_bus(top.section("host_bus")) if top.optional("host_bus") else HostBus(None, None),
        topology,
        routing,
        read_faults(top),
        top.choice("collectives", SELECTORS, default=SELECTORS[0]),
        tuple(map(_case, top.items("values", default=()))),
        tuple(map(_statement, top.items("statements", default=()))),
        top.sources,
    )
    top.finish()
    return twin


def _costs(section: Section, *, between_nodes: bool) -> Costs:
    send, receive, latency = (section.table(key) for key in ("send_us", "receive_us", "latency_us"))
    if min(value for _, value in latency) <= 0:
        raise section.error("latency_us", "is zero; write a number above 0, which SimGrid needs")
    costs = Costs(send, receive, latency, section.number("rate_MBps"))
    if between_nodes:
        costs = replace(
            costs,
            hop_latency_us=section.number("hop_latency_us", above=False, default=0.0),
            in_turn_below_B=section.count("in_turn_below_B", 0, default=None),
            adapter_us=section.number("adapter_us", default=0.0),
            needs_calls=section.choice("needs_calls", NEEDS_CALLS, default=""),
        )
    else:
        costs = replace(costs, several_MBps=section.number("several_MBps", default=None))
    section.finish()
    return costs


def _host_bus(section: Section) -> HostBus:
    if section.choice("duplex", ("half", "full")) == "half":
        bus = HostBus(None, section.number("rate_MBps"))
    else:
        bus = HostBus(section.number("rate_MBps", default=None), section.number("aggregate_MBps", default=None))
    section.finish()
    if bus == HostBus(None, None):
        raise section.error("", "has no limit; write rate_MBps or aggregate_MBps, or leave it out")
    return bus


def _case(section: Section) -> Case:
    metrics = section.section("metrics")
    case = Case(
        section.text("check"),
        section.choice("program", PROGRAMS),
        section.layout("layout"),
        section.texts("parameters"),
        tuple(_published_value(name, metrics.section(name)) for name in metrics),
    )
    section.finish()
    return case


def _published_value(name: str, section: Section) -> PublishedValue:
    """Read one value: ``peak_bandwidth_streaming_MBps: {value: 954, published: SAND Table 4, twin: fitted}``."""
    metric, _, ending = name.rpartition("_")
    if ending not in UNITS:
        raise section.error("", f"has no unit; end the name in one of {', '.join(UNITS)}")
    section.source = source = Source("published", section.text("published"))
    why_not = section.text("not_reproduced", default="")
    twin = PREDICTED if why_not else section.choice("twin", (FITTED, PREDICTED))
    tolerance = section.number("tolerance_percent", default=None)
    if tolerance is not None:
        section.text("tolerance_because")
    value = section.number("value")
    section.finish()
    return PublishedValue(metric, UNITS[ending], value, source, twin, why_not, 1.0 if tolerance is None else tolerance)


def _statement(section: Section) -> Statement:
    """Read a statement: ``{check: HotSpot, layout: 8x1, metric: send_growth, unit: "1", at_least: 2, text: ...}``."""
    section.source = source = Source("published", section.text("published"))
    given = [bound for bound in BOUNDS if section.optional(bound)]
    if len(given) != 1:
        raise section.error("", f"needs one bound; write one of {' and '.join(BOUNDS)}")
    statement = Statement(
        section.text("check"),
        section.text("layout"),
        section.texts("parameters"),
        section.text("metric"),
        section.text("unit"),
        given[0],
        section.number(given[0]),
        section.text("text"),
        source,
        section.text("not_reproduced", default=""),
        section.choice("twin", (FITTED,), default="") == FITTED,
    )
    section.finish()
    return statement
