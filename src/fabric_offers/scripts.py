# SPDX-License-Identifier: BSD-3-Clause
"""Compare the job scripts of an offer with those that the collection writes for the same cases."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from fabric_checks.core import files
from fabric_checks.core.text import count_text
from fabric_offers.bundle_file import Data, Fault
from fabric_offers.bundle_writer import SYSTEM
from fabric_offers.runs import SCRIPT, Run

#: What a line has by which other programs or libraries run than those that a script names.
_REPLACES = re.compile(
    r"\bLD_(PRELOAD|AUDIT)\b|\bBASH_ENV\b|\balias\b|\bfunction\b|\w\s*\(\s*\)\s*\{"
)
#: How scripts differ, with how many of them and the line.
_MORE = "in {}, though neither the collection nor " + SYSTEM + " has it: `{}`"
_LESS = "missing from {}: `{}`"
_ORDER = "{} have lines in another order than the collection writes them"
_UNKNOWN = "{} cannot be made again: this collection has no scheduler or launcher `{}`"


def differences(
    folder: Path, runs: Sequence[Run], made: Sequence[Data], scratch: str
) -> tuple[list[Fault], list[str]]:
    """Return how the job scripts of runs differ from those made again, and what the system's file adds to all
    of them.

    :param made: each run recomputed; :param scratch: the folder that programs are in where scripts are made
        again.
    """
    counts: Counter[tuple[str, str, str]] = Counter()
    totals: Counter[str] = Counter()
    added: dict[tuple[str, str], None] = {}
    for run, again in zip(runs, made, strict=True):
        path = folder / run.folder / SCRIPT
        if "error" in again or not path.is_file():
            continue  # both are listed
        where = "+".join(run.case[1:])
        totals[where] += 1
        added |= dict.fromkeys((where, line) for line in again["site"])
        if again["unknown"]:
            counts[where, _UNKNOWN, str(again["unknown"])] += 1
            continue
        expected = _comparable(["#!/bin/bash", *again["script"]], run, scratch)
        found = _comparable(files.read_text(path, folder).splitlines(), run, scratch)
        counts.update((where, *each) for each in _differences(found, expected))
    faults = []
    for (where, what, line), count in counts.items():
        of_all = f"{count} of {count_text(totals[where], 'job script')}"
        faults.append(Fault("options", where, what.format(of_all, line[:200])))
    notes = []
    for where, line in added:
        notes.append(f"{where}: the system's file adds `{line[:200]}` to job scripts")
        if _REPLACES.search(line):
            text = (
                f"its system's file adds `{line[:160]}`, which can replace what is run"
            )
            faults.append(Fault("options", where, text))
    return faults, notes


def _differences(lines: list[str], expected: list[str]) -> Iterator[tuple[str, str]]:
    """Yield how the lines of a script differ from those expected, and the line."""
    more, less = Counter(lines), Counter(expected)
    yield from ((_MORE, line) for line in more - less)
    yield from ((_LESS, line) for line in less - more)
    if more == less and lines != expected:
        yield _ORDER, ""


def _comparable(lines: Sequence[str], run: Run, scratch: str) -> list[str]:
    """Return lines with one name for the stage folders of the case and of builds, which no two machines
    share."""
    names = "/".join(
        re.escape(str(run.first[name]))
        for name in ("session", "system", "partition", "environ")
    )
    stage = re.compile(rf"/[^\s\"'=:,]*/{names}/\w+|{re.escape(scratch)}(?![\w.-])")
    return [
        stage.sub("STAGE", line).replace("STAGE/environment/.spack-env/view", "/view")
        for line in lines
    ]
