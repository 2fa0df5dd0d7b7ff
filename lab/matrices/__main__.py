# SPDX-License-Identifier: BSD-3-Clause
"""``python -m lab.matrices lab/matrices.md --trials N --first-seed S``: how often the verb ``blame`` is
right."""

from __future__ import annotations

import argparse
import fnmatch
import json
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from lab import harness, matrices

from . import scoring
from .formats import WAYS, listed
from .machines import CONDITIONS, FAULTS, build

_NODES_WITH_DEVICES = 24
#: What a fault is compared with; from _TOLD on it looks like something else in what was measured.
_GROUPS = (
    "hosts and devices",
    "with a cable or pair: each pair alone",
    "with a cable or pair: at once, rounds and static routes known",
    "with a cable or pair: at once, then what is listed, alone, up to three times",
    "pair: two values, of both directions, and heavy tails",
    "with a cable between the only two leaves",
    "with a cable or pair: at once, rounds or routes unknown",
)
_TOLD = 4
#: Of so many seeds one is measured in the formats without repeats, which blame nobody.
_RARELY = 4


def trial(way_name: str, fault: str, seed: int, folder: Path) -> dict[str, Any]:
    """Return what each rule names in the files of one machine."""
    way = WAYS[way_name]
    most = min(way.most, _NODES_WITH_DEVICES if fault == "device .8" else 128)
    site = build(seed, fault, most)
    files: list[Path] = []
    for night in range(way.nights):
        files += way.write(site, folder, night)
    run, status = scoring.verb(files, site, folder, way.alone)
    measured: set[tuple[int, int]] = set()
    for look in range(way.looks):
        pairs = [
            (site.hosts.index(one), site.hosts.index(other))
            for (one, _), (other, _) in run["next"]
        ]
        if measured.issuperset(pairs):
            break
        measured.update(pairs)
        files += listed(site, folder / f"again-{look}.csv", [(0, pairs)], 3, alone=True)
        run, status = scoring.verb(files, site, folder, way.alone)
    fabric = site.at.fabric
    return {"way": way_name, "fault": fault, "seed": seed, "nodes": len(site.hosts),
            "condition": site.condition,
            "routing": f"static {fabric.table}" if fabric.routing == "static" else fabric.routing,
            "know": site.at.know, "leaves": len(fabric.leaves),
            "truth": [[fault.kind, *sorted(fault.names)] for fault in site.at.faults],
            "seen": build(seed, fault, most).sees(),
            "blame": asdict(scoring.ours(run, status, site))}  # fmt: skip


def _counts(records: Sequence[dict[str, Any]]) -> str:
    """Return the cells of named, half, missed and false; the first three only where there are faults."""
    verdicts = [record["blame"] for record in records]
    named, half, false = (
        sum(each[name] for each in verdicts) for name in ("named", "half", "false")
    )
    faulty = bool(records) and records[0]["fault"] != "healthy"
    return (
        f"{named} | {half} | {len(records) - named - half} | {false}"
        if faulty
        else f"- | - | - | {false}"
    )


def _group(record: dict[str, Any]) -> str:
    """Return what a fault is compared with: a cable or a pair shows only in pairs that are known to share
    nothing."""
    kinds, way = {kind for kind, *_ in record["truth"]}, WAYS[record["way"]]
    if not {"cable", "pair"} & kinds:
        return _GROUPS[0]
    known = (
        way.rounds
        and record["know"] == "full"
        and record["routing"].startswith("static")
    )
    if not (way.alone or way.looks or known):
        return _GROUPS[6]
    if "cable" in kinds and record["leaves"] == 2:
        return _GROUPS[5]
    if way.few and "pair" in kinds and record["condition"] == "heavy tails":
        return _GROUPS[4]
    return _GROUPS[1 if way.alone else 2 if known else 3]


def _table(rows: dict[str, list[dict[str, Any]]], first: str) -> list[str]:
    head = [
        f"| {first} | trials | named | half | missed | false |",
        "|---|---|---|---|---|---|",
    ]
    return head + [
        f"| {name} | {len(records)} | {_counts(records)} |"
        for name, records in rows.items()
    ]


def _share(part: int, whole: int) -> str:
    return f"{part} of {whole} ({part / whole:.1%})" if whole else "none"


