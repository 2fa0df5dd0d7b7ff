# SPDX-License-Identifier: BSD-3-Clause
"""Hold what ``fabric-checks blame`` prints against what was wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab import harness
from lab.fluid import scoring
from lab.fluid.__main__ import KNOWN_AS, files_of

from .machines import RAILS, Site


@dataclass(frozen=True)
class Verdict:
    """What was named in a trial; see the package for what counts as what."""

    named: bool = False
    half: bool = False
    listed: bool = False
    false: bool = False
    crash: str = ""
    printed: tuple[str, ...] = ()


def verb(
    files: Sequence[Path], site: Site, folder: Path, alone: bool
) -> tuple[dict[str, Any], int]:
    """Return what the verb prints as JSON of files that are read as one machine, and its exit status.

    :param alone: the user says that one pair ran at a time.
    """
    known = files_of(site.at, folder) if len(site.rails) == 1 else ()
    options = [
        "--routing",
        KNOWN_AS[site.at.fabric.routing],
        *(["--alone"] if alone else []),
    ]
    document, status = harness.verb(files, known, options)
    runs = list(document["runs"].values())
    notes = [note for run in runs for note in run["notes"]]
    for (
        note
    ) in notes:  # which the scoring of ``lab.fluid`` takes for the numbers of nodes
        names = re.findall(r"\bcn\d{4}\b", " ".join(map(str, note.get("hosts", ()))))
        ranks = [site.hosts.index(name) for name in names]
        both = len(ranks) == 2 and re.match(
            rf"{names[0]}[^:]* and ", str(note.get("text", ""))
        )  # both directions
        note["ranks"] = ranks[::-1] if both and not site.at.slows(*ranks) else ranks
    found = {
        "metrics": runs[0]["metrics"],
        "notes": notes,
        "next": runs[0].get("measure_next", []),
    }
    return found | ({"crash": runs[0]["crash"]} if "crash" in runs[0] else {}), status


def _device(note: Mapping[str, Any], rail: int) -> bool:
    """Return whether a note is about this device of a host, by the text of its part."""
    where = f"{note.get('part', '')} {note.get('device', '')} {str(note.get('text', '')).split(':')[0]}"
    return (
        re.search(rf"(?:mlx5_|device |gpu |rank ){rail}\b", where, re.IGNORECASE)
        is not None
    )


def ours(run: Mapping[str, Any], status: int, site: Site) -> Verdict:
    """Return what the verb named."""
    score = scoring.score(run, status, site.at)
    blamed = [note for note in run["notes"] if note.get("fault")]
    named, half, false = score.alone, score.among, score.healthy
    if site.device is not None and (named or half):
        of_device = [note for note in blamed if _device(note, site.device)]
        wrong = [
            note
            for note in blamed
            if any(_device(note, rail) for rail in range(RAILS) if rail != site.device)
        ]
        named, half = named and bool(of_device), half or (named and not of_device)
        false = false or any(note not in of_device for note in wrong)
    listed = (
        bool(site.at.faults)
        and not named
        and not half
        and _is_listed(run["notes"], site)
    )
    return Verdict(named, half, listed, false, score.crash, score.blames)


def _is_listed(notes: Sequence[Mapping[str, Any]], site: Site) -> bool:
    """Return whether the part is among what a note that blames nobody is about, such as what to measure
    again."""
    text = json.dumps(
        [note for note in notes if note.get("kind") not in scoring._VALUES]
    )
    return all(all(name in text for name in fault.names) for fault in site.at.faults)
