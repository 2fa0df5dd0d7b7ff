# SPDX-License-Identifier: BSD-3-Clause
"""``python -m lab.fluid ROW... --trials N --first-seed S --jobs 2``: how often the verb ``rotate`` is
right."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from lab import files, harness

from . import scoring
from .machine import Machine
from .scenarios import CLAIMS, ROWS, Scenario

#: Routing as the verb calls it.
KNOWN_AS = {
    "static": "static",
    "adaptive": "adaptive",
    "spray": "adaptive",
    "hash": "hashed",
    "message": "hashed",
}


def files_of(at: Scenario, folder: Path) -> list[Path]:
    """Write the topology files that a run is analysed with."""
    fabric, net = at.printed or at.fabric, "net.txt"
    known = {
        "full": [net, "lfts.txt"],
        "switches": [net],
        "slurm": ["topology.conf"],
        "nothing": [],
    }[at.know]
    texts = {
        net: lambda: files.ibnetdiscover(fabric, at.swapped),
        "lfts.txt": lambda: files.lfts(fabric, at.stale),
        "topology.conf": lambda: files.slurm(fabric),
    }
    for name in known:
        (folder / name).write_text(texts[name]())
    return [folder / name for name in known]


def groups_of(at: Scenario) -> list[int]:
    """Return the group of each node for ``rotate --groups``: its leaf by the map, numbered by their lowest
    ranks."""
    if at.know == "nothing":
        return []
    places = at.swapped or list(range(at.fabric.nodes))
    leaf = [int(at.fabric.leaf[places.index(node)]) for node in range(at.fabric.nodes)]
    order = list(dict.fromkeys(leaf))
    return [order.index(each) for each in leaf]


@dataclass(frozen=True)
class Way:
    """How trials are run; see the options of the command."""

    nodes: int
    groups: bool
    routing: bool
    keep: str

    def trial(self, row: str, seed: int) -> tuple[list[str] | None, str]:
        """Run one trial; return the columns in which it counts, and what was wrong and blamed."""
        rng = np.random.default_rng([seed, zlib.crc32(row.encode())])
        at = ROWS[row].build(rng, self.nodes)
        run, status = self._run(row, seed, at, rng)
        if claim := ROWS[row].claim:
            size = scoring.limits(run).get(claim, 1.0)
            if size >= 0.95:
                return None, f"{at.know}: no claim"
            at.fabric.levels.clear()
            CLAIMS[claim](rng, at, size)
            run, status = self._run(row, seed, at, rng)
        score = scoring.score(run, status, at)
        if claim and not (score.alone or score.among):
            score = replace(score, false_limit=True)
        where = f"{at.know} {at.fabric.routing} {at.fabric.table}: {_truth(at)}"
        columns = score.columns(has_faults=bool(at.faults))
        return columns, f"{where}: {'; '.join(score.blames)}"

    def _run(
        self, row: str, seed: int, at: Scenario, rng: np.random.Generator
    ) -> tuple[dict[str, Any], int]:
        """Return what the verb prints about a run, and its exit status."""
        text = Machine(at.fabric, rng, tail=at.tail).run(
            (self.nodes + 1) // 2, groups_of(at) if self.groups else ()
        )
        options = []
        if self.routing and (at.fabric.routing == "static" or seed % 2):
            options = ["--routing", KNOWN_AS[at.fabric.routing]]
        with harness.folder_of(f"{row}-{seed}", self.keep) as here:
            (here / "output.txt").write_text(text)
            document, status = harness.verb(
                [here / "output.txt"], files_of(at, here), options
            )
        (run,) = document["runs"].values()
        return run, status


def _truth(at: Scenario) -> str:
    parts = [
        f"{each.kind} {'/'.join(sorted(each.names)[:2])} {each.size:.2f}"
        for each in at.faults
    ]
    return "; ".join(parts) or "healthy"


def main() -> None:
    """Print the table."""
    parser = harness.options("lab.fluid", __doc__)
    parser.add_argument("--nodes", type=int, default=32)
    parser.add_argument(
        "--groups",
        action="store_true",
        help="with the phase leaf, where the leaves are known",
    )
    parser.add_argument(
        "--routing",
        action="store_true",
        help="tell the verb; where it is not static in half of all",
    )
    harness.keeping(parser)
    given = parser.parse_args()
    way = Way(given.nodes, given.groups, given.routing, given.keep)
    harness.table(given, ROWS, scoring.COLUMNS, way.trial)


if __name__ == "__main__":
    main()
