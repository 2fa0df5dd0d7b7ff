# SPDX-License-Identifier: BSD-3-Clause
"""Compare the job scripts of an offer with those that the collection writes for the same cases."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
_ADDS = "the system's file adds `{}`"
_UNKNOWN = "{} cannot be made again: this collection has no scheduler or launcher `{}`"


def differences(
    folder: Path, runs: Sequence[Run], made: Sequence[Data], scratch: str
) -> tuple[list[Fault], list[str]]:
    """Return how the job scripts of runs differ from those made again, and what the system's file adds to all
    of them.

    :param made: each run recomputed; :param scratch: the folder that programs are in where scripts are made
        again.
    """
    faults: list[Fault] = []
    notes: list[str] = []
    for where, pairs in _by_place(folder, runs, made).items():
        many = count_text(len(pairs), "job script")
        counts = Counter(
            each
            for run, again in pairs
            for each in _of_run(folder, run, again, scratch)
        )
        for (what, line), count in counts.items():
            text = what.format(f"{count} of {many}", line[:200])
            faults.append(Fault("options", where, text))
        site = dict.fromkeys(line for _, again in pairs for line in again["site"])
        notes += [
            f"{where}: {_ADDS.format(line[:200])} to job scripts" for line in site
        ]
        faults += _replacing(where, site)
    return faults, notes


def _by_place(
    folder: Path, runs: Sequence[Run], made: Sequence[Data]
) -> Mapping[str, list[tuple[Run, Data]]]:
    """Return the runs with those recomputed by partition and environment.

    Those that cannot be recomputed, or have no script, are listed elsewhere.
    """
    found: dict[str, list[tuple[Run, Data]]] = defaultdict(list)
    for run, again in zip(runs, made, strict=True):
        if "error" not in again and (folder / run.folder / SCRIPT).is_file():
            found["+".join(run.case[1:])].append((run, again))
    return found


def _replacing(where: str, lines: Iterable[str]) -> Iterator[Fault]:
    """Find lines of a system's file by which something else may run."""
    for line in filter(_REPLACES.search, lines):
        text = f"{_ADDS.format(line[:160])}, which can replace what is run"
        yield Fault("options", where, text)


def _of_run(folder: Path, run: Run, again: Data, scratch: str) -> list[tuple[str, str]]:
    """Return how the script of a run differs from that made again, each time with the line."""
    if again["unknown"]:
        return [(_UNKNOWN, str(again["unknown"]))]
    text = files.read_text(folder / run.folder / SCRIPT, folder)
    lines = _comparable(text.splitlines(), run, scratch)
    expected = _comparable(["#!/bin/bash", *again["script"]], run, scratch)
    more, less = Counter(lines), Counter(expected)
    found = [(_MORE, line) for line in more - less]
    found += [(_LESS, line) for line in less - more]
    return found or ([] if lines == expected else [(_ORDER, "")])


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
