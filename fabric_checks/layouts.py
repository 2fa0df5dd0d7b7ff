# SPDX-License-Identifier: BSD-3-Clause
"""Layouts: how many nodes and how many processes on each."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from fabric_checks.metrics import powers_of_two


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
            raise ValueError(f"{text!r} is not a layout; write nodes x processes a node, as in 2x4")
        return cls(int(match[1]), int(match[2]))


def fitting(nodes: int, cores: int) -> list[Layout]:
    """Return every layout of the collection that fits ``nodes`` nodes of ``cores`` cores each.

    Both counts go through the powers of two and end at all there is: 1, 2, 4, ... nodes, 1, 2, 4, ... cores.
    """
    return [Layout(n, ppn) for n in _up_to(nodes) for ppn in _up_to(cores)]


def _up_to(count: int) -> list[int]:
    return sorted({*powers_of_two(1, count), count}) if count >= 1 else []


def _is_pair(layout: Layout) -> bool:
    return layout.tasks == 2


def _is_pairs(layout: Layout) -> bool:
    return layout.tasks % 2 == 0


def _is_several(layout: Layout) -> bool:
    return layout.tasks >= 2


def _is_any(layout: Layout) -> bool:
    return layout.tasks >= 1


#: What a program can run on: exactly two processes, an even number, at least two, or any number.
SHAPES: dict[str, Callable[[Layout], bool]] = {
    "pair": _is_pair,
    "pairs": _is_pairs,
    "several": _is_several,
    "any": _is_any,
}


def of_shape(shape: str, layouts: Iterable[Layout]) -> list[Layout]:
    """Return those of ``layouts`` that a program of this shape (a key of :data:`SHAPES`) can run on."""
    return [layout for layout in layouts if SHAPES[shape](layout)]
