# SPDX-License-Identifier: BSD-3-Clause
"""Output of our program ``placement``: the node and the cores of each rank."""

from __future__ import annotations

from dataclasses import dataclass

from fabric_checks.core.errors import OutputError
from fabric_checks.parsers import fabric

TABLE = fabric.Table(
    "placement",
    {
        "rank": fabric.COUNT,
        "host": fabric.TEXT,
        "node": fabric.TEXT,
        "cpu": fabric.count(-1),  # -1: a simulated rank has none
        "cpus": fabric.TEXT,
        "cores": fabric.TEXT,
        "online": fabric.TEXT,
    },
    keys=("rank",),
)


@dataclass(frozen=True)
class RankPlace:
    """The placement of one rank.

    :param rank: its rank in MPI_COMM_WORLD.
    :param host: MPI_Get_processor_name.
    :param node: the scheduler's name of the node, or ``host`` where the scheduler gives none.
    :param cpus: the CPUs it was allowed to use, as a Linux CPU list such as ``0-3,8``; ``-`` where the kernel
        does not show them.
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

    :raises OutputError: if the output is not whole, or is that of several worlds of one rank each, as with
        the launcher of another MPI.
    """
    output = fabric.read(text, TABLE)
    columns = output.columns
    if (ranks := fabric.number_of(output.header, "ranks")) != len(columns["rank"]):
        raise OutputError(f"{ranks} ranks ran, but {len(columns['rank'])} are listed")
    places = []
    for row in zip(*columns.values(), strict=True):
        rank, host, node, _, cpus, cores, online = row
        own = frozenset(cores.split(",")) - {"-"}
        places.append(
            RankPlace(rank, host, host if node == "-" else node, cpus, own, online)
        )
    return PlacementOutput(
        output.header["mpi"], output.header["compiler"], tuple(places)
    )


def cpu_numbers(text: str) -> frozenset[int]:
    """Return the CPUs of a Linux CPU list such as ``0-3,8``; none for ``-``."""
    numbers: set[int] = set()
    for part in text.split(",") if text != "-" else ():
        first, _, last = part.partition("-")
        numbers.update(range(int(first), int(last or first) + 1))
    return frozenset(numbers)
