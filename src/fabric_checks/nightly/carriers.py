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
    frame = (
        reader.load([source], [*_CASE, "session", "time", "ports"])
        .frame.drop_nulls("ports")
        .sort("time")
    )
    is_tonight = pl.col("session") == night.session
    tonight = frame.filter(is_tonight)
    past = frame.filter(pl.col("time") < pl.col("time").filter(is_tonight).min())
    last, before = (
        part.unique(_CASE, keep="last", maintain_order=True) for part in (tonight, past)
    )
    found: dict[tuple[str, str], list[str]] = {}
    for row in last.join(before, on=_CASE, suffix="_before").iter_rows(named=True):
        then, now = (
            _carriers(json.loads(row[name])) for name in ("ports_before", "ports")
        )
        if then and now and then != now:
            found.setdefault((then, now), []).append(case_name(row))
    return night.with_more(
        _entry(then, now, cases) for (then, now), cases in found.items()
    )


def _carriers(ports: Mapping[str, Any]) -> str:
    """Return the kinds of ports that carried a case, as in ``eth*``; nothing if one is named, or few bytes
    were moved."""
    carried = ports.get("carried_B") or {}
    total = sum(carried.values())
    if ports.get("fabric") or total < ENOUGH_B:
        return ""
    kinds = {
        re.sub(r"\d+(:\d+)?$", "*", name)
        for name, count in carried.items()
        if count >= PART * total
    }
    return " and ".join(sorted(kinds))


def _entry(then: str, now: str, cases: list[str]) -> Entry:
    text = f"the bytes of {names_text(cases, 1)} went over {now}; when last measured, they went over {then}"
    finding = Finding(
        kind="wire", severity=Severity.FAULT, text=text, part=f"the ports of {names_text(cases, 1)}",
        advice="name the right one with `fabric` in the partition's extras",
    )  # fmt: skip
    keys = frozenset(f"wire {case}" for case in cases)
    return Entry(findings=(finding,), keys=keys, cases=frozenset(cases))
