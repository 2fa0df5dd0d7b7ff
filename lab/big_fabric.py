# SPDX-License-Identifier: BSD-3-Clause
"""``python -m lab.big_fabric``: the files of a tree of three levels, as large as the largest machines.

``write`` makes ``net.txt`` (``ibnetdiscover``), ``tables.txt`` (``dump_fts``) and ``opensm.log``; ``read``
says how long a library takes for them, with its largest memory, and holds routes against the tree:

    python -m lab.big_fabric write FOLDER                   # 10,000 hosts, 1,500 switches, 17 million lines
    python -m lab.big_fabric write FOLDER --tree 8 8 4      # 512 hosts, 160 switches, 8 MB
    python -m lab.big_fabric read FOLDER --pairs 10000000   # by the library on PYTHONPATH

A pod has as many leaves as spines, each leaf a cable to each spine of its pod; spine number j of
every pod has a cable to each core of group j. A host is reached by the spine and the core of its number
(d-mod-k). To LIDs of switches, which no route of a host needs, all leave by port 1.
"""

from __future__ import annotations

import argparse
import resource
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

LOG = "osm_ucast_mgr_process: ftree tables configured on all switches\n"


@dataclass(frozen=True)
class Tree:
    """A tree; devices are numbered by kind: hosts, leaves, spines, cores.

    :param width: the hosts of a leaf, the leaves and the spines of a pod; :param cores: of a group.
    """

    pods: int
    width: int
    cores: int

    @property
    def hosts(self) -> int:
        """The number of hosts, ``width`` at each leaf."""
        return self.leaves * self.width

    @property
    def leaves(self) -> int:
        """The number of leaves, and of spines."""
        return self.pods * self.width

    @property
    def switches(self) -> list[str]:
        """The names of all switches, leaves first."""
        names = [f"leaf{number:04d}" for number in range(self.leaves)]
        names += [f"spine{number:04d}" for number in range(self.leaves)]
        return names + [
            f"core{number:04d}" for number in range(self.width * self.cores)
        ]

    def ports(self, switch: int) -> list[tuple[str, int, int]]:
        """Return kind, number and port of what is at each port of a switch, from port 1 on."""
        level, number = (
            divmod(switch, self.leaves) if switch < 2 * self.leaves else (2, 0)
        )
        pod, own = divmod(number, self.width)
        if level == 0:
            below = [("H", number * self.width + host, 1) for host in range(self.width)]
            spines = range(
                self.leaves + pod * self.width, self.leaves + (pod + 1) * self.width
            )
            return below + [("S", spine, own + 1) for spine in spines]
        if level == 1:
            leaves = [
                ("S", pod * self.width + leaf, self.width + own + 1)
                for leaf in range(self.width)
            ]
            first = 2 * self.leaves + own * self.cores
            return leaves + [("S", first + core, pod + 1) for core in range(self.cores)]
        group, core = divmod(switch - 2 * self.leaves, self.cores)
        return [
            ("S", self.leaves + pod * self.width + group, self.width + core + 1)
            for pod in range(self.pods)
        ]

    def table(self, switch: int) -> np.ndarray:
        """Return the port by host."""
        host = np.arange(self.hosts)
        leaf, pod = host // self.width, host // self.width**2
        up = host % self.width + self.width + 1
        if switch < self.leaves:
            return np.where(leaf == switch, host % self.width + 1, up)
        if switch < 2 * self.leaves:
            is_own = pod == (switch - self.leaves) // self.width
            return np.where(
                is_own, leaf % self.width + 1, leaf % self.cores + self.width + 1
            )
        return pod + 1

    def path(self, sender: int, receiver: int) -> list[int]:
        """Return the switches between two hosts."""
        one, other = sender // self.width, receiver // self.width
        if one == other:
            return [one]
        spine, core = receiver % self.width, other % self.cores
        up, down = (
            self.leaves + leaf // self.width * self.width + spine
            for leaf in (one, other)
        )
        if up == down:
            return [one, up, other]
        return [one, up, 2 * self.leaves + spine * self.cores + core, down, other]


def guid(kind: str, number: int) -> str:
    """Return the GUID of a device and of its port."""
    return f"{(0x200000 if kind == 'S' else 0x100000) + number:016x}"


