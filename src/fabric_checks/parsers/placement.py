# SPDX-License-Identifier: BSD-3-Clause
"""Output of our program ``placement``: the node and the cores of each rank."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.parsers import fabric

_NUMBER = "(?:0|[1-9][0-9]{0,5})"
_LIST = rf"-|{_NUMBER}(-{_NUMBER})?(,{_NUMBER}(-{_NUMBER})?)*"
#: A package and a core in it, as Linux numbers them; -1 where it does not know.
_CORE = rf"(?:-1|{_NUMBER}):(?:-1|{_NUMBER})"
#: The cells of a row as patterns, and what they mean.
_CELLS = {
    "node": (r"[\w.-]+", "the name of a node"),
    "cpu": (rf"-1|{_NUMBER}", "the number of a CPU"),
    "cpus": (_LIST, "a list of CPUs"),
    "cores": (rf"-|{_CORE}(,{_CORE})*", "a list of cores"),
    "online": (_LIST, "a list of CPUs"),
}


@dataclass(frozen=True)
class RankPlace:
    """The placement of one rank.

    :param rank: its rank in MPI_COMM_WORLD.
    :param host: MPI_Get_processor_name.
    :param node: the scheduler's name of the node, or ``host`` where the scheduler gives none.
    :param cpus: the CPUs it was allowed to use, as a Linux CPU list such as ``0-3,8``; ``-`` where the kernel does
        not show them.
    :param cores: the physical cores of those CPUs, as ``package:core``; empty where they are unknown.
    :param online: all CPUs of its node that are in service, as a CPU list; ``-`` where they are unknown.
    """

    rank: int
    host: str
    node: str
    cpus: str
    cores: frozenset[str]
    online: str = "-"


@dataclass(frozen=True)
class PlacementOutput:
    """The output of the placement probe: the MPI library, the compiler, and the placement of each rank."""

    mpi: str
    compiler: str
    ranks: tuple[RankPlace, ...]


def parse(text: str) -> PlacementOutput:
    """Read the output of the placement probe.

    :raises OutputError: if the output is not whole, or is that of several worlds of one rank each, as with the launcher
        of another MPI.
    """
    header, cells_of_rows = fabric.parse(text, "placement", ("rank", "host", "node", "cpu", "cpus", "cores", "online"))
    for key in ("mpi", "compiler"):
        if not header.get(key, "").strip():
            raise OutputError(f"the header line '# {key}: ...' is missing")
    if header.get("ranks") != str(len(cells_of_rows)):
        stated = quoted(header.get("ranks", ""))
        raise OutputError(f"the header says that {stated} ranks ran, the table has {len(cells_of_rows)}")
    ranks: list[RankPlace] = []
    online: dict[str, str] = {}
    for line, cells in cells_of_rows:
        if cells["rank"] != str(len(ranks)):
            raise OutputError(f"rank {len(ranks)} was expected, found {quoted(cells['rank'])}", line)
        for column, (pattern, meaning) in _CELLS.items():
            if not re.fullmatch(pattern, cells[column], re.ASCII):
                raise OutputError(f"{meaning} was expected, found {quoted(cells[column])}", line)
        _require_cpus(cells, line)
        if cells["online"] not in ("-", online.setdefault(cells["host"], cells["online"])):
            raise OutputError(f"{quoted(cells['host'])} has other CPUs in service than for an earlier rank", line)
        node = cells["host"] if cells["node"] == "-" else cells["node"]
        cores = frozenset(cells["cores"].split(",")) - {"-"}
        ranks.append(RankPlace(len(ranks), cells["host"], node, cells["cpus"], cores, cells["online"]))
    return PlacementOutput(header["mpi"], header["compiler"], tuple(ranks))


def cpu_numbers(text: str) -> frozenset[int]:
    """Return the CPUs of a Linux CPU list such as ``0-3,8``; none for ``-``."""
    numbers: set[int] = set()
    for part in text.split(",") if text != "-" else ():
        first, _, last = part.partition("-")
        numbers.update(range(int(first), int(last or first) + 1))
    return frozenset(numbers)


def _require_cpus(cells: Mapping[str, str], line: int) -> None:
    """Raise :class:`OutputError` unless a rank's CPU is one of its own, these are in service, and have its cores."""
    cpus, online, current = cpu_numbers(cells["cpus"]), cpu_numbers(cells["online"]), cells["cpu"]
    cores = [tuple(map(int, core.split(":"))) for core in cells["cores"].split(",") if core != "-"]
    for column in ("cpus", "online"):
        ends = [int(end) for end in re.split("[-,]", cells[column]) if end]
        if ends != sorted(set(ends)):
            raise OutputError(f"a list of CPUs in order was expected, found {quoted(cells[column])}", line)
    if cpus and current != "-1" and int(current) not in cpus:
        raise OutputError(f"the rank ran on CPU {current}, which is none of its own: {quoted(cells['cpus'])}", line)
    if online and not cpus <= online:
        raise OutputError(f"CPUs {quoted(cells['cpus'])} are not all in service: {quoted(cells['online'])}", line)
    if cores != sorted(set(cores)) or len(cores) > len(cpus):
        raise OutputError(f"{quoted(cells['cores'])} are not the cores, in order, of {len(cpus)} CPUs", line)
