# SPDX-License-Identifier: BSD-3-Clause
"""What a twin is: the description that its YAML file gives, and where each value of it comes from.

See :mod:`fabric_twins.model.reading` for how a value and its source are written. The top level of a file has

- ``name``, ``about`` (a line that says what it stands for), ``nodes``, ``cpus_per_node``;
- ``inter_node``: what a message costs between nodes. ``send_us`` and ``receive_us`` keep the processor, ``latency_us``
  does not; ``rate_MBps`` is that of a node's link, each way; below ``eager_below_B`` messages leave at once;
  ``in_turn_below_B``, optional: messages of one node to the same other one come one after another, and below this size
  those to different ones leave one after another, too. Without it all share the link; ``adapter_us``, optional: how
  long a message below ``eager_below_B`` keeps its sender's adapter after it has left. What the node sends next waits
  for it, and so does what comes in; ``needs_calls``, optional: what of a message from there on the processors of both
  nodes have to do, which they do only within calls of MPI: its ``begin``, or the ``whole`` of it; ``register_us``,
  optional: what such a message costs the processors to register so many bytes of memory that were not registered;
- ``intra_node``, optional: the same within a node; ``several_MBps`` is what more than one transfer at once gets;
- ``host_bus``, optional: what the bus between memory and adapter can do. ``duplex: half``: ``rate_MBps`` for both
  directions together; ``duplex: full``: ``rate_MBps`` for each, ``aggregate_MBps`` for both together, one of them
  or both;
- ``topology``, ``faults``: see :mod:`fabric_twins.model.topology`;
- ``collectives``, optional: whose algorithms SimGrid takes (``smpi/coll-selector``);
- ``values``, optional: what the documents report of the cluster, by benchmark and name;
- ``said``, optional: what they say of it without a number, as a bound on a metric of a check.

Costs are numbers or tables by message size in bytes, linear between the points and level outside.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fabric_twins.errors import TwinError
from fabric_twins.model.reading import Section, Source, read
from fabric_twins.model.topology import MOST_NODES, Dragonfly, FatTree, Fault, Routing, Star, read_faults, read_topology

#: Value by message size in bytes: linear between the points, level outside.
Table = tuple[tuple[int, float], ...]

#: Whose collective algorithms there are.
SELECTORS = ("default", "ompi", "mpich", "mvapich2", "impi")

#: What of a long message moves only within calls of MPI: the handshake before it, or all of it.
NEEDS_CALLS = ("begin", "whole")

#: How a twin comes to a value: by the choice of a parameter, or because it follows from what was chosen for others.
FITTED, PREDICTED = "fitted", "predicted"

#: The bounds that a saying can be: a metric is at least, or at most, so much.
BOUNDS = ("at_least", "at_most")


@dataclass(frozen=True)
class Costs:
    """What a message costs.

    :param send_us: time of the sending processor.
    :param receive_us: time of the receiving processor.
    :param latency_us: time on the way beside that.
    :param rate_MBps: of a node's link in each direction, or within the node.
    :param several_MBps: what more than one transfer at once gets, all together; within a node only.
    :param hop_latency_us: what each cable between switches adds; between nodes only.
    :param in_turn_below_B: below it messages of one node leave one after another, and those of a pair of nodes always
        do; None: all share the link. Between nodes only.
    :param adapter_us: how long an eager message keeps the adapter of its sender after it has left, from the next one
        and from what comes in; LogGP's gap. Between nodes only.
    :param needs_calls: what of a message that is not eager moves only within calls of MPI on both sides: one of
        :data:`NEEDS_CALLS`, or empty for nothing. Between nodes only.
    :param register_us: time of the processor for bytes of memory that a message which is not eager is the first to use;
        empty if it needs none. It is that of messages within a node, too.
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
    register_us: Table = ()


@dataclass(frozen=True)
class HostBus:
    """What the bus between memory and adapter can do: a limit for each direction, for both together, or both."""

    each_MBps: float | None
    together_MBps: float | None


@dataclass(frozen=True)
class PublishedValue:
    """A value as the documents have it.

    :param value: as printed.
    :param source: the document and the place.
    :param twin: :data:`FITTED` or :data:`PREDICTED`.
    :param why_not: why the twin does not reproduce it, empty if it does.
    :param tolerance_percent: how near the twin has to come.
    """

    value: float
    source: Source
    twin: str
    why_not: str
    tolerance_percent: float


