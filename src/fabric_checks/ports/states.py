# SPDX-License-Identifier: BSD-3-Clause
"""Link states, settings and devices of ports and hosts that differ from those on the other nodes of a job."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter
from statistics import median
from typing import Any

from fabric_checks.core.finding import Finding, Severity
from fabric_checks.core.text import names_text
from fabric_checks.ports import events
from fabric_checks.ports.counter_growth import Nodes, port_changes
from fabric_checks.ports.outliers import MOST_SHOWN, finding, grouped, nodes_text, usual
from fabric_checks.ports.snapshots import Port
from fabric_checks.ports.transport import named

#: A rate is below another if it is less than this share of it: names of rates are rounded.
SAME_RATE = 0.97
#: A load average is reported if it is so much above the median of at least so many nodes.
MORE_LOAD, FEWEST = 2.0, 3


def _rate(port: Port) -> str | None:
    return f"{port.rate_MBps / 125:g} Gbit/s" if port.rate_MBps else None


def _link(port: Port) -> str | None:
    return None if port.up is None else "up" if port.up else "down"


#: The states by which ports of one name are compared: name, and value in words.
SAME: tuple[tuple[str, Callable[[Port], Any]], ...] = (
    ("link state", _link),
    ("rate", _rate),
    ("MTU", attrgetter("mtu")),
    ("PCIe", attrgetter("pcie")),
    ("firmware", attrgetter("firmware")),
    ("driver", attrgetter("driver")),
    ("NUMA node", attrgetter("numa")),
)


def outliers(nodes: Nodes, bindings: Mapping[str, str]) -> list[Finding]:
    """Return a finding for each value of a port or host that is not that of most nodes, or one for all if no
    value is.

    :param bindings: to how many CPUs each rank of a node is bound, in words, by node.
    """
    compared = grouped(
        (about, (host, str(value))) for about, host, value in _values(nodes, bindings)
    )
    found = []
    for (kind, what, port), pairs in compared.items():
        values = dict(pairs)
        hosts_of = dict(sorted(grouped((value, host) for host, value in pairs).items()))
        data: dict[str, Any] = {"port": port} if port else {}
        most = usual(values)
        if most is None and len(hosts_of) > 1:
            groups = "; ".join(
                f"{names_text(hosts)}: {value}" for value, hosts in hosts_of.items()
            )
            text = f"{what} differs between the nodes: {groups}"
            found.append(
                finding(kind, [*values], text, what, severity=Severity.SUSPECT, **data)
            )
        for value in sorted(hosts_of.keys() - {most}) if most else ():
            text = f"{nodes_text(hosts_of[value])}: {what} is {value}, on the other nodes {most}"
            found.append(finding(kind, hosts_of[value], text, what, **data))
    return found


def _values(
    nodes: Nodes, bindings: Mapping[str, str]
) -> Iterator[tuple[tuple[str, str, str], str, Any]]:
    """Yield what is compared (kind of part, what, and port), the host, and the value there."""
    for host, name, change in port_changes(nodes, lambda port: not port.stacked):
        for what, of in SAME:
            if (value := of(change.port)) is not None:
                yield ("port", f"{what} of {name}", name), host, value
    for node in nodes:
        for what, value in node.host.settings.items():
            yield ("host", what, ""), node.node, value
        for address, lanes in node.host.lanes.items():
            yield ("host", f"number of PCIe lanes at {address}", ""), node.node, lanes
        for what, count in events.active_nvlinks(node).items():
            yield ("gpu", what, ""), node.node, count
    for host, value in bindings.items():
        yield ("host", "binding", ""), host, value


def missing_devices(nodes: Nodes) -> Iterator[Finding]:
    """Yield a finding for each node that has lost devices during the case, or has not all that most nodes
    have."""
    whole = [node for node in nodes if node.is_whole]
    on_most = _on_most(whole)
    for node in whole:
        verb, how, names = "lost", "during the case", list(node.lost)
        if not names:
            verb, how = "has no", "as most nodes have"
            names = [device for device in on_most if device not in node.devices]
        if names:
            what = f"{verb} {names_text(names, MOST_SHOWN)}, {how}"
            text = f"node {node.node} {what}; look at lspci and the kernel's log"
            yield finding("host", [node.node], text, f"missing {' '.join(names)}")


def _on_most(nodes: Nodes) -> list[str]:
    """Return the devices that more than half of several nodes have."""
    count_of = Counter(device for node in nodes for device in node.devices)
    least = max(2, len(nodes) // 2 + 1)
    return [device for device, count in count_of.items() if count >= least]


def slow_links(
    nodes: Nodes, link_MBps: float | None, fabric: Sequence[str]
) -> list[Finding]:
    """Return a finding for each port of the fabric that is up below the rate in the system's file.

    :param fabric: patterns of its ports.
    """
    if not link_MBps:
        return []
    slow = grouped(
        ((name, str(_rate(change.port))), host)
        for host, name, change in named(nodes, fabric)
        if (change.port.rate_MBps or link_MBps) < SAME_RATE * link_MBps
    )
    found = []
    for (name, rate), hosts in slow.items():
        text = f"{nodes_text(hosts)}: {name} runs at {rate}; the system's file says {link_MBps:g} MB/s"
        about = f"{name} below the link rate"
        found.append(finding("port", hosts, text, about, port=name))
    return found


def high_loads(nodes: Nodes) -> Iterator[Finding]:
    """Yield a finding for each host with other work; load fluctuates, so that nobody is blamed for it."""
    loads = {
        node.node: node.load_before for node in nodes if node.load_before is not None
    }
    middle = median(loads.values()) if len(loads) >= FEWEST else math.inf
    for node, load in loads.items():
        if load > middle + MORE_LOAD:
            text = f"node {node}: the load before the case is {load:g}; the median is {middle:g}"
            yield finding("host", [node], text, "load", severity=Severity.SUSPECT)
