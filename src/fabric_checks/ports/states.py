# SPDX-License-Identifier: BSD-3-Clause
"""Link states and settings of ports and hosts that differ from those on the other nodes of a job."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import median
from typing import Any

from fabric_checks.core.finding import Finding, Severity
from fabric_checks.core.text import names_text
from fabric_checks.ports.counter_growth import NodeChange, port_changes
from fabric_checks.ports.outliers import finding, grouped, nodes_text, usual
from fabric_checks.ports.snapshots import Port

#: A rate is below another if it is less than this share of it: names of rates are rounded.
SAME_RATE = 0.97
#: A load average is reported if it is so much above the median of at least so many nodes.
MORE_LOAD, FEWEST = 2.0, 3


def _rate(port: Port) -> str | None:
    if port.rate_MBps is None:
        return None
    return f"{port.rate_MBps / 125:g} Gbit/s" + (f" ({port.width})" if port.width else "")


#: The states by which ports of one name are compared: name, and value in words.
SAME: tuple[tuple[str, Callable[[Port], Any]], ...] = (
    ("link state", lambda port: None if port.up is None else ("up" if port.up else "down")),
    ("rate", _rate),
    ("MTU", lambda port: port.mtu),
    ("PCIe", lambda port: port.pcie),
    ("firmware", lambda port: port.firmware),
    ("driver", lambda port: " ".join(filter(None, (port.driver, port.driver_version))) or None),
    ("NUMA node", lambda port: port.numa),
)


def port_outliers(nodes: Sequence[NodeChange]) -> list[Finding]:
    """Return a finding for each state in which a port differs from most ports of its name."""
    found: list[Finding] = []
    of_name = grouped((name, (host, change.port)) for host, name, change in port_changes(nodes))
    for name, ports in sorted(of_name.items()):
        for what, of in SAME:
            values = {host: of(port) for host, port in ports}
            if not all(port.stacked for _, port in ports):
                found += _outliers("port", f"{what} of {name}", values, port=name)
    return found


def slow_links(
    nodes: Sequence[NodeChange], link_MBps: float | None, carries: Callable[[Port], bool]
) -> list[Finding]:
    """Return a finding for each port of the fabric that is up below the rate in the system's file.

    :param carries: whether a port is of the fabric.
    """
    if not link_MBps:
        return []
    slow = grouped(
        ((name, str(_rate(change.port))), host)
        for host, name, change in port_changes(nodes, carries)
        if (change.port.rate_MBps or link_MBps) < SAME_RATE * link_MBps
    )
    found = []
    for (name, rate), hosts in slow.items():
        text = f"{nodes_text(hosts)}: {name} runs at {rate}; the system's file says {link_MBps:g} MB/s"
        found.append(finding("port", hosts, text, f"{name} below the link rate", port=name))
    return found


def host_outliers(nodes: Sequence[NodeChange], bindings: Mapping[str, str]) -> list[Finding]:
    """Return a finding for each setting of a host that differs within the job.

    :param bindings: to how many CPUs each rank of a node is bound, in words, by node.
    """
    settings = grouped(
        (key, (node.node, value)) for node in nodes for key, value in node.host.settings.items()
    )
    found: list[Finding] = []
    for key, values in sorted(settings.items()):
        found += _outliers("host", key.replace("_kHz", "").replace("_", " "), dict(values))
    found += _outliers("host", "binding", bindings)
    return [*found, *_high_loads(nodes)]


def _outliers(kind: str, what: str, values: Mapping[str, Any], **more: Any) -> Iterator[Finding]:
    """Yield a finding for each value that is not that of most nodes, or one for all if no value is."""
    values = {node: value for node, value in values.items() if value is not None}
    hosts_of = grouped((str(value), node) for node, value in values.items())
    if len(hosts_of) < 2:
        return
    most = usual(values)
    if most is None:
        groups = "; ".join(f"{names_text(hosts)}: {value}" for value, hosts in sorted(hosts_of.items()))
        text = f"{what} differs between the nodes: {groups}"
        yield finding(kind, list(values), text, what, severity=Severity.SUSPECT, **more)
        return
    for value, hosts in sorted(hosts_of.items()):
        if value != str(most):
            text = f"{nodes_text(hosts)}: {what} is {value}, on the other nodes {most}"
            yield finding(kind, hosts, text, what, **more)


def _high_loads(nodes: Sequence[NodeChange]) -> Iterator[Finding]:
    """Yield a finding for each host with other work; load fluctuates, so that nobody is blamed for it."""
    loads = {node.node: node.load_before for node in nodes if node.load_before is not None}
    if len(loads) < FEWEST:
        return
    usual_load = median(loads.values())
    for node, load in loads.items():
        if load > usual_load + MORE_LOAD:
            text = f"node {node}: the load before the case is {load:g}; the median is {usual_load:g}"
            yield finding("host", [node], text, "load", severity=Severity.SUSPECT)
