# SPDX-License-Identifier: BSD-3-Clause
"""Write docs/detection.md: `python -m tests.faults --trials 40 --processes 2 > docs/detection.md`."""

import argparse
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from tests.faults.trials import NOISES, Trial, outcomes

#: Bounds were set while looking at seeds below this one; what is written is of those from it on. Who looks at the page
#: and changes a bound moves it up.
FIRST_SEED = 2_000_000
#: A round of three tests of ten messages of 8 MiB at this rate, for node-minutes.
LINK_GBps = 12.5
ROUND_s = 3 * 10 * 8 * 2**20 / (LINK_GBps * 1e9)

KINDS = ("host", "host sends", "host receives", "pair", "cable", "cable, one way", "switch", "leaf", "host and cable")
HEAD = "| fault | loss | nodes | found | named | among | part | pairs | wrong | missed | rounds | node-min |"


def plans(trials):
    """Return titles, trials under each and how often each is done."""
    few = max(trials // 4, 1)
    some = max(trials // 2, 1)
    yield (
        "Healthy",
        "whoever is blamed is blamed wrongly",
        [
            (Trial("healthy", 0.0, nodes, noise=noise, table=table), 2 * trials)
            for table in ("d-mod-k", "random")
            for noise in NOISES
            for nodes in (16, 64)
        ],
    )
    yield (
        "Fat tree of two levels, d-mod-k, routes known",
        "noise 3 %",
        [
            *(
                (Trial(kind, 0.2, nodes), trials if nodes < 512 else few)
                for kind in KINDS
                for nodes in (16, 64, 128, 512)
            ),
            *(
                (Trial(kind, 0.1, nodes), some)
                for kind in ("host", "host sends", "host receives")
                for nodes in (16, 64)
            ),
        ],
    )
    for known, title in (("switches", "switches known, routes not"), ("nothing", "nothing known")):
        yield (
            f"Fat tree of two levels, d-mod-k, {title}",
            "noise 3 %",
            [(Trial(kind, 0.2, nodes, known=known), some) for kind in KINDS for nodes in (16, 64, 128)],
        )
    for known, title in (("routes", "routes known"), ("switches", "switches known, routes not")):
        yield (
            f"Fat tree of two levels, random tables, {title}",
            "noise 3 %",
            [(Trial(kind, 0.2, nodes, table="random", known=known), some) for kind in KINDS for nodes in (16, 64, 128)],
        )
    for shape, nodes in (("fat tree 3", 128), ("dragonfly", 128)):
        yield (
            f"{shape.capitalize()}, d-mod-k, routes known",
            "noise 3 %",
            [(Trial(kind, 0.2, nodes, shape=shape), some) for kind in KINDS],
        )


def row(trial, found, wrong, rounds):
    """Return a line of the table."""
    count = sum(found.values())
    cells = [
        f"{trial.kind}{', ' + trial.noise + ', ' + trial.table if trial.kind == 'healthy' else ''}",
        f"{100 * trial.severity:.0f} %" if trial.severity else "",
        trial.nodes,
    ]
    named = found["right"]
    if trial.kind == "healthy":
        cells += ["", f"{named} of {count} quiet", "", "", ""]
    else:
        cells += [
            count - found["missed"],
            f"{named} of {count}",
            found["among"] or "",
            found["part"] or "",
            found["symptom"] or "",
        ]
    blamed = ", ".join(f"{what} {times}" for what, times in wrong.most_common(3))
    cells += [
        f"{found['wrong']} ({blamed})" if found["wrong"] else "",
        found["missed"] or "",
        f"{rounds:.0f}",
        f"{rounds * trial.nodes * ROUND_s / 60:.2g}",
    ]
    return "| " + " | ".join(map(str, cells)) + " |"


def main():
    """Do all trials and print the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=40, help="of each kind and number of nodes")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED)
    asked = parser.parse_args()
    command = f"python -m tests.faults --trials {asked.trials} --first-seed {asked.first_seed}"
    print(INTRODUCTION.format(command=command, first=asked.first_seed, link=LINK_GBps, round_ms=1000 * ROUND_s))
    totals = Counter()
    with ProcessPoolExecutor(asked.processes, mp_context=get_context("spawn")) as pool:
        for title, remark, rows in plans(asked.trials):
            print(f"\n## {title}\n\n{remark[0].upper()}{remark[1:]}.\n\n{HEAD}\n{'|---' * 12}|")
            tasks = [(trial, range(asked.first_seed, asked.first_seed + count)) for trial, count in rows]
            for trial, found, wrong, rounds in pool.map(outcomes, tasks):
                print(row(trial, found, wrong, rounds), flush=True)
                for word, times in found.items():
                    totals["healthy " + word if trial.kind == "healthy" else word] += times
    faulty = sum(times for word, times in totals.items() if not word.startswith("healthy"))
    healthy = sum(times for word, times in totals.items() if word.startswith("healthy"))
    print(
        f"\n## In total\n\n{faulty} runs with faults: {totals['right']} named rightly and nothing else, "
        f"{totals['among']} among several that explain as much, {totals['part']} in part, {totals['symptom']} by "
        f"pairs only, {totals['wrong']} with something else blamed, {totals['missed']} missed. {healthy} healthy "
        f"runs: {totals['healthy wrong']} blamed somebody."
    )
    print(OTHERS)


INTRODUCTION = """# What is found, and whom it blames

*Made by `{command}`; do not edit.*

A laboratory in numpy stands for the fabric: flows share cables max-min fairly, routes are those of `fabric_twins`, and
measurements have noise. What `rotate --pattern round-robin --confirm` measures there, by the program's own rules, is
analysed as any other run is; the analysis knows as much of the fabric as the title says. One fault, or two, is drawn
from each seed. It is a model: real fabrics route adaptively, and their noise has shapes that nobody thought of. The
bounds were set while looking at seeds below 2,000,000; the tables are of seeds from {first:,} on.

- *found*: something is said to be slow; *named*: all that is at fault, by its name, and nothing else.
- *among*: the same, with other parts named that explain what was measured as well.
- *part*: one of two faults; *pairs*: pairs that pass through the fault, and no part.
- *wrong*: something that is not at fault is blamed, by kind; *missed*: nothing is blamed.
- *rounds*: of all phases, on average; *node-min*: these on all nodes, at {round_ms:.0f} ms a round, as ten messages of
  8 MiB three times take at {link} GB/s. `3 %` is the spread of one measurement.

The level is `nightly`: N/2 rounds of the scan, and N/2 + 64 log2 N at most to confirm."""

OTHERS = """
## What bandwidth between pairs cannot see

| fault | what sees it |
|---|---|
| a cable or a spine is dead, and routed around | only sharing grows: `full_rate_share` falls, no part is named |
| a leaf has fewer uplinks than it should | the same; medians within and between switches differ |
| two cables swapped | every pair still runs at full rate alone; nothing is named by bandwidth |
| a host's CPU or memory slow | only if it slows its messages down; LAMMPS: not tried here |
| latency up by 20 % | `OsuLatency`, `Streaming`: not tried here |
| two ranks on a core, a rank on the wrong node | the placement probe of every job: not tried here |
| shared memory off, eager threshold moved, progress lost | the curves of `Streaming`, `Overlap`: not tried here |
| another version of a program, half of the nodes replaced | fields of the record, changes over time: not tried here |
| a program that prints plausible nonsense | the parsers refuse what contradicts itself; the rest nothing sees |
"""

if __name__ == "__main__":
    sys.exit(main())
