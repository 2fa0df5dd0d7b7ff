# SPDX-License-Identifier: BSD-3-Clause
"""Write lab/detection.md: `python -m lab.faults lab/detection.md --trials 40`; anew whenever some trials are
done."""

import argparse
import os
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from itertools import count
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from fabric_checks.core.files import write_text
from lab.faults.program import ROUND_s
from lab.faults.trials import NOISES, Trial, outcomes

#: Bounds were set while looking at seeds below this one; what is written is of those from it on. Who looks at
#: the page and changes a bound moves it up.
FIRST_SEED = 4_400_000
#: So many trials of a row are done before the next row has its turn: so many nodes in all, that time is spent
#: alike.
NODES_AT_ONCE = 256
#: Of few nodes that differ, and of a tenth, more are done: there it is decided whether a healthy node is
#: blamed.
MORE_OF_DIFFERING, MORE_OF_A_TENTH, FEW_NODES = 8, 4, 32

KINDS = (
    "host",
    "host sends",
    "host receives",
    "pair",
    "cable",
    "cable, one way",
    "switch",
    "leaf",
    "host and cable",
)
HEAD = "| fault | loss | nodes | found | named | among | part | pairs | wrong | missed | rounds | node-min |"


def plans(trials):
    """Return titles, trials under each and how often each is done."""
    few = max(trials // 3, 1)
    some = max(trials // 2, 1)
    yield (
        "Healthy",
        "whoever is blamed here is blamed wrongly",
        [
            (
                Trial("healthy", 0.0, nodes, noise=noise, table=table, known=known),
                2 * trials,
            )
            for table, known in (
                ("d-mod-k", "routes"),
                ("d-mod-k", "nothing"),
                ("random", "routes"),
            )
            for noise in NOISES
            for nodes in (16, 32, 64, 128)
        ],
    )
    yield (
        "Fat tree of two levels, d-mod-k, routes known",
        "noise 3 %",
        [
            *(
                (Trial(kind, 0.2, nodes), trials if nodes < 512 else few)
                for kind in KINDS
                for nodes in (16, 32, 64, 128, 512)
            ),
            *(
                (Trial(kind, 0.1, nodes), some)
                for kind in ("host", "host sends", "host receives")
                for nodes in (16, 32, 64)
            ),
        ],
    )
    for known, title in (
        ("switches", "switches known, routes not"),
        ("nothing", "nothing known"),
    ):
        yield (
            f"Fat tree of two levels, d-mod-k, {title}",
            "noise 3 %",
            [
                (Trial(kind, 0.2, nodes, known=known), some)
                for kind in KINDS
                for nodes in (16, 64, 128)
            ],
        )
    for known, title in (
        ("routes", "routes known"),
        ("switches", "switches known, routes not"),
    ):
        yield (
            f"Fat tree of two levels, random tables, {title}",
            "noise 3 %",
            [
                (Trial(kind, 0.2, nodes, table="random", known=known), some)
                for kind in KINDS
                for nodes in (16, 64, 128)
            ],
        )
    for shape, title in (
        ("fat tree 3", "Fat tree of three levels"),
        ("dragonfly", "Dragonfly"),
    ):
        for table, ways in (("d-mod-k", "d-mod-k"), ("random", "random tables")):
            yield (
                f"{title}, {ways}, routes known",
                "noise 3 %",
                [
                    (Trial(kind, severity, nodes, shape=shape, table=table), some)
                    for nodes in (32, 128)
                    for kind, severity in (
                        ("healthy", 0.0),
                        *((kind, 0.2) for kind in KINDS),
                    )
                ],
            )


def at_once(trial):
    """Return how many trials of a row are done in a turn."""
    some = max(NODES_AT_ONCE // trial.nodes, 1)
    if trial.nodes > FEW_NODES:
        return some
    if trial.noise == "nodes differ by 3 %":
        return MORE_OF_DIFFERING * some
    return MORE_OF_A_TENTH * some if trial.severity == 0.1 else some


@dataclass
class Row:
    """What became of the trials of one kind so far."""

    trial: Trial
    wanted: int
    found: Counter = field(default_factory=Counter)
    wrong: Counter = field(default_factory=Counter)
    rounds: float = 0.0

    @property
    def count(self):
        return sum(self.found.values())

    def add(self, found, wrong, rounds):
        self.rounds += rounds * sum(found.values())
        self.found.update(found)
        self.wrong.update(wrong)

    def __str__(self):
        """Return a line of the table."""
        trial, found, count = self.trial, self.found, self.count
        healthy = trial.kind == "healthy"
        name = (
            f"{trial.kind}, {trial.noise}, {trial.table}, {trial.known} known"
            if healthy
            else trial.kind
        )
        cells = [
            name,
            f"{100 * trial.severity:.0f} %" if trial.severity else "",
            trial.nodes,
        ]
        if healthy:
            cells += ["", f"{found['right']} of {count} quiet", "", "", ""]
        else:
            cells += [count - found["missed"], f"{found['right']} of {count}"]
            cells += [found["among"] or "", found["part"] or "", found["symptom"] or ""]
        blamed = ", ".join(
            f"{what} {times}" for what, times in self.wrong.most_common(3)
        )
        rounds = self.rounds / count
        cells += [
            f"{found['wrong']} ({blamed})" if found["wrong"] else "",
            found["missed"] or "",
        ]
        cells += [f"{rounds:.0f}", f"{rounds * trial.nodes * ROUND_s / 60:.2g}"]
        return "| " + " | ".join(map(str, cells)) + " |"


def totals(rows):
    """Return the sentence that counts all trials."""
    found = Counter()
    for row in rows:
        for word, times in row.found.items():
            found["healthy " + word if row.trial.kind == "healthy" else word] += times
    healthy = found["healthy right"] + found["healthy wrong"]
    faulty = found.total() - healthy
    return (
        f"{faulty:,} runs with faults: {found['right']:,} named rightly and nothing else named,"
        f" {found['among']} named among several that explain as much, {found['part']} named in part,"
        f" {found['symptom']} by pairs only, {found['wrong']} with something else blamed, {found['missed']}"
        f" missed. {healthy:,} healthy runs: {found['healthy wrong']} blamed somebody."
    )


def page(sections, command, first):
    """Return the page as far as its trials are done."""
    everything = [row for _, _, rows in sections for row in rows]
    lines = [INTRODUCTION.format(command=command, first=first, round_ms=1000 * ROUND_s)]
    lines += ["\n## In total\n", totals(everything)]
    for title, remark, rows in sections:
        done = [row for row in rows if row.count]
        if done:
            lines += [
                f"\n## {title}\n",
                f"{remark[0].upper()}{remark[1:]}.\n",
                HEAD,
                "|---" * 12 + "|",
                *map(str, done),
            ]
    undone = [
        title for title, _, rows in sections if not any(row.count for row in rows)
    ]
    if undone:
        lines.append(f"\nThere was no time for: {'; '.join(undone)}.")
    return "\n".join([*lines, ""])


def main():
    """Do the trials, some of every row and then more, and write the page anew whenever some are done."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", type=Path)
    parser.add_argument(
        "--trials", type=int, default=40, help="of each kind and number of nodes"
    )
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED)
    parser.add_argument(
        "--minutes",
        type=float,
        default=np.inf,
        help="what is not done by then is left out",
    )
    asked = parser.parse_args()
    end = time.monotonic() + 60 * asked.minutes
    command = f"python -m lab.faults {asked.page} --trials {asked.trials} --first-seed {asked.first_seed}"
    command += f" --minutes {asked.minutes:g}" if np.isfinite(asked.minutes) else ""
    sections = [
        (title, remark, [Row(*each) for each in rows])
        for title, remark, rows in plans(asked.trials)
    ]
    rows = [row for _, _, rows in sections for row in rows]
    for threads in ("POLARS_MAX_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(
            threads, "1"
        )  # of small tables: more only wait for each other
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        for turn in count():
            tasks = {}
            for row in rows:
                some = at_once(row.trial)
                begin, end_of_turn = (
                    min(each * some, row.wanted) for each in (turn, turn + 1)
                )
                seeds = range(asked.first_seed + begin, asked.first_seed + end_of_turn)
                if seeds:
                    tasks[pool.submit(outcomes, (row.trial, seeds))] = row
            if not tasks:
                return
            for done in as_completed(tasks):
                tasks[done].add(*done.result()[1:])
                write_text(asked.page, page(sections, command, asked.first_seed))
                if time.monotonic() > end:
                    pool.shutdown(cancel_futures=True)
                    return


INTRODUCTION = """# Faults on simulated fabrics: what is found, and whom it blames

*Made by `{command}`; do not edit. [What it means](../docs/detection.md).*

The fabric is a numpy model: flows share cables max-min fairly, routes are those of `fabric_twins`, and measurements
have noise. What `rotate --pattern round-robin --confirm` measures there, by the program's own rules, is analysed like
any other run; the analysis knows as much about the fabric as the title of the table says. Each seed draws one fault, or
two. This is only a model: real fabrics route adaptively, and their noise has shapes that nobody thought of. The bounds
were set while looking at seeds below 2,000,000, and two rules were corrected after seeds from 4,000,000 to 4,200,599
had shown them wrong; the tables are of seeds from {first:,} on, not seen before.

A dragonfly has eight routers in a group, all connected to each other, and two hosts at each; four ports of every router
lead to other groups, all routes are shortest ones, and all links are as fast as a host's. *leaf* is a switch with
hosts, *switch* one at an end of a randomly drawn cable; in a dragonfly both are routers, and traffic that only passes
through is slow as well. *cable* is any cable between switches: leaf to spine, spine to core, within a group or between
groups.

- *found*: something is reported as slow; *named*: everything at fault is named, and nothing else.
- *among*: the same, but among other parts that would explain the measurements equally well, in any order.
- *part*: one of two faults is named; *pairs*: only pairs that pass through the fault are named, and no part of the
  fabric.
- *wrong*: something that is not at fault is blamed, by kind; *missed*: nothing is blamed.
- *rounds*: of all phases, on average; *node-min*: their time on all nodes, at {round_ms:.0f} ms a round, which is what
  three times ten messages of 8 MiB take at 12.5 GB/s. `3 %` is the spread of one measurement.

The level is `nightly`: N/2 rounds for the scan, and at most N/2 + 80 log2 N to confirm. Each row has as many trials as
there was time for."""  # noqa: E501  (the text of lab/detection.md)


if __name__ == "__main__":
    sys.exit(main())
