# SPDX-License-Identifier: BSD-3-Clause
"""Write the flat file that the SimGrid plugin reads (`config/twins/plugin/twin.cpp` describes its lines)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from fabric_twins.model.description import Costs, Table, Twin
from fabric_twins.model.routing import routes
from fabric_twins.model.topology import Wiring, with_faults

FORMAT = "fabric-twin-platform 1"

_MEGA = 1e6
_MICRO = 1e-6


@dataclass
class _Links:
    """The lines of the links, which other lines refer to by number."""

    lines: list[str] = field(default_factory=list)

    def add(
        self, name: str, rate_MBps: float, policy: str = "shared", to: object = "-"
    ) -> int:
        self.lines.append(f"link {name} {_number(rate_MBps * _MEGA)} {policy} {to}")
        return len(self.lines) - 1


def platform(twin: Twin, flops: float | None = None) -> str:
    """Return the platform file of a twin.

    :param flops: the speed of each processor in flops/s; needed only where something computes in simulated
        time.
    :raises TwinError: if its faults or its routing do not fit its topology.
    """
    wiring = with_faults(twin.topology.wiring(), twin.faults)
    ways = routes(wiring, twin.routing)
    links = _Links()
    arcs = [
        links.add(
            f"{wiring.switches[arc.start]}:{wiring.switches[arc.end]}:{number}",
            wiring.cables[arc.cable].rate_MBps,
            to=arc.end,
        )
        for number, arc in enumerate(ways.arcs)
    ]
    words = [*map(str, arcs), "-"]  # the last is that of HERE
    hosts = [_host(twin, wiring, links, host) for host in range(len(wiring.hosts))]
    lines = [
        FORMAT,
        f"# {twin.name}: {twin.about}",
        *(
            []
            if flops is None
            else [f"processors {twin.cpus_per_node} {_number(flops)}"]
        ),
        f"hop_latency {_number(twin.inter_node.hop_latency_us * _MICRO)}",
        *(
            []
            if twin.inter_node.in_turn_below_B is None
            else [f"in_turn {twin.inter_node.in_turn_below_B}"]
        ),
        *_hosts_part(twin),
        *_tables("inter", twin.inter_node),
        *_tables("intra", twin.intra_node),
        *links.lines,
        *(f"switch {name}" for name in wiring.switches),
        *hosts,
        *(
            " ".join(["next", str(switch), *map(words.__getitem__, row)])
            for switch, row in enumerate(ways.next)
        ),
    ]
    return "\n".join([*lines, f"end {len(lines)}", ""])


def _host(twin: Twin, wiring: Wiring, links: _Links, host: int) -> str:
    """Add the links of a host, and return its line."""
    name, speed = wiring.hosts[host], wiring.host_fraction.get(host, 1.0)
    bus, within = twin.host_bus, twin.intra_node
    out = [links.add(f"{name}:up", speed * twin.inter_node.rate_MBps)]
    back = [links.add(f"{name}:down", speed * twin.inter_node.rate_MBps)]
    if bus.each_MBps is not None:
        out.append(links.add(f"{name}:bus-out", speed * bus.each_MBps))
        back.append(links.add(f"{name}:bus-in", speed * bus.each_MBps))
    if bus.together_MBps is not None:
        both = links.add(f"{name}:bus", speed * bus.together_MBps)
        out.append(both)
        back.append(both)
    several = within.several_MBps
    policy = (
        "shared" if several is None else f"several {_number(speed * several * _MEGA)}"
    )
    own = [links.add(f"{name}:self", speed * within.rate_MBps, policy)]
    return (
        f"host {name} {wiring.at[host]} {_number(1 / speed)} out {_list(out)} in {_list(back)} self"
        f" {_list(own)}"
    )


def _hosts_part(twin: Twin) -> Iterable[str]:
    if twin.inter_node.adapter_us:
        yield f"adapter {_number(twin.inter_node.adapter_us * _MICRO)} {twin.eager_below_B}"
    if twin.inter_node.needs_calls:
        yield f"calls {twin.inter_node.needs_calls} {twin.eager_below_B}"


def _tables(where: str, costs: Costs) -> Iterable[str]:
    tables: dict[str, Table] = {
        "send": costs.send_us,
        "receive": costs.receive_us,
        "latency": costs.latency_us,
    }
    for kind, table in tables.items():
        yield f"table {where} {kind} {_points(table)}"


def _points(table: Table) -> str:
    return " ".join(
        [
            str(len(table)),
            *(f"{size} {_number(value * _MICRO)}" for size, value in table),
        ]
    )


def _list(numbers: list[int]) -> str:
    return " ".join(map(str, [len(numbers), *numbers]))


def _number(value: float) -> str:
    """Return a number without the last digits, which differ by how it was calculated."""
    return f"{value:.12g}"
