# SPDX-License-Identifier: BSD-3-Clause
"""Layouts: how many nodes and how many processes on each."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from fabric_checks.core.errors import FabricError
from fabric_checks.core.metrics import powers_of_two

#: One process on every core of a node.
FULL = "full"


@dataclass(frozen=True, order=True)
class Layout:
    """Nodes times processes a node, written ``2x4``."""

    nodes: int
    ppn: int

    @property
    def tasks(self) -> int:
        """The number of processes."""
        return self.nodes * self.ppn

    def __str__(self) -> str:
        """Return the layout as users write it."""
        return f"{self.nodes}x{self.ppn}"

    @classmethod
    def of(cls, text: str) -> Layout:
        """Read a layout such as ``2x4``; raise ValueError for anything else."""
        match = re.fullmatch(r"([1-9]\d*)x([1-9]\d*)", text)
        if match is None:
            raise ValueError(
                f"{text!r} is not a layout; write nodes x processes a node, as in 2x4"
            )
        return cls(int(match[1]), int(match[2]))


def fitting(
    nodes: int, cores: int, ppn: Iterable[int | str] | None = None
) -> list[Layout]:
    """Return every layout of the collection that fits ``nodes`` nodes of ``cores`` cores each.

    The nodes go through the powers of two and end at all there are: 1, 2, 4, ... So do the processes a node,
    unless they are given.

    :param ppn: numbers of processes a node; :data:`FULL` stands for one on every core. 1, 2 and all are
        always among them: most checks are between two processes, and what they are compared with has one.
    :raises FabricError: for a number that the cores do not allow.
    """
    return [Layout(n, each) for n in steps(nodes) for each in _processes(cores, ppn)]


def _processes(cores: int, ppn: Iterable[int | str] | None) -> list[int]:
    if ppn is None:
        return steps(cores)
    counts = {cores if count == FULL else int(count) for count in ppn}
    if wrong := [count for count in counts if not 1 <= count <= cores]:
        raise FabricError(
            f"ppn has {wrong[0]}; a node has {cores} cores, so write 1 to {cores}, or {FULL!r}"
        )
    return sorted(counts | {1, min(2, cores), cores})


def corners(layouts: Iterable[Layout]) -> list[Layout]:
    """Return the ends of a scan: on the fewest and on the most nodes, the fewest and the most processes a
    node.

    At most four remain, however large the system is.

    >>> " ".join(map(str, corners(of_shape("several", fitting(8, 4)))))
    '1x2 1x4 8x1 8x4'
    """
    ordered = sorted(layouts)
    ends: set[Layout] = set()
    for at in ordered[:1] + ordered[-1:]:
        alike = [layout for layout in ordered if layout.nodes == at.nodes]
        ends |= {alike[0], alike[-1]}
    return sorted(ends)


def steps(count: int) -> list[int]:
    """Return 1, 2, 4, ... and ``count`` itself: the steps of a scan over nodes, or over the processes on one.

    >>> steps(6)
    [1, 2, 4, 6]
    """
    return sorted({*powers_of_two(1, count), count}) if count >= 1 else []


#: The layouts that a program can run on: exactly two processes, an even number, at least two, a ring whose
#: processes have two neighbours each, or any number.
SHAPES: dict[str, Callable[[Layout], bool]] = {
    "pair": lambda layout: layout.tasks == 2,
    "pairs": lambda layout: layout.tasks % 2 == 0,
    "several": lambda layout: layout.tasks >= 2,
    "ring": lambda layout: layout.tasks >= 3,
    "any": lambda layout: layout.tasks >= 1,
}


#: Processes of a check of all pairs: the matrix of more is not analysed
#: (:data:`fabric_checks.analysis.pair_matrix.MOST_PAIRS`).
MOST_OF_ALL_PAIRS = 10_240


def of_shape(shape: str, layouts: Iterable[Layout]) -> list[Layout]:
    """Return those of ``layouts`` that a program of this shape (a key of :data:`SHAPES`) can run on.

    :raises ValueError: for an unknown shape.
    """
    if shape not in SHAPES:
        raise ValueError(f"unknown shape {shape!r}; use one of {', '.join(SHAPES)}")
    return [layout for layout in layouts if SHAPES[shape](layout)]
