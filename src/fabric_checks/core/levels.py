# SPDX-License-Identifier: BSD-3-Clause
"""Levels: how much of the collection a run is, from a few minutes after maintenance to all there is.

A level is a tag, which its cases have, and a mode of ReFrame, which chooses that tag and says how often the cases run.
Each of the first three has what the one before it has, so that their values have one history.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

#: A case of the level ``smoke`` runs on no more nodes than this.
SMOKE_NODES = 2


@dataclass(frozen=True)
class Level:
    """One level.

    :param name: also the name of its tag and of its mode.
    :param passes: how often every case runs, one pass through all of them after the other. Launches differ more from
        each other than what one launch repeats, and those hours apart more than those seconds apart; five are what
        `compare` and `references propose` ask for.
    """

    name: str
    passes: int = 1

    def options(self) -> list[str]:
        """Return the options of ReFrame that make the level."""
        reruns = [f"--reruns={self.passes - 1}"] if self.passes > 1 else []
        return [f"--tag=^{self.name}$", *reruns]


#: The levels by name.
LEVELS = {
    level.name: level
    for level in (
        Level("smoke"),  # after maintenance: the short checks, on few nodes
        Level("nightly"),  # every night: the short checks, at the ends of the layouts, on all nodes
        Level("acceptance", passes=5),  # all there is, in all layouts
        Level("procurement", passes=5),  # what bids are compared by, in all layouts
    )
}


#: The tag of the cases that measure every node of a layout and name the slow ones; the mode of its name runs those of a
#: night. `ci/run --mode vet` goes on where that fails.
VET = "vet"


def modes() -> list[dict[str, Any]]:
    """Return the levels, and :data:`VET`, as ReFrame's configuration has modes."""
    vet = {"name": VET, "options": [*LEVELS["nightly"].options(), f"--tag=^{VET}$"]}
    return [*({"name": level.name, "options": level.options()} for level in LEVELS.values()), vet]
