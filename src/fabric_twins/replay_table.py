# SPDX-License-Identifier: BSD-3-Clause
"""Read what ``fabric-checks replay --table`` prints: the run time of a traced program in each layout of a twin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fabric_checks.core.errors import OutputError
from fabric_checks.core.layouts import Layout
from fabric_checks.parsers import fabric
from fabric_checks.parsers.table import number, require_keys, whole

#: Both times are printed to nine decimals.
_DECIMALS = 9


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
    _, rows = fabric.parse(text, "replay-series", ("nodes", "ppn", "run_s", "compute_s"))
    found: list[tuple[int, tuple[int, int]]] = []
    times = {}
    for line, cells in rows:
        nodes, ppn = (whole(cells[key], line, "a number of nodes and of processes") for key in ("nodes", "ppn"))
        run_s, compute_s = (_seconds(cells[key], line) for key in ("run_s", "compute_s"))
        if compute_s > run_s * (1 + 1e-6):
            raise OutputError(f"{compute_s} s of computation is more than the run time of {run_s} s", line)
        found.append((line, (nodes, ppn)))
        times[Layout(nodes, ppn)] = Replayed(run_s, compute_s)
    require_keys(found, [(each.nodes, each.ppn) for each in layouts], ("nodes", "ppn"))
    return times


def _seconds(text: str, line: int) -> float:
    value = number(text, line)
    if value <= 0 or len(text.partition(".")[2]) != _DECIMALS:
        raise OutputError(f"a time above zero with {_DECIMALS} decimals was expected, found {text[:40]!r}", line)
    return value
