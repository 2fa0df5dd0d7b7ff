# SPDX-License-Identifier: BSD-3-Clause
"""Find cases whose bytes left by other ports than on the night before, where the system's file names none."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from fabric_checks.core.finding import Finding, Severity
from fabric_checks.core.text import names_text
from fabric_checks.nightly.model import Entry, Night
from fabric_checks.ports.transport import ENOUGH_B
from fabric_checks.records import reader
from fabric_checks.records.record import case_name
from fabric_checks.records.sources import Source

_CASE = ("system", "partition", "environ", "test")
#: A port carried a case if it had this share of its bytes.
PART = 0.1


def changes(archive: Path, night: Night) -> Night:
    """Return a night with a finding for each change of the ports that carried its cases, against the last run
    of each.

    :param archive: the archive, with the records of the night.
    :raises RecordError: if there is none.
    """
    source = Source("history", archive, None, None, {"system": night.system})
    frame = reader.load([source], [*_CASE, "session", "time", "ports"]).frame
    frame = frame.filter(pl.col("ports").is_not_null()).sort("time")
    found: dict[tuple[str, str], list[str]] = {}
    for _, of_case in frame.group_by(_CASE, maintain_order=True):
        rows = of_case.rows(named=True)
        now = [number for number, row in enumerate(rows) if row["session"] == night.session]
        if not now or not now[0]:
            continue
        before, after = (_carriers(json.loads(rows[number]["ports"])) for number in (now[0] - 1, now[-1]))
        if before and after and before != after:
            found.setdefault((before, after), []).append(case_name(rows[now[-1]]))
    return night.with_more(_finding(before, after, cases) for (before, after), cases in found.items())


def _carriers(ports: Mapping[str, Any]) -> str | None:
    """Return the kinds of ports that carried a case, as in ``eth*``; None if one is named, or few bytes were
    moved."""
    carried = ports.get("carried_B") or {}
    total = sum(carried.values())
    if ports.get("fabric") or total < ENOUGH_B:
        return None
    kinds = {re.sub(r"\d+(:\d+)?$", "*", name) for name, count in carried.items() if count >= PART * total}
    return " and ".join(sorted(kinds))


def _finding(before: str, after: str, cases: list[str]) -> Entry:
    text = (
        f"the bytes of {names_text(cases, 1)} went over {after}; when last measured, they went over {before}"
    )
    findings = tuple(
        Finding(
            kind="wire", severity=Severity.FAULT, text=text, part=f"the ports of {case}",
            key=f"{case}: over {before}, then over {after}",
            advice="name the right one with `fabric` in the partition's extras",
        )
        for case in cases
    )  # fmt: skip
    return Entry(findings=findings, keys=frozenset(f"wire {case}" for case in cases), cases=frozenset(cases))
