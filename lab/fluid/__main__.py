# SPDX-License-Identifier: BSD-3-Clause
"""``python -m lab.fluid ROW... --trials N --first-seed S --jobs 2``: how often the verb ``rotate`` is
right."""

from __future__ import annotations

import argparse
import fnmatch
import tempfile
import zlib
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from . import files, latency, scoring
from .latency import LATENCY_ROWS
from .machine import Machine
from .scenarios import CLAIMS, ROWS, Scenario

_COLUMNS = (
    "alone",
    "among",
    "observed",
    "missed",
    "healthy",
    "false limit",
    "exit not 0",
    "crashed",
)
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
    shifts: int
    groups: bool
    routing: bool
    options: tuple[str, ...]
    keep: str

    def trial(self, row: str, seed: int) -> tuple[int, scoring.Score | None, str]:
        """Run one trial; return its seed, its outcome, and what was wrong."""
        rng = np.random.default_rng([seed, zlib.crc32(row.encode())])
        if row in LATENCY_ROWS:
            at, text = LATENCY_ROWS[row].build(rng, self.nodes)
            with self._folder(row, seed, text) as here:
                run, status = latency.evaluate(text, files_of(at, here))
            return seed, scoring.score(run, status, at), f"{at.know}: {_truth(at)}"
        at = ROWS[row].build(rng, self.nodes)
        run, status = self._run(row, seed, at, rng)
        if claim := ROWS[row].claim:
            size = scoring.limits(run).get(claim, 1.0)
            if size >= 0.95:
                return seed, None, f"{at.know}: no claim"
            at.fabric.levels.clear()
            CLAIMS[claim](rng, at, size)
            run, status = self._run(row, seed, at, rng)
        score = scoring.score(run, status, at)
        if ROWS[row].claim and not (score.alone or score.among):
            score = replace(score, false_limit=True)
        return (
            seed,
            score,
            f"{at.know} {at.fabric.routing} {at.fabric.table}: {_truth(at)}",
        )

    def _run(
        self, row: str, seed: int, at: Scenario, rng: np.random.Generator
    ) -> tuple[dict[str, Any], int]:
        """Return what the verb prints about a run, and its exit status."""
        shifts = (self.nodes + 1) // 2 if self.shifts < 0 else self.shifts
        text = Machine(at.fabric, rng, tail=at.tail).run(
            shifts, groups_of(at) if self.groups else ()
        )
        options = [*self.options, *ROWS[row].options]
        if self.routing and (at.fabric.routing == "static" or seed % 2):
            options += ["--routing", KNOWN_AS[at.fabric.routing]]
        with self._folder(row, seed, text) as here:
            document, status = scoring.verb(
                [here / "output.txt"], files_of(at, here), options
            )
        (run,) = document["runs"].values()
        return run, status

    @contextmanager
    def _folder(self, row: str, seed: int, text: str) -> Iterator[Path]:
        """Yield a folder with the output of the program, which is kept if asked for."""
        with tempfile.TemporaryDirectory() as folder:
            here = (
                Path(self.keep) / f"{row.replace(' ', '_')}-{seed}"
                if self.keep
                else Path(folder)
            )
            here.mkdir(parents=True, exist_ok=True)
            (here / "output.txt").write_text(text)
            yield here


def _truth(at: Scenario) -> str:
    parts = [
        f"{each.kind} {'/'.join(sorted(each.names)[:2])} {each.size:.2f}"
        for each in at.faults
    ]
    return "; ".join(parts) or "healthy"


def line(row: str, scores: list[scoring.Score], has_faults: bool) -> str:
    """Return a line of the table."""
    found = [
        (
            at.alone,
            at.among,
            at.observed,
            not (at.alone or at.among),
            at.healthy,
            at.false_limit,
            at.status != 0,
            at.crash != "",
        )
        for at in scores
    ]
    counts = [sum(column) for column in zip(*found, strict=True)] or [0] * len(_COLUMNS)
    cells = [
        str(count) if has_faults or index > 3 else "-"
        for index, count in enumerate(counts)
    ]
    return (
        f"| {row:38} | {len(scores):6} | "
        + " | ".join(f"{cell:>11}" for cell in cells)
        + " |"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m lab.fluid", description=__doc__)
    parser.add_argument(
        "rows",
        nargs="*",
        default=["*"],
        metavar="ROW",
        help="names or patterns; default: all",
    )
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument("--first-seed", type=int, required=True)
    parser.add_argument("--nodes", type=int, default=32)
    parser.add_argument(
        "--shifts",
        type=int,
        default=-1,
        help="rounds of the scan; 0: all; default: as in a night",
    )
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
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--options", default="", help="further options of the verb rotate"
    )
    parser.add_argument(
        "--keep",
        default="",
        metavar="FOLDER",
        help="keep outputs and topology files here",
    )
    parser.add_argument("--details", action="store_true", help="print each trial too")
    given = parser.parse_args()
    rows = [
        row
        for row in (*ROWS, *LATENCY_ROWS)
        if any(fnmatch.fnmatch(row, pattern) for pattern in given.rows)
    ]
    if not rows:
        parser.error(f"no such row; there are: {'; '.join((*ROWS, *LATENCY_ROWS))}")
    print(
        f"{given.nodes} nodes; seeds {given.first_seed} to {given.first_seed + given.trials - 1}\n"
    )
    print(
        f"| {'row':38} | trials | "
        + " | ".join(f"{name:>11}" for name in _COLUMNS)
        + " |"
    )
    print(f"|{'-' * 40}|{'-' * 8}|" + "|".join("-" * 13 for _ in _COLUMNS) + "|")
    seeds = range(given.first_seed, given.first_seed + given.trials)
    options = tuple(given.options.split())
    way = Way(
        given.nodes, given.shifts, given.groups, given.routing, options, given.keep
    )
    with ProcessPoolExecutor(given.jobs) as pool:
        for row in rows:
            outcomes = list(pool.map(partial(way.trial, row), seeds))
            has_faults = any("healthy" not in what for _, _, what in outcomes)
            print(
                line(row, [score for _, score, _ in outcomes if score], has_faults),
                flush=True,
            )
            for seed, score, what in outcomes if given.details else ():
                print(f"    {seed} {what}: {score}")


if __name__ == "__main__":
    main()
