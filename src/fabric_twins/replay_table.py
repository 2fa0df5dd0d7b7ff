# SPDX-License-Identifier: BSD-3-Clause
"""Read what ``fabric-checks replay --table`` prints: the run time of a traced program in each layout of a
twin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fabric_checks.core.errors import OutputError
from fabric_checks.core.layouts import Layout
from fabric_checks.parsers import fabric

TABLE = fabric.Table(
    "replay-series",
    {
        "nodes": fabric.COUNT,
        "ppn": fabric.COUNT,
        "run_s": fabric.POSITIVE,
        "compute_s": fabric.POSITIVE,
    },
    keys=("nodes", "ppn"),
)


@dataclass(frozen=True)
class Replayed:
    """A trace in one layout.

    :param run_s: its run time in s; :param compute_s: of that the computation of a rank, the mean of all.
    """

    run_s: float
    compute_s: float

    @property
    def communication_percent(self) -> float:
        """The percentage of the run time in which a rank does not compute, waiting included."""
        return 100 * (1 - self.compute_s / self.run_s)


def parse(text: str, layouts: Sequence[Layout]) -> dict[Layout, Replayed]:
    """Read the output.

    :param layouts: the layouts that were asked for, in order.
    :raises OutputError: if it is not whole or its values are not believable.
    """
    columns = fabric.read(
        text, TABLE, [(each.nodes, each.ppn) for each in layouts]
    ).columns
    for run_s, compute_s in zip(columns["run_s"], columns["compute_s"], strict=True):
        if compute_s > run_s * (1 + 1e-6):
            raise OutputError(
                f"{compute_s} s of computation is more than the run time of {run_s} s"
            )
    times = zip(columns["run_s"], columns["compute_s"], strict=True)
    return {
        layout: Replayed(*each) for layout, each in zip(layouts, times, strict=True)
    }
