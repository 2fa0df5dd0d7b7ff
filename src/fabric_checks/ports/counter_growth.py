# SPDX-License-Identifier: BSD-3-Clause
"""Growth of the counters of a node during a case; nothing is guessed of a counter that was reset or is
new."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from fabric_checks.ports.snapshots import Host, NodeFile, Port, Snapshot

#: The largest count of data on hardware with counters of 32 bits, where it stops: 4-byte words (InfiniBand
#: Architecture Specification, volume 1, 16.1.3.5).
FULL_DATA_B = 4 * (2**32 - 1)


@dataclass(frozen=True)
class PortChange:
    """Activity of a port during a case.

    :param port: as it was at the end.
    :param sent_B: bytes; None if its counters cannot tell. :param received_B: likewise.
    :param grown: by how much each of its other counters grew.
    """

    port: Port
    sent_B: int | None
    received_B: int | None
    grown: Mapping[str, int]


@dataclass(frozen=True)
class NodeChange:
    """Activity of a node during a case.

    :param node: its name; :param seconds: how long the program ran there.
    :param ports: by name; :param tcp: by how much the counters of TCP grew.
    :param host: as it was at the end; :param load_before: its load before the program.
    :param devices: its GPUs and its adapters but for interfaces, in words, after the program.
    :param lost: those that were there before the program and not after it.
    :param is_whole: whether neither snapshot was cut, so that what is not in them is not there.
    :param nvlink_before: as :attr:`Host.nvlink`, before the program.
    """

    node: str
    seconds: float
    ports: Mapping[str, PortChange] = field(default_factory=dict)
    tcp: Mapping[str, int] = field(default_factory=dict)
    host: Host = field(default_factory=Host)
    load_before: float | None = None
    devices: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    is_whole: bool = True
    nvlink_before: Mapping[tuple[str, str], str] = field(default_factory=dict)


#: The nodes of a job.
Nodes = Sequence[NodeChange]


def port_changes(
    nodes: Nodes, is_meant: Callable[[Port], bool] = lambda _: True
) -> Iterator[tuple[str, str, PortChange]]:
    """Yield node, name and activity of each port, or of those that are meant."""
    for node in nodes:
        for name, change in sorted(node.ports.items()):
            if is_meant(change.port):
                yield node.node, name, change


def of_node(file: NodeFile) -> NodeChange | str:
    """Return the activity of a node, or why it is unknown, in words."""
    before, after = file.before, file.after
    if after is None:
        return "the program did not finish there"
    if before.uptime_s is None:
        return f"the snapshot before the program was cut: {before.cut}"
    if after.uptime_s is None:
        return f"the snapshot after the program was cut: {after.cut}"
    seconds = after.uptime_s - before.uptime_s
    if seconds <= 0:
        return "the node rebooted in between"
    devices = _devices(after)
    return NodeChange(
        file.node,
        seconds,
        {
            name: _of_port(before.ports.get(name), port)
            for name, port in after.ports.items()
        },
        _growth(before.host.tcp, after.host.tcp),
        after.host,
        before.host.load,
        devices,
        tuple(device for device in _devices(before) if device not in devices),
        not (before.cut or after.cut),
        before.host.nvlink,
    )


def _devices(snapshot: Snapshot) -> tuple[str, ...]:
    gpus = [f"GPU {address}" for address in snapshot.host.gpus]
    ports = [port.name for port in snapshot.ports.values() if port.kind != "interface"]
    return (*gpus, *ports)


def _growth(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    known = after.keys() & before.keys()
    return {
        name: after[name] - before[name]
        for name in known
        if before[name] <= after[name]
    }


def _of_port(before: Port | None, after: Port) -> PortChange:
    if before is None:
        return PortChange(after, None, None, {})
    return PortChange(
        after,
        _bytes(before.sent_B, after.sent_B),
        _bytes(before.received_B, after.received_B),
        _growth(before.counters, after.counters),
    )


def _bytes(before: int | None, after: int | None) -> int | None:
    """Return the growth of a count of bytes; None if it is not counted, has stopped or was reset."""
    if before is None or after is None or after == FULL_DATA_B or after < before:
        return None
    return after - before
