# SPDX-License-Identifier: BSD-3-Clause
"""Growth of the counters of a node during a case; what a counter cannot show is reported, and never guessed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fabric_checks.ports.snapshots import Host, NodeFile, Port

#: The largest values of InfiniBand's PortCounters, where they stop (InfiniBand Architecture Specification, volume 1,
#: 16.1.3.5; the kernel reads them with these widths in drivers/infiniband/core/sysfs.c).
SATURATES_AT = {
    name: 2**bits - 1
    for name, bits in {
        "symbol_error": 16,
        "link_error_recovery": 8,
        "link_downed": 8,
        "port_rcv_errors": 16,
        "port_rcv_remote_physical_errors": 16,
        "port_rcv_switch_relay_errors": 16,
        "port_xmit_discards": 16,
        "port_xmit_constraint_errors": 8,
        "port_rcv_constraint_errors": 8,
        "local_link_integrity_errors": 4,
        "excessive_buffer_overrun_errors": 4,
        "VL15_dropped": 16,
    }.items()
}
#: The largest count of old hardware: 4-byte words in 32 bits.
FULL_DATA_B = 4 * (2**32 - 1)


@dataclass(frozen=True)
class PortChange:
    """Activity of a port during a case.

    :param port: as it was at the end.
    :param sent_B: bytes; None if its counters cannot tell. :param received_B: likewise.
    :param grown: by how much each of its other counters grew.
    :param doubts: counters that show nothing, and why, a phrase each.
    """

    port: Port
    sent_B: int | None
    received_B: int | None
    grown: Mapping[str, int]
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True)
class NodeChange:
    """Activity of a node during a case.

    :param node: its name; :param seconds: how long the program ran there.
    :param ports: by name; :param tcp: by how much the counters of TCP grew.
    :param host: as it was at the end; :param load_before: its load before the program.
    :param slowest_ms: the time of the slower snapshot.
    """

    node: str
    seconds: float
    ports: Mapping[str, PortChange] = field(default_factory=dict)
    tcp: Mapping[str, int] = field(default_factory=dict)
    host: Host = field(default_factory=Host)
    load_before: float | None = None
    slowest_ms: float = 0.0


def of_node(file: NodeFile) -> NodeChange | str:
    """Return the activity of a node, or why it is unknown, in words."""
    before, after = file.before, file.after
    if after is None:
        return "the program did not finish there"
    for snapshot, moment in ((before, "before"), (after, "after")):
        if snapshot.uptime_s is None or snapshot.took_ms is None:
            return f"the snapshot {moment} the program was cut: {snapshot.cut}"
    assert before.uptime_s is not None and after.uptime_s is not None  # for the types
    seconds = after.uptime_s - before.uptime_s
    if seconds <= 0:
        return "the node rebooted in between"
    return NodeChange(
        file.node,
        seconds,
        {name: _of_port(before.ports.get(name), port) for name, port in after.ports.items()},
        {
            name: count - before.host.tcp[name]
            for name, count in after.host.tcp.items()
            if count >= before.host.tcp.get(name, count + 1)
        },
        after.host,
        before.host.load,
        max(before.took_ms or 0.0, after.took_ms or 0.0),
    )


def _of_port(before: Port | None, after: Port) -> PortChange:
    if before is None:
        return PortChange(after, None, None, {}, ("it did not exist before the program ran",))
    doubts: list[str] = []
    grown: dict[str, int] = {}
    for name, count in after.counters.items():
        if name not in before.counters:
            doubts.append(f"{name} did not exist before")
        elif count < before.counters[name]:
            doubts.append(f"{name} was reset")
        elif count == SATURATES_AT.get(name) and after.kind == "verbs":
            doubts.append(f"{name} has stopped at its largest value, {count}")
        else:
            grown[name] = count - before.counters[name]
    doubts += [f"{name} cannot be read ({error})" for name, error in after.unreadable.items()]
    sent, received = (
        _bytes(which, getattr(before, key), getattr(after, key), after.kind, doubts)
        for which, key in (("sent bytes", "sent_B"), ("received bytes", "received_B"))
    )
    return PortChange(after, sent, received, grown, tuple(doubts))


def _bytes(which: str, before: int | None, after: int | None, kind: str, doubts: list[str]) -> int | None:
    if before is None or after is None:
        doubts.append(f"{which} are not counted")
        return None
    if kind == "verbs" and after == FULL_DATA_B:
        doubts.append(f"{which} have stopped at the largest value of 32 bits")
        return None
    if after < before:
        doubts.append(f"{which} were reset")
        return None
    return after - before
