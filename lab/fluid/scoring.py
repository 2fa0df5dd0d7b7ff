# SPDX-License-Identifier: BSD-3-Clause
"""Hold what the verb ``rotate`` prints against what was wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .scenarios import Scenario

_NAME = re.compile(r"\b(?:cn\d{4}|(?:leaf|spine|core|router)-\d+(?:-\d+)?)\b")
#: Notes that describe the values, and name nobody.
_VALUES = {"slowest pair", "plateaus", "by switch", "limits", "sharing"}
_OF_KIND = {"node": ("node",), "pair": ("pair",), "cable": ("cable",),
            "switch": ("leaf", "switch", "cable")}  # fmt: skip


COLUMNS = (
    "alone",
    "among",
    "observed",
    "missed",
    "healthy",
    "false limit",
    "exit not 0",
    "crashed",
)


@dataclass(frozen=True)
class Score:
    """The outcome of a trial; see the package for what counts as what."""

    alone: bool
    among: bool
    observed: bool
    healthy: bool
    false_limit: bool
    status: int
    crash: str
    blames: tuple[str, ...]

    def columns(self, *, has_faults: bool) -> list[str]:
        """Return the columns of the table in which it counts."""
        holds = (
            self.alone, self.among, self.observed, has_faults and not (self.alone or self.among),
            self.healthy, self.false_limit, self.status != 0, self.crash != "",
        )  # fmt: skip
        return [column for column, is_so in zip(COLUMNS, holds, strict=True) if is_so]


def _names(note: Mapping[str, Any]) -> tuple[set[str], set[str]]:
    """Return the names of the part that a note blames, and those with what it might be instead."""
    part = str(note.get("part", ""))
    named = set(_NAME.findall(part)) or set(
        _NAME.findall(" ".join(map(str, note.get("hosts", ()))))
    )
    named = named or set(_NAME.findall(str(note.get("text", "")).split(":")[0]))
    listed = note.get("details", ()) if note.get("kind") == "group" else ()
    rest = " ".join(
        [
            part,
            *map(str, [*note.get("hosts", ()), *listed]),
            json.dumps(note.get("others", [])),
        ]
    )
    return named, named | set(_NAME.findall(rest))


def score(run: Mapping[str, Any], status: int, at: Scenario) -> Score:
    """Return the outcome of a run."""
    notes, faults = run["notes"], at.faults
    blamed = [note for note in notes if note.get("fault")]
    alone, among, healthy = set[int](), set[int](), False
    for note in blamed:
        named, perhaps = _names(note)
        exact = {i for i, fault in enumerate(faults) if named == fault.names}
        alone |= exact if perhaps == named else set()
        likely = exact | {
            i for i in range(len(faults)) if _includes(at, i, note, perhaps)
        }
        among |= likely
        healthy |= not likely
    seen = {i for i in range(len(faults)) if not at.is_hidden(i)}
    alone, among = alone & seen, among & seen
    described = " ".join(
        str(note.get("text", "")) for note in notes if note.get("kind") not in _VALUES
    )
    observed = {i for i in seen if faults[i].names <= set(_NAME.findall(described))}
    claimed = limits(run)
    false_limit = any(
        claimed.get(kind, 2.0) < faults[i].size and not faults[i].gone
        for i in seen - alone - among - observed for kind in _OF_KIND[faults[i].kind]
    )  # fmt: skip
    blames = tuple(
        f"{note.get('kind')}: {note.get('text', '')}"[:160] for note in blamed
    )
    all_named = bool(faults) and alone | among == seen
    return Score(all_named and alone == seen, all_named and alone != seen, bool(observed - alone - among),
                 healthy, false_limit, status, run.get("crash", ""), blames)  # fmt: skip


def _includes(
    at: Scenario, number: int, note: Mapping[str, Any], perhaps: set[str]
) -> bool:
    """Return whether a note that blames names no other part than a fault, or says truly that some pairs are
    slow."""
    fault = at.faults[number]
    if note.get("kind") == "pair" and len(note.get("ranks", ())) == 2:
        return number in at.slows(*note["ranks"])
    if note.get("kind") == "group" and fault.kind in ("cable", "switch"):
        return True
    if fault.kind != "switch" and fault.names <= perhaps:
        return True
    is_wider = note.get("kind") == "uplink" or re.search(
        r"\ban uplink of|\bhas lost about", str(note.get("text", ""))
    )
    return bool(fault.names & perhaps) and (
        fault.kind == "switch" or (fault.kind == "cable" and bool(is_wider))
    )


def limits(run: Mapping[str, Any]) -> dict[str, float]:
    """Return the least fault by kind of part that the run claims it would have named, as a share."""
    # What cannot be told has no limit.
    return {name.split("_")[1]: value / 100 for name, value in run["metrics"].items()
             if name.startswith("smallest_") and name.endswith("_fault") and value is not None}  # fmt: skip
