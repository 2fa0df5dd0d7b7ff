# SPDX-License-Identifier: BSD-3-Clause
"""Files of `ports` of nodes with GPUs, of a machine that is made up: a switch with a GPU and an adapter for
each rail.

GPU 0 is at 0000:1b:00.0, as in the log of :mod:`tests.parsers.nccl`, GPU 1 at 0000:2b:00.0; half of them at
each of two NUMA nodes.
"""

from fabric_checks.ports.counter_growth import of_node
from fabric_checks.ports.snapshots import parse

GPUS = 8


def bus(number, behind):
    return f"0000:{16 * number + behind:02x}"


def switch(number):
    """Return the root and the bridges down to the switch of a rail."""
    return (
        f"pci{bus(number, 0x17)}",
        f"{bus(number, 0x17)}:01.0",
        f"{bus(number, 0x18)}:00.0",
    )


def gpu_path(number):
    return (*switch(number), f"{bus(number, 0x19)}:00.0", f"{bus(number, 0x1B)}:00.0")


def adapter_path(number, at):
    return (*switch(at), f"{bus(at, 0x19)}:01.0", f"{bus(number, 0x1A)}:00.0")


def rows(gpus, adapters, *, lanes=None, sent_B=None):
    """Return what `ports` records of devices: path and value.

    :param gpus: path and NUMA node of each. :param adapters: likewise, by name.
    :param lanes: of some addresses, others have 16. :param sent_B: by name of the adapter, and received as
        well.
    """
    found = {}
    links = {}
    for path, numa in gpus:
        links[f"/sys/bus/pci/drivers/nvidia/{path[-1]}"] = path
        found[f"/sys/bus/pci/drivers/nvidia/{path[-1]}/numa_node"] = str(numa)
    for name, (path, numa) in adapters.items():
        folder = f"/sys/class/infiniband/{name}"
        links[f"{folder}/device"] = path
        words = (sent_B or {}).get(name, 0) // 4
        found |= {
            f"{folder}/device/numa_node": str(numa),
            f"{folder}/device/current_link_speed": "32.0 GT/s PCIe",
            f"{folder}/device/current_link_width": str((lanes or {}).get(path[-1], 16)),
            f"{folder}/ports/1/state": "4: ACTIVE",
            f"{folder}/ports/1/rate": "400 Gb/sec (4X NDR)",
            f"{folder}/ports/1/counters/port_xmit_data": str(words),
            f"{folder}/ports/1/counters/port_rcv_data": str(words),
        }
    for link, path in links.items():
        found[link] = "/sys/devices/" + "/".join(path)
        for end in range(2, len(path) + 1):
            found[f"/sys/devices/{'/'.join(path[:end])}/current_link_width"] = str(
                (lanes or {}).get(path[end - 1], 16)
            )
    return found


def host(*, gpus=range(GPUS), adapters=range(GPUS), at=lambda number: number, **more):
    """Return the rows of a node.

    :param gpus: the numbers of those that it has. :param adapters: likewise. :param at: the switch of an
        adapter.
    """
    return rows(
        [(gpu_path(number), number // 4) for number in gpus],
        {
            f"mlx5_{number}": (adapter_path(number, at(number)), at(number) // 4)
            for number in adapters
        },
        **more,
    )


def text(node, before, after):
    """Return a file of `ports`."""
    lines = ["# fabric-checks ports 1", f"# node: {node}"]
    for moment, uptime, found in (("before", 100, before), ("after", 110, after)):
        lines += [f"# {moment}", f"# uptime_s: {uptime}.0", "# took_ms: 1.0"]
        lines += [
            *(f"{path}\t{value}" for path, value in found.items()),
            f"# rows: {len(found)}",
        ]
    return "\n".join([*lines, "# ended: exit 0", ""])


def change(node, *, before=None, share=None, rails=range(GPUS), **how):
    """Return the activity of a node whose rails sent 10 GB each.

    :param before: how it was before, if other than after. :param share: of these 10 GB, by number of the
        rail.
    :param rails: those that were used.
    """
    sent_B = {f"mlx5_{rail}": int(10e9 * (share or {}).get(rail, 1)) for rail in rails}
    return of_node(
        parse(
            text(
                node,
                host(**how if before is None else before),
                host(**how, sent_B=sent_B),
            )
        )
    )


def job(count=8, **changed):
    """Return the activities of nodes n1, n2, ...; a keyword says how one of them is unlike the others."""
    return [
        change(name, **changed.get(name, {}))
        for name in (f"n{at + 1}" for at in range(count))
    ]


def alone(made):
    """Return the activity of a node n1 with these rows before and after."""
    return of_node(parse(text("n1", made, made)))