def write(tree: Tree, folder: Path) -> None:
    """Write the files; LIDs are of hosts first."""
    names = tree.switches
    hosts = [("H", host) for host in range(tree.hosts)]
    lids = [*hosts, *(("S", switch) for switch in range(len(names)))]
    lid = {device: number for number, device in enumerate(lids, 1)}

    def name(kind: str, number: int) -> str:
        return (
            f"MF0;{names[number]}:MQM9700/U1"
            if kind == "S"
            else f"cn{number:05d} mlx5_0"
        )

    with (folder / "net.txt").open("w") as net:
        for switch in range(len(names)):
            own, number = guid("S", switch), lid["S", switch]
            about = f'"{name("S", switch)}" enhanced port 0 lid {number} lmc 0'
            net.write(
                f'\nswitchguid=0x{own}({own})\nSwitch\t64 "S-{own}"\t\t# {about}\n'
            )
            for port, (kind, other, far) in enumerate(tree.ports(switch), 1):
                key = guid(kind, other)
                of_port = f"({key})" if kind == "H" else ""
                about = f'"{name(kind, other)}" lid {lid[kind, other]} 4xNDR'
                net.write(f'[{port}]\t"{kind}-{key}"[{far}]{of_port} \t\t# {about}\n')
        for host in range(tree.hosts):
            own, at, port = guid("H", host), host // tree.width, host % tree.width + 1
            net.write(f'\ncaguid=0x{own}\nCa\t1 "H-{own}"\t\t# "{name("H", host)}"\n')
            about = f'lid {host + 1} lmc 0 "{name("S", at)}" lid {lid["S", at]} 4xNDR'
            net.write(f'[1]({own}) \t"S-{guid("S", at)}"[{port}]\t\t# {about}\n')
    kinds = {"H": "Channel Adapter", "S": "Switch"}
    lines = [
        f"0x{lid[each]:04x} 001 : ({kinds[each[0]]} portguid 0x{guid(*each)}: '{name(*each)}')\n"
        for each in lids
    ]
    body = np.frombuffer("".join(lines).encode(), dtype=np.uint8).copy()
    at = np.cumsum([0, *map(len, lines[:-1])]) + 7
    with (folder / "tables.txt").open("wb") as out:
        for switch in range(len(names)):
            ports = np.ones(len(lids), dtype=np.int64)
            ports[: tree.hosts] = tree.table(switch)
            ports[tree.hosts + switch] = 0
            for digit in range(3):
                body[at + digit] = ord("0") + ports // 10 ** (2 - digit) % 10
            head = f"Unicast lids [0x0-0x{len(lids):x}] of switch Lid {lid['S', switch]} guid"
            head += f" 0x{guid('S', switch)} ({name('S', switch)}):\n"
            out.write(
                f"{head}  Lid  Out   Destination\n       Port     Info \n".encode()
            )
            out.write(body.tobytes())
            out.write(f"{len(lids)} valid lids dumped \n".encode())
    (folder / "opensm.log").write_text(LOG)


def read(tree: Tree, folder: Path, pairs: int) -> None:
    """Print what a library takes to read the files and to find routes, which are held against the tree."""
    from fabric_checks.fabric_map import names
    from fabric_checks.fabric_map.model import arcs_of
    from fabric_checks.records.fabric_maps import of_files

    began = _now()
    known = of_files(
        [folder / name for name in ("net.txt", "tables.txt", "opensm.log")]
    )
    print(
        f"read: {_took(began)}, {_peak_GB():.2f} GB at most",
        flush=True,
    )
    hosts = len(known.hosts)
    began = _now()
    at, missing = names.positions(
        [f"cn{host:05d}" for host in range(hosts)], known.hosts
    )
    rng = np.random.default_rng(1)
    sender, receiver = rng.integers(hosts, size=(2, pairs))
    for first in range(0, pairs, 10**6):
        part = slice(first, first + 10**6)
        arcs = arcs_of(known, at[sender[part]], at[receiver[part]])
    print(f"routes of {pairs} pairs: {_took(began)}, {_peak_GB():.2f} GB at most")
    wrong = len(missing)
    for one, other, own in list(zip(sender[part], receiver[part], arcs, strict=True))[
        :10_000
    ]:
        passed = [known.switches[known.ends[arc]] for arc in own if arc >= 0]
        expected = [tree.switches[each] for each in tree.path(int(one), int(other))]
        wrong += passed != expected[1:]
    print(
        f"{hosts} hosts, {len(known.switches)} switches; wrong: {wrong} of 10000; warnings: {known.warnings}"
    )


def _now() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


def _took(began: tuple[float, float]) -> str:
    wall_s, used_s = (now - then for now, then in zip(_now(), began, strict=True))
    return f"{wall_s:.2f} s ({used_s:.2f} s of a processor)"


def _peak_GB() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def main() -> None:
    """Write or read."""
    parser = argparse.ArgumentParser(
        prog="python -m lab.big_fabric", description=__doc__
    )
    parser.add_argument("what", choices=["write", "read"])
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--tree",
        type=int,
        nargs=3,
        default=[25, 20, 25],
        help="pods, the leaves of each and its hosts at each, and the cores of a group; default: 25 20 25",
    )
    parser.add_argument("--pairs", type=int, default=10**6)
    given = parser.parse_args()
    tree = Tree(*given.tree)
    if given.what == "write":
        write(tree, given.folder)
    else:
        read(tree, given.folder, given.pairs)


if __name__ == "__main__":
    main()