@dataclass(frozen=True)
class Saying:
    """What the documents say without a number: a direction and a rough factor, as a bound on a metric.

    :param check: the check that measures it; :param layout: in which layout, such as ``8x1``.
    :param parameters: the values of its other parameters.
    :param metric: the metric; :param unit: its unit.
    :param bound: one of :data:`BOUNDS`; :param value: the bound.
    :param text: what is said, in the words of the document or nearly so.
    :param source: the document and the place.
    :param why_not: why the twin does not do so, empty if it does.
    :param is_fitted: whether a parameter was chosen so that it does.
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

    :param file: where it is described.
    :param sources: where each value comes from, by full key, such as ``inter_node.rate_MBps``.
    :param values: by benchmark and name, the unit at the end: ``values["streaming"]["peak_bandwidth_MBps"]``.
    :param said: what the documents say without a number.
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
    values: Mapping[str, Mapping[str, PublishedValue]]
    sources: Mapping[str, Source]
    said: tuple[Saying, ...] = ()


def load(file: Path) -> Twin:
    """Read the description of a twin.

    :raises TwinError: if there is anything wrong with it: one line with file, key and remedy.
    """
    return describe(read(file))


def describe(top: Section) -> Twin:
    """Return the twin that the top level of a description describes.

    :raises TwinError: as :func:`load`.
    """
    name = top.text("name")
    if not re.fullmatch(r"[a-z][a-z0-9-]*", name):
        raise TwinError(f"{top.place('name')}: {name!r} is not a name; use small letters, digits and dashes")
    about = top.text("about")
    nodes = top.count("nodes", 2)
    if nodes > MOST_NODES:
        raise TwinError(f"{top.place('nodes')}: {nodes} nodes are more than the {MOST_NODES} that can be simulated")
    cpus_per_node = top.count("cpus_per_node")
    inter_section = top.section("inter_node")
    eager_below_B = inter_section.count("eager_below_B", 0)
    inter_node = _costs(inter_section, between_nodes=True)
    intra_node = _costs(top.section("intra_node"), between_nodes=False) if top.optional("intra_node") else inter_node
    host_bus = _host_bus(top)
    topology, routing = read_topology(top.section("topology"), nodes)
    faults = read_faults(top)
    collectives = top.choice("collectives", SELECTORS) if top.optional("collectives") else SELECTORS[0]
    values = _published_values(top)
    said = tuple(_saying(section) for section in top.items("said")) if top.optional("said") else ()
    top.finish()
    return Twin(
        top.file,
        name,
        about,
        nodes,
        cpus_per_node,
        inter_node,
        intra_node,
        eager_below_B,
        host_bus,
        topology,
        routing,
        faults,
        collectives,
        values,
        top.sources,
        said,
    )


def _costs(section: Section, *, between_nodes: bool) -> Costs:
    send, receive, latency = (section.table(key) for key in ("send_us", "receive_us", "latency_us"))
    if min(value for _, value in latency) <= 0:
        raise TwinError(f"{section.place('latency_us')}: is zero; write a number above 0, which SimGrid needs")
    rate = section.number("rate_MBps")
    several, hop, in_turn, adapter, calls = None, 0.0, None, 0.0, ""
    register: Table = ()
    if between_nodes and section.optional("hop_latency_us"):
        hop = section.number("hop_latency_us", above=False)
    if between_nodes and section.optional("in_turn_below_B"):
        in_turn = section.count("in_turn_below_B", 0)
    if between_nodes and section.optional("adapter_us"):
        adapter = section.number("adapter_us")
    if between_nodes and section.optional("needs_calls"):
        calls = section.choice("needs_calls", NEEDS_CALLS)
    if between_nodes and section.optional("register_us"):
        register = section.table("register_us")
    if not between_nodes and section.optional("several_MBps"):
        several = section.number("several_MBps")
    section.finish()
    return Costs(send, receive, latency, rate, several, hop, in_turn, adapter, calls, register)


def _host_bus(top: Section) -> HostBus:
    if not top.optional("host_bus"):
        return HostBus(None, None)
    section = top.section("host_bus")
    duplex = section.choice("duplex", ("half", "full"))
    each = section.number("rate_MBps") if duplex == "half" or section.optional("rate_MBps") else None
    together = section.number("aggregate_MBps") if duplex == "full" and section.optional("aggregate_MBps") else None
    section.finish()
    if each is None and together is None:
        raise TwinError(f"{section.place()}: has no limit; write rate_MBps or aggregate_MBps, or leave it out")
    return HostBus(None, each) if duplex == "half" else HostBus(each, together)


def _published_values(top: Section) -> dict[str, dict[str, PublishedValue]]:
    if not top.optional("values"):
        return {}
    benchmarks = top.section("values").subsections()
    return {
        benchmark: {name: _published_value(each) for name, each in below.subsections()}
        for benchmark, below in benchmarks
    }


def _published_value(section: Section) -> PublishedValue:
    """Read one of them: ``{value: 949, published: SAND Table 4, twin: predicted}``."""
    published = section.text("published")
    twin, why_not, tolerance = FITTED, "", 1.0
    if section.optional("not_reproduced"):
        twin, why_not = PREDICTED, section.text("not_reproduced")
    else:
        twin = section.choice("twin", (FITTED, PREDICTED))
    section.source = source = Source("published", published)
    if section.optional("tolerance_percent"):
        tolerance = section.number("tolerance_percent")
        section.text("tolerance_because")
    value = section.number("value")
    section.finish()
    return PublishedValue(value, source, twin, why_not, tolerance)


def _saying(section: Section) -> Saying:
    """Read one saying: ``{check: HotSpot, layout: 8x1, metric: send_growth, unit: "1", at_least: 2, said: ...}``."""
    texts = {key: section.text(key) for key in ("check", "layout", "metric", "unit", "said", "published")}
    parameters = {key: section.text(key) for key in ("pattern", "poll", "wait") if section.optional(key)}
    why_not = section.text("not_reproduced") if section.optional("not_reproduced") else ""
    is_fitted = section.optional("twin") and section.choice("twin", (FITTED,)) == FITTED
    section.source = source = Source("published", texts["published"])
    given = [bound for bound in BOUNDS if section.optional(bound)]
    if len(given) != 1:
        raise TwinError(f"{section.place()}: needs one bound; write one of {' and '.join(BOUNDS)}")
    value = section.number(given[0])
    section.finish()
    return Saying(
        texts["check"],
        texts["layout"],
        parameters,
        texts["metric"],
        texts["unit"],
        given[0],
        value,
        texts["said"],
        source,
        why_not,
        is_fitted,
    )
