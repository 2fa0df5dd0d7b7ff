# SPDX-License-Identifier: BSD-3-Clause
"""Hold what the verb ``rotate`` prints against what was wrong."""

from __future__ import annotations

import contextlib
import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .scenarios import Fault, Scenario

_NAME = re.compile(r"\b(?:cn\d{4}|(?:leaf|spine|core|router)-\d+(?:-\d+)?)\b")
#: Notes that describe the values, and name nobody.
_VALUES = {"slowest pair", "plateaus", "by switch", "limits", "sharing"}
_LIMIT = re.compile(r"a (node|pair|cable|leaf|switch) slower by ([0-9.]+) %")
_OF_KIND = {"node": ("node",), "group": ("node",), "pair": ("pair",), "cable": ("cable",),
            "switch": ("leaf", "switch", "cable")}  # fmt: skip


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


def verb(
    files: Sequence[Path], topology: Sequence[Path], options: Sequence[str]
) -> tuple[dict[str, Any], int]:
    """Return what the verb prints as JSON, and its exit status."""
    from fabric_checks.cli.blame import command  # the version under test may be another

    words = [*map(str, files), "--json", *options]
    for path in topology:
        words += ["--topology", str(path)]
    printed, status = io.StringIO(), 0
    with contextlib.redirect_stdout(printed):
        try:
            command.main(words, standalone_mode=False)
        except SystemExit as end:
            status = int(end.code or 0)
        except (
            Exception
        ) as error:  # a defect of the version under test, which the table counts
            return {"runs": {"": {"metrics": {}, "notes": [], "crash": repr(error)}}}, 2
    document = json.loads(printed.getvalue())
    for run in document["runs"].values():
        run["notes"] = [flat(found) for found in run["findings"]]
    return document, status


def flat(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return a finding with the members of its data beside the others, and whether it blames."""
    return {**found, **found.get("data", {}), "fault": found["severity"] == "fault"}


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
    members: dict[int, set[str]] = {}
    for note in blamed:
        named, perhaps = _names(note)
        exact = {
            i
            for i, fault in enumerate(faults)
            if named and named in (fault.names, fault.alias)
        }
        alone |= exact if perhaps == named else set()
        likely = exact | {
            i for i in range(len(faults)) if _includes(at, i, note, perhaps)
        }
        among |= likely
        healthy |= not likely
        for i in likely:
            members[i] = members.get(i, set()) | perhaps
    for i, fault in enumerate(faults):
        whole = len(members.get(i, set()) & fault.names) >= 0.8 * len(fault.names)
        if fault.kind == "group" and (
            whole or _is_described(fault, notes, at.fabric.nodes)
        ):
            alone.add(i)
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
    nodes = {name for name in perhaps if name in at.fabric.names}
    if note.get("kind") == "pair" and len(note.get("ranks", ())) == 2:
        return number in at.slows(*note["ranks"])
    if note.get("kind") == "group" and fault.kind in ("cable", "switch"):
        return True
    if fault.kind == "group":
        return (bool(nodes) and nodes <= fault.names) or bool(fault.alias & perhaps)
    if fault.kind != "switch" and fault.names <= perhaps:
        return True
    is_wider = note.get("kind") == "uplink" or re.search(
        r"\ban uplink of|\bhas lost about", str(note.get("text", ""))
    )
    return bool(fault.names & perhaps) and (
        fault.kind == "switch" or (fault.kind == "cable" and bool(is_wider))
    )


def _is_described(fault: Fault, notes: Sequence[Mapping[str, Any]], nodes: int) -> bool:
    """Return whether some note is about the nodes of a group as such: by their names, or by their number and
    some."""
    for note in notes:
        text = str(note.get("text", ""))
        hosts = set(_NAME.findall(" ".join(map(str, note.get("hosts", ())))))
        if note.get("kind") in _VALUES:
            continue
        if len(hosts & fault.names) >= 0.8 * len(hosts | fault.names):
            return True
        for count, some in re.findall(r"\b([0-9]+) \((cn[^)]*)\)", text):
            if (
                abs(int(count) - len(fault.names)) <= nodes / 16
                and set(_NAME.findall(some)) & fault.names
            ):
                return True
        if len(fault.names) == nodes and re.search(
            rf"\ball (?:{nodes} )?nodes\b|\b{nodes} of {nodes}\b", text
        ):
            return True
    return False


def limits(run: Mapping[str, Any]) -> dict[str, float]:
    """Return the least fault by kind of part that the run claims it would have named, as a share."""
    # What cannot be told has no limit.
    found = {name.split("_")[1]: value / 100 for name, value in run["metrics"].items()
             if name.startswith("smallest_") and name.endswith("_fault") and value is not None}  # fmt: skip
    for note in run["notes"]:
        if "would have named" in str(note.get("text", "")):
            said = str(note["text"]).split("would have named")[1].split(";")[0]
            found |= {
                kind: float(percent) / 100 for kind, percent in _LIMIT.findall(said)
            }
    return found
