# SPDX-License-Identifier: BSD-3-Clause
"""Output of our program ``placement``: the node and the cores of each rank."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.parsers import fabric

#: A package and a core in it, as Linux numbers them; -1 where it does not know.
_CORE = r"(?:-1|0|[1-9][0-9]{0,5}):(?:-1|0|[1-9][0-9]{0,5})"


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
    output = fabric.parse(text, "placement", ("rank", "host", "node", "cpu", "cpus", "cores", "online"))
    for key in ("mpi", "compiler"):
        if not output.header.get(key, "").strip():
            raise OutputError(f"the header line '# {key}: ...' is missing")
    if output.header.get("ranks") != str(len(output.rows)):
        stated = quoted(output.header.get("ranks", ""))
        raise OutputError(f"the header says that {stated} ranks ran, the table has {len(output.rows)}")
    ranks: list[RankPlace] = []
    for line, cells in output.rows:
        if cells["rank"] != str(len(ranks)):
            raise OutputError(f"rank {len(ranks)} was expected, found {quoted(cells['rank'])}", line)
        for column in ("cpus", "online"):
            _require_cpu_list(cells[column], line)
        if not re.fullmatch(r"[\w.-]+", cells["node"], re.ASCII):
            raise OutputError(f"the name of a node was expected, found {quoted(cells['node'])}", line)
        node = cells["host"] if cells["node"] == "-" else cells["node"]
        cores = _cores(cells["cores"], line)
        _require_cpus(cells, len(cores), line)
        ranks.append(RankPlace(len(ranks), cells["host"], node, cells["cpus"], cores, cells["online"]))
    return PlacementOutput(output.header["mpi"], output.header["compiler"], tuple(ranks))


def cpu_numbers(text: str) -> frozenset[int]:
    """Return the CPUs of a Linux CPU list such as ``0-3,8``; none for ``-``."""
    numbers: set[int] = set()
    for part in text.split(",") if text != "-" else ():
        first, _, last = part.partition("-")
        numbers.update(range(int(first), int(last or first) + 1))
    return frozenset(numbers)


def _cores(text: str, line: int) -> frozenset[str]:
    """Return the cores of a list, which has each once, in order; none for ``-``."""
    if not re.fullmatch(rf"-|{_CORE}(,{_CORE})*", text):
        raise OutputError(f"a list of cores was expected, found {quoted(text)}", line)
    cores = text.split(",") if text != "-" else []
    numbers = [tuple(map(int, core.split(":"))) for core in cores]
    if numbers != sorted(set(numbers)):
        raise OutputError(f"a list of cores in order was expected, found {quoted(text)}", line)
    return frozenset(cores)


def _require_cpus(cells: Mapping[str, str], cores: int, line: int) -> None:
    """Raise :class:`OutputError` unless a rank's CPU is one of its own, these are in service, and have its cores."""
    cpus, online = cpu_numbers(cells["cpus"]), cpu_numbers(cells["online"])
    current = cells["cpu"]
    if not re.fullmatch(r"-1|0|[1-9][0-9]{0,5}", current):
        raise OutputError(f"the number of a CPU was expected, found {quoted(current)}", line)
    if cpus and current != "-1" and int(current) not in cpus:
        raise OutputError(f"the rank ran on CPU {current}, which is none of its own: {quoted(cells['cpus'])}", line)
    if online and not cpus <= online:
        raise OutputError(f"CPUs {quoted(cells['cpus'])} are not all in service: {quoted(cells['online'])}", line)
    if cores > len(cpus):
        raise OutputError(f"{cores} cores of {len(cpus)} CPUs: the output is damaged", line)


def _require_cpu_list(text: str, line: int) -> None:
    """Raise :class:`OutputError` unless a text is a CPU list or ``-``."""
    well_formed = re.fullmatch(r"-|[0-9]{1,6}(-[0-9]{1,6})?(,[0-9]{1,6}(-[0-9]{1,6})?)*", text)
    ranges = [part.split("-") for part in text.split(",")] if well_formed and text != "-" else []
    ends = [int(end) for each in ranges for end in each]
    if not well_formed or any(later <= end for end, later in itertools.pairwise(ends)):
        raise OutputError(f"a list of CPUs was expected, found {quoted(text)}", line)
