# SPDX-License-Identifier: BSD-3-Clause
"""What the tools of InfiniBand and Slurm would print of a simulated fabric, in their formats."""


def _devices(wiring):
    """Return by switch its ports, each with the device and port at the other end."""
    ports = [[] for _ in wiring.switches]
    hosts = []
    for host, at in enumerate(wiring.at):
        ports[at].append(("H", host, 1))
        hosts.append((at, len(ports[at])))
    for cable in wiring.cables:
        a, b = len(ports[cable.a]) + 1, len(ports[cable.b]) + 1
        ports[cable.a].append(("S", cable.b, b))
        ports[cable.b].append(("S", cable.a, a))
    return ports, hosts


def guid(kind, number):
    return f"{(0x7CFE0000 if kind == 'S' else 0xE41D0000) + number:016x}"


def lid(kind, number, wiring):
    return 1 + number + (len(wiring.hosts) if kind == "S" else 0)


def _guid(number, wiring):
    host = number - 1
    return (
        guid("H", host)
        if host < len(wiring.hosts)
        else guid("S", host - len(wiring.hosts))
    )


def _name(kind, number, wiring):
    return (
        f"MF0;{wiring.switches[number]}:MSB7700/U1"
        if kind == "S"
        else f"{wiring.hosts[number]} mlx5_0"
    )


def ibnetdiscover(wiring):
    ports, hosts = _devices(wiring)
    lines = ["#", "# Topology file: generated on Mon Jan  5 10:00:00 2026", "#"]
    for switch, own in enumerate(ports):
        lines += [
            "",
            "vendid=0x2c9",
            "devid=0xcf08",
            f"switchguid=0x{guid('S', switch)}({guid('S', switch)})",
        ]
        lines.append(
            f'Switch\t36 "S-{guid("S", switch)}"\t\t# "{_name("S", switch, wiring)}" enhanced port 0 '
            f"lid {lid('S', switch, wiring)} lmc 0"
        )
        for port, (kind, other, far) in enumerate(own, 1):
            extra = f"({guid(kind, other)})" if kind == "H" else ""
            lines.append(
                f'[{port}]\t"{kind}-{guid(kind, other)}"[{far}]{extra} \t\t# "{_name(kind, other, wiring)}" '
                f"lid {lid(kind, other, wiring)} 4xEDR"
            )
    for host, (at, port) in enumerate(hosts):
        lines += ["", "vendid=0x2c9", f"caguid=0x{guid('H', host)}"]
        lines.append(f'Ca\t1 "H-{guid("H", host)}"\t\t# "{_name("H", host, wiring)}"')
        lines.append(
            f'[1]({guid("H", host)}) \t"S-{guid("S", at)}"[{port}]\t\t# lid {lid("H", host, wiring)} lmc 0 '
            f'"{_name("S", at, wiring)}" lid {lid("S", at, wiring)} 4xEDR'
        )
    return "\n".join(lines) + "\n"


def dump_lfts(wiring, ways):
    ports, _ = _devices(wiring)
    lines = []
    for switch, own in enumerate(ports):
        table = {lid("S", switch, wiring): 0}
        port_of = {}
        for number, arc in enumerate(ways.arcs):
            if arc.start == switch:
                cable = wiring.cables[arc.cable]
                end = cable.b if number % 2 == 0 else cable.a
                port_of[number] = next(
                    p
                    for p, (kind, other, _) in enumerate(own, 1)
                    if (kind, other) == ("S", end)
                )
        for host in range(len(wiring.hosts)):
            here = ("H", host, 1)
            arc = ways.next[switch][host]
            table[lid("H", host, wiring)] = (
                own.index(here) + 1 if here in own else port_of.get(arc, 255)
            )
        table = {number: port for number, port in table.items() if port != 255}
        name = _name("S", switch, wiring)
        lines.append(
            f"Unicast lids [0x0-0x{max(table):x}] of switch Lid {lid('S', switch, wiring)} guid "
            f"0x{guid('S', switch)} ({name}):"
        )
        lines += ["  Lid  Out   Destination", "       Port     Info "]
        lines += [
            f"0x{number:04x} {port:03d} : (Channel Adapter portguid 0x{_guid(number, wiring)}: 'a host')"
            for number, port in sorted(table.items())
        ]
        lines.append(f"{len(table)} valid lids dumped ")
    return "\n".join(lines) + "\n"
