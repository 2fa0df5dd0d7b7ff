# SPDX-License-Identifier: BSD-3-Clause
"""Output of our program ``placement``: the node and the cores of each rank."""

from __future__ import annotations

import re
from dataclasses import dataclass

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.parsers import fabric


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
        if not re.fullmatch(r"-|[0-9-]{1,7}:[0-9-]{1,7}(,[0-9-]{1,7}:[0-9-]{1,7})*", cells["cores"]):
            raise OutputError(f"a list of cores was expected, found {quoted(cells['cores'])}", line)
        node = cells["host"] if cells["node"] == "-" else cells["node"]
        cores: frozenset[str] = frozenset() if cells["cores"] == "-" else frozenset(cells["cores"].split(","))
        ranks.append(RankPlace(len(ranks), cells["host"], node, cells["cpus"], cores, cells["online"]))
    return PlacementOutput(output.header["mpi"], output.header["compiler"], tuple(ranks))


def cpu_numbers(text: str) -> frozenset[int]:
    """Return the CPUs of a Linux CPU list such as ``0-3,8``; none for ``-``."""
    numbers: set[int] = set()
    for part in text.split(",") if text != "-" else ():
        first, _, last = part.partition("-")
        numbers.update(range(int(first), int(last or first) + 1))
    return frozenset(numbers)


def _require_cpu_list(text: str, line: int) -> None:
    """Raise :class:`OutputError` unless a text is a CPU list or ``-``."""
    well_formed = re.fullmatch(r"-|[0-9]{1,6}(-[0-9]{1,6})?(,[0-9]{1,6}(-[0-9]{1,6})?)*", text)
    ranges = [part.split("-") for part in text.split(",")] if well_formed and text != "-" else []
    if not well_formed or any(int(ends[0]) > int(ends[-1]) for ends in ranges):
        raise OutputError(f"a list of CPUs was expected, found {quoted(text)}", line)
