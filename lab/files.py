# SPDX-License-Identifier: BSD-3-Clause
"""Write a fabric as ``ibnetdiscover``, ``dump_lfts.sh`` and ``scontrol show topology`` do."""

from __future__ import annotations

from collections.abc import Sequence

from lab.fluid.fabric import Fabric
from lab.fluid.flows import Ints


def slurm(fabric: Fabric) -> str:
    """Return the output of ``scontrol show topology``."""
    switches: list[tuple[int, str, list[int], list[str]]] = [
        (0, fabric.switches[leaf], [leaf], []) for leaf in fabric.leaves
    ]
    for number, group in enumerate(fabric.groups, 1):
        switches.append(
            (1, f"group-{number}", group, [fabric.switches[leaf] for leaf in group])
        )
    if len(fabric.groups) > 1:
        below = [f"group-{number + 1}" for number in range(len(fabric.groups))]
        switches.append((2, "top", fabric.leaves, below))
    lines = []
    for level, name, leaves, below in switches:
        nodes = ",".join(
            node
            for node, leaf in zip(fabric.names, fabric.leaf, strict=True)
            if leaf in leaves
        )
        above = f" Switches={','.join(below)}" if below else ""
        lines.append(
            f"SwitchName={name} Level={level} LinkSpeed=1 Nodes={nodes}{above}\n"
            if nodes
            else ""
        )
    return "".join(lines)


def _numbers(fabric: Fabric) -> dict[str, int]:
    """Return the local identifier of each switch and node."""
    return {
        name: number for number, name in enumerate((*fabric.switches, *fabric.names), 1)
    }


def _guids(fabric: Fabric) -> dict[str, str]:
    vendors = [0x0008F105] * len(fabric.switches) + [0x0002C903] * fabric.nodes
    return {
        name: f"{vendor:08x}{lid:08x}"
        for vendor, (name, lid) in zip(vendors, _numbers(fabric).items(), strict=True)
    }


def _ports(fabric: Fabric, hosts: Sequence[int]) -> list[dict[int, tuple[str, int]]]:
    """Return name and port at the other end, by switch and port: those of nodes first, then the cables in
    order."""
    ports: list[dict[int, tuple[str, int]]] = [{} for _ in fabric.switches]
    for node, leaf in zip(hosts, fabric.leaf, strict=True):
        ports[leaf][len(ports[leaf]) + 1] = (fabric.names[node], 1)
    for one, other in fabric.cables:
        at, to = len(ports[one]) + 1, len(ports[other]) + 1
        ports[one][at] = (fabric.switches[other], to)
        ports[other][to] = (fabric.switches[one], at)
    return ports


def ibnetdiscover(fabric: Fabric, hosts: Sequence[int] | None = None) -> str:
    """Return what ``ibnetdiscover`` prints; ``hosts``: the node in each place, where it is from another
    day."""
    lines = ["#", "# Topology file: generated on Thu Nov 26 04:00:00 2026", "#"]
    places = list(range(fabric.nodes)) if hosts is None else list(hosts)
    ports, guids, lids = _ports(fabric, places), _guids(fabric), _numbers(fabric)
    dead = {
        frozenset(fabric.switches[end] for end in fabric.cables[number])
        for number in fabric.dead
    }
    for number, switch in enumerate(fabric.switches):
        guid, lid = guids[switch], lids[switch]
        lines += ["", f"switchguid=0x{guid}({guid})"]
        lines.append(
            f'Switch\t{len(ports[number])} "S-{guid}"\t\t# "{switch}" enhanced port 0 lid {lid} lmc 0'
        )
        for port, (name, to) in ports[number].items():
            far, far_lid = guids[name], lids[name]
            if far_lid > len(fabric.switches):
                lines.append(
                    f'[{port}]\t"H-{far}"[{to}]({far}) \t\t# "{name} HCA-1" lid {far_lid} 4xEDR'
                )
            elif {switch, name} not in dead:
                lines.append(
                    f'[{port}]\t"S-{far}"[{to}]\t\t# "{name}" lid {far_lid} 4xEDR'
                )
    for number, at in enumerate(ports):
        switch, guid = fabric.switches[number], guids[fabric.switches[number]]
        for port, (name, _) in at.items():
            if lids[name] > len(fabric.switches):
                own, lid = guids[name], lids[name]
                lines += ["", f"caguid=0x{own}", f'Ca\t1 "H-{own}"\t\t# "{name} HCA-1"']
                lines.append(
                    f'[1]({own}) \t"S-{guid}"[{port}]\t\t# lid {lid} lmc 0 "{switch}" lid {number + 1} 4xEDR'
                )
    return "\n".join(lines) + "\n"


def lfts(fabric: Fabric, table: Ints | None = None) -> str:
    """Return what ``dump_lfts.sh`` prints; ``table``: another than that in force, where it is from another
    day."""
    ports = _ports(fabric, range(fabric.nodes))
    guids = _guids(fabric)
    lids = _numbers(fabric)
    out = fabric.out if table is None else table
    lines = []
    for number, switch in enumerate(fabric.switches):
        last, lid = len(lids), lids[switch]
        lines.append(
            f"Unicast lids [0x0-0x{last:x}] of switch Lid {lid} guid 0x{guids[switch]} ({switch}):"
        )
        lines += ["  Lid  Out   Destination", "       Port     Info "]
        to_port = {far: port for port, far in ports[number].items()}
        port_of = {name: port for (name, _), port in to_port.items()}
        for node, name in enumerate(fabric.names):
            link = int(out[number, node]) - 2 * fabric.nodes
            far = (
                name
                if number == fabric.leaf[node]
                else fabric.switches[fabric.cables[link // 2][1 - link % 2]]
            )
            lines.append(f"0x{lids[name]:04x} {port_of[far]:03d} : "
                         f"(Channel Adapter portguid 0x{guids[name]}: '{name} HCA-1')")  # fmt: skip
        lines.append(f"{fabric.nodes} valid lids dumped ")
    return "\n".join(lines) + "\n"
