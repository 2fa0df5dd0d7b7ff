# SPDX-License-Identifier: BSD-3-Clause
"""Link states and settings of ports and hosts that differ from those on the other nodes of a job."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from fabric_checks.ports.changes import NodeChange
from fabric_checks.ports.outliers import finding, listed, nodes_text, usual
from fabric_checks.ports.snapshots import Port

#: A rate is below another if it is less than this share of it: names of rates are rounded.
SAME_RATE = 0.97
#: A frequency, a load or free memory is reported if it is so far from that of the others.
LOWER_FREQUENCY, MORE_LOAD, LESS_MEMORY = 0.8, 2.0, 0.5


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


def port_outliers(nodes: Sequence[NodeChange]) -> list[dict[str, Any]]:
    """Return a finding for each state in which a port differs from most ports of its name."""
    found: list[dict[str, Any]] = []
    for name in sorted({name for node in nodes for name in node.ports}):
        ports = {node.node: node.ports[name].port for node in nodes if name in node.ports}
        if all(port.stacked for port in ports.values()):
            continue
        for what, of in SAME:
            values = {node: value for node, port in ports.items() if (value := of(port)) is not None}
            found += _outliers("port", f"{what} of {name}", values, port=name)
    return found


def slow_links(
    nodes: Sequence[NodeChange], link_MBps: float | None, carries: Callable[[Port], bool]
) -> list[dict[str, Any]]:
    """Return a finding for each port of the fabric that is up below the rate that the system's file says.

    :param carries: whether a port is of the fabric.
    """
    found: dict[tuple[str, str], list[str]] = {}
    for node in nodes:
        for name, change in sorted(node.ports.items()):
            rate = change.port.rate_MBps
            if link_MBps and rate is not None and rate < SAME_RATE * link_MBps and carries(change.port):
                found.setdefault((name, str(_rate(change.port))), []).append(node.node)
    return [
        finding(
            "port",
            hosts,
            f"{nodes_text(hosts)}: {name} runs at {rate}; the system's file says {link_MBps or 0:g} MB/s",
            port=name,
        )
        for (name, rate), hosts in found.items()
    ]


def host_outliers(nodes: Sequence[NodeChange], bindings: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return a finding for each setting of a host that differs within the job.

    :param bindings: to how many CPUs each rank of a node is bound, in words, by node.
    """
    found: list[dict[str, Any]] = []
    for key in sorted({key for node in nodes for key in node.host.settings}):
        values = {node.node: node.host.settings[key] for node in nodes if key in node.host.settings}
        found += _outliers("host", key.replace("_kHz", "").replace("_", " "), values)
    found += _outliers("host", "binding", bindings)
    found += _far(nodes)
    return found


def _outliers(kind: str, what: str, values: Mapping[str, Any], **more: Any) -> Iterable[dict[str, Any]]:
    different = set(values.values())
    if len(different) < 2:
        return []
    most = usual(values)
    if most is None:
        groups = "; ".join(
            f"{listed([n for n in values if str(values[n]) == value])}: {value}"
            for value in sorted(map(str, different))
        )
        return [finding(kind, list(values), f"{what} differs between the nodes: {groups}", confirmed=False, **more)]
    return [
        finding(
            kind,
            hosts,
            f"{nodes_text(hosts)}: {what} is {value}, on the other nodes {most}",
            **more,
        )
        for value in sorted(map(str, different - {most}))
        if (hosts := [node for node in values if str(values[node]) == value])
    ]


@dataclass(frozen=True)
class _Quantity:
    """A quantity of a host that fluctuates: its name, its value, its unit, and when it is far from the median."""

    what: str
    of: Callable[[NodeChange], float | None]
    unit: str
    is_far: Callable[[float, float], bool]


_QUANTITIES = (
    _Quantity("the clock of CPU 0", lambda node: node.host.frequency_kHz, " kHz", lambda v, m: v < LOWER_FREQUENCY * m),
    _Quantity("the load before the case", lambda node: node.load_before, "", lambda v, m: v > m + MORE_LOAD),
    _Quantity("available memory", lambda node: node.host.free_kB, " kB", lambda v, m: v < LESS_MEMORY * m),
)


def _far(nodes: Sequence[NodeChange]) -> Iterable[dict[str, Any]]:
    """Return findings about quantities: they fluctuate, so nothing is blamed for them."""
    for each in _QUANTITIES:
        values = {node.node: value for node in nodes if (value := each.of(node)) is not None}
        if len(values) < 3:
            continue
        middle = median(values.values())
        for node, value in values.items():
            if each.is_far(value, middle):
                yield finding(
                    "host",
                    [node],
                    f"node {node}: {each.what} is {value:g}{each.unit}; the median is {middle:g}{each.unit}",
                    confirmed=False,
                )
