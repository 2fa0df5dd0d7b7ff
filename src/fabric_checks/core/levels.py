# SPDX-License-Identifier: BSD-3-Clause
"""Levels: how much of the collection a run is, from a few minutes after maintenance to everything.

A level is a tag, which its cases have, and a mode of ReFrame, which selects that tag and sets how often the
cases run. ``smoke``, ``nightly`` and ``acceptance`` each include the one before, so that their values share
one history. A check declares its levels as ``levels``, a :class:`Levels`; every case is in ``acceptance``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

#: A case of the level ``smoke`` runs on no more nodes than this.
SMOKE_NODES = 2

SMOKE, NIGHTLY, ACCEPTANCE, PROCUREMENT = (
    "smoke",
    "nightly",
    "acceptance",
    "procurement",
)
#: The tag of the cases that measure every node of a layout and name the slow ones; the mode of its name runs
#: those of a night. `ci/run --mode vet` goes on where that fails.
VET = "vet"

#: The cases of a check that a level has: all, none, or those with one of some values of each parameter named.
Cases = bool | Mapping[str, Collection[str]]


@dataclass(frozen=True)
class Levels:
    """Select the levels of a check's cases other than ``acceptance``.

    :param nightly: at the corners of the layouts (:func:`fabric_checks.core.layouts.corners`); those on at
        most
        :data:`SMOKE_NODES` nodes are in ``smoke`` as well.
    :param procurement: in all layouts; bids are compared by them.
    :param ppn_ratio: of the check's comparison of one process a node with more, those on at most
        :data:`SMOKE_NODES` nodes: in ``smoke`` and ``nightly``.
    :param vet: those that measure every node of a layout and name the slow ones: they have the tag
        :data:`VET`.
    """

    nightly: Cases = False
    procurement: Cases = False
    ppn_ratio: Cases = False
    vet: Cases = False


def includes(cases: Cases, check: object) -> bool:
    """Return whether a check is one of some cases, by its attributes."""
    if isinstance(cases, bool):
        return cases
    return all(str(getattr(check, name)) in values for name, values in cases.items())


@dataclass(frozen=True)
class Level:
    """One level.

    :param name: also the name of its tag and of its mode.
    :param passes: how often every case runs, one pass through all of them after the other. Launches differ
        more from each other than the repetitions within one launch, and those hours apart more than those
        seconds apart; five are what `compare` and `references propose` ask for.
    :param confirm: how often a case that misses a reference is measured again, on the same nodes, before that
        counts. Not where every case runs several times, and never where offers are judged: nobody gets
        another try.
    :param validates: whether programs that can verify the data that they transfer do so, in a launch of its
        own.
    """

    name: str
    passes: int = 1
    confirm: int = 0
    validates: bool = False

    def options(self) -> list[str]:
        """Return the options of ReFrame that make the level."""
        reruns = [f"--reruns={self.passes - 1}"] if self.passes > 1 else []
        validates = ["--setvar=verify_data=true"] if self.validates else []
        return [f"--tag=^{self.name}$", *reruns, *validates]


#: The levels by name.
LEVELS = {
    # After maintenance: on few nodes.
    SMOKE: Level(SMOKE, confirm=2),
    # Every night: at the ends of the layouts, on all nodes.
    NIGHTLY: Level(NIGHTLY, confirm=2),
    # Everything, in all layouts.
    ACCEPTANCE: Level(ACCEPTANCE, passes=5, validates=True),
    # Bids are compared by it, in all layouts.
    PROCUREMENT: Level(PROCUREMENT, passes=5, validates=True),
}


def modes() -> list[dict[str, Any]]:
    """Return the levels, and the mode of a vet, as ReFrame's configuration has modes."""
    options = {name: level.options() for name, level in LEVELS.items()}
    options[VET] = [*options[NIGHTLY], f"--tag=^{VET}$"]
    return [{"name": name, "options": of} for name, of in options.items()]