def page(records: Sequence[dict[str, Any]], command: str) -> str:
    """Return the page of the results."""
    seeds = [record["seed"] for record in records]
    faulty = [
        record
        for record in records
        if record["fault"] != "healthy" and WAYS[record["way"]].repeats
    ]
    unseen = sum(not record["seen"] for record in faulty)
    faulty = [record for record in faulty if record["seen"]]
    lines = [
        "# Tables of pairs, and who is slow", "",
        f"Made by `{command}`; seeds {min(seeds)} to {max(seeds)}, {len(records)} trials.", "",
        *str(matrices.__doc__).splitlines()[1:], "",
        "## In all", "",
        "| faults named where pairs are measured more than once | half | named, and nothing else "
        "| of the distinguishable faults, named | trials in which something healthy was blamed |",
        "|---|---|---|---|---|",
    ]  # fmt: skip
    verdicts = [record["blame"] for record in faulty]
    named, half = (sum(each[name] for each in verdicts) for name in ("named", "half"))
    false = sum(record["blame"]["false"] for record in records)
    only = sum(each["named"] and not each["false"] for each in verdicts)
    told = [
        record["blame"]["named"]
        for record in faulty
        if _group(record) in _GROUPS[:_TOLD]
    ]
    cells = [
        _share(named, len(faulty)), str(half), _share(only, len(faulty)), _share(sum(told), len(told)),
        _share(false, len(records)),
    ]  # fmt: skip
    lines.append(f"| {' | '.join(cells)} |")
    by: dict[str, dict[str, list[dict[str, Any]]]] = {
        name: defaultdict(list) for name in WAYS
    }
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for record in sorted(records, key=lambda record: record["nodes"]):
        by[record["way"]][record["fault"]].append(record)
        if record in faulty:
            for name in (record["fault"], _group(record), record["condition"], f"routes {record['routing']}",
                         f"{record['nodes']} nodes"):  # fmt: skip
                groups[name].append(record)
    lines += ["", "## Where pairs are measured more than once", ""]
    lines += [
        f"Not distinguishable: {'; '.join(name for name in _GROUPS[_TOLD:] if groups[name])}.",
        "",
    ]
    for title, names in (
        ("group", _GROUPS),
        ("faults", (*FAULTS, *CONDITIONS, *sorted(set(groups) - {*_GROUPS}))),
    ):
        lines += [
            *_table({name: groups[name] for name in names if groups[name]}, title),
            "",
        ]
    del lines[-1]
    for name, faults in by.items():
        if faults:
            lines += ["", f"## {name}", "",
                      *_table({fault: faults[fault] for fault in FAULTS if fault in faults},
                              "fault")]  # fmt: skip
    listed = sum(record["blame"]["listed"] for record in records)
    crashed = sum(bool(record["blame"]["crash"]) for record in records)
    return "\n".join([*lines, "", f"Of what `blame` missed {listed} were in a note that blames nobody. Ended "
                      f"with an error: {crashed}. Not counted as faults: {unseen} trials of a cable that "
                      "makes no pair slower, as only nodes of the slow kind use it.", ""])  # fmt: skip


def main() -> None:
    """Run trials, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m lab.matrices", description=__doc__)
    parser.add_argument("page", type=Path)
    parser.add_argument(
        "--trials", type=int, default=3, help="seeds of each row with repeats"
    )
    parser.add_argument("--first-seed", type=int, required=True)
    parser.add_argument("--formats", default="*", help="pattern of names of formats")
    parser.add_argument("--faults", default="*", help="pattern of names of faults")
    parser.add_argument("--minutes", type=float, default=1e9, help="stop after these")
    parser.add_argument(
        "--records",
        type=Path,
        help="add the outcome of each trial to this file; the page is of all",
    )
    harness.keeping(parser)
    given = parser.parse_args()
    rows = [(way, fault) for way in WAYS for fault in FAULTS
            if fnmatch.fnmatch(way, given.formats) and fnmatch.fnmatch(fault, given.faults)
            and (fault != "device .8" or WAYS[way].devices)]  # fmt: skip
    until = time.monotonic() + 60 * given.minutes
    records = []
    if given.records and given.records.exists():
        records = [json.loads(line) for line in given.records.read_text().splitlines()]
    done = {(record["way"], record["fault"], record["seed"]) for record in records}
    for seed in range(given.first_seed, given.first_seed + given.trials):
        for way, fault in rows:
            rare = not WAYS[way].repeats and seed % _RARELY
            if rare or (way, fault, seed) in done or time.monotonic() > until:
                continue
            with harness.folder_of(f"{way}-{fault}-{seed}", given.keep) as folder:
                records.append(trial(way, fault, seed, folder))
            if given.records:
                with given.records.open("a") as file:
                    file.write(json.dumps(records[-1]) + "\n")
    command = f"python -m lab.matrices {given.page} --trials {given.trials} --first-seed {given.first_seed}"
    given.page.write_text(page(records, command))


if __name__ == "__main__":
    main()
