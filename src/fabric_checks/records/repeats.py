# SPDX-License-Identifier: BSD-3-Clause
"""Misses of references that were measured again: which session repeats which, and what the repeats say.

Repeats are sessions of their own, ``SESSION-repeat-N``, whose records stand in the perflogs like all others.
Whoever reads a session judges by :func:`judged`; series, comparisons and references are without repeats, as
only bad luck is measured again.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from fabric_checks.core.errors import cut
from fabric_checks.core.finding import Finding, Severity
from fabric_checks.core.text import first_of, one_line, value_text
from fabric_checks.records.record import UNCONFIRMED, Record, case_name

#: Stands between the name of a session and the number of its repeat.
SUFFIX = "-repeat-"
#: The file with the cases that a repeat runs, each with its nodes: see :func:`asked_for`.
VARIABLE = "FABRIC_REPEAT"


def original(session: str | None) -> str:
    """Return the name of the session that a session repeats; its own if it repeats none."""
    return (session or "").partition(SUFFIX)[0]


@lru_cache(maxsize=1)
def asked_for() -> Mapping[str, Sequence[str]] | None:
    """Return the cases that this process is to repeat, by name, with their nodes; None if it is no repeat."""
    path = os.environ.get(VARIABLE)
    return json.loads(Path(path).read_text()) if path else None


def judged(records: Sequence[Record]) -> list[Record]:
    """Return the records of sessions, their misses judged with the records of their repeats, which are left
    out.

    A miss that was repeated has ``confirmation``: how many ``missed`` ``of`` those on its nodes, their
    ``values``, those ``elsewhere``, on other nodes, and why a repeat ``failed``. It is confirmed if all of
    them missed. If a repeat met the reference, its result is :data:`UNCONFIRMED`, and it has a finding: a
    suspect if another repeat missed, else a note. So is the result of its case, if nothing else is wrong with
    it. `lab/repeats.md` has the rates of false and missed alarms.
    """
    again = defaultdict[tuple[str, str], list[Record]](list)
    own = []
    for record in records:
        if original(record["session"]) == (record["session"] or ""):
            own.append(record)
        else:
            again[_case(record)].append(record)
    if not again or not own:  # a repeat that is looked at by itself is judged as it is
        return list(own or records)
    found = [_judged(each, again.get(_case(each), ())) for each in own]
    of_case = defaultdict[tuple[str, str], list[dict[str, Any]]](list)
    for each in found:
        of_case[_case(each)].append(each)
    for case in of_case.values():
        results = {each["result"] for each in case}
        if UNCONFIRMED in results and results.isdisjoint(("fail", "xpass")):
            for each in case:
                each["case_result"] = UNCONFIRMED
    return list(found)


def _case(record: Record) -> tuple[str, str]:
    return original(record["session"]), case_name(record)


def _judged(record: Record, again: Sequence[Record]) -> dict[str, Any]:
    """Return a record with its confirmation, None without one.

    :param again: the records of its case in repeats.
    """
    found = {**record, "confirmation": None}
    if not is_miss(record) or not again:
        return found
    own, values = set(record["nodelist"] or ()), [record["value"]]
    missed, elsewhere = 1, []
    for each in sorted(again, key=lambda each: each["session"]):
        if each["metric"] != record["metric"]:
            continue
        is_missed = each["result"] == "fail"
        if set(each["nodelist"] or ()) == own:
            values.append(each["value"])
            missed += is_missed
        else:
            of = {"nodes": each["nodelist"], "value": each["value"]}
            elsewhere.append({**of, "missed": is_missed})
    failed = [each["fail_reason"] for each in again if each["metric"] is None]
    found["confirmation"] = {
        "missed": missed, "of": len(values), "values": values, "elsewhere": elsewhere,
        "failed": one_line(failed[0] or "no reason was given") if failed else None,
    }  # fmt: skip
    if missed < len(values):
        found["result"] = UNCONFIRMED
        doubt = Finding(
            kind="unconfirmed", severity=Severity.SUSPECT if missed > 1 else Severity.NOTE,
            text=text_of(found), part=f"{case_name(record)}: {record['metric']}",
        )  # fmt: skip
        found["findings"] = [*(record["findings"] or ()), doubt.as_dict()]
    return found


def is_miss(record: Record) -> bool:
    """Tell whether a value was judged by a reference and missed it."""
    return record["result"] == "fail" and record["reference"] is not None


def text_of(record: Record) -> str:
    """Return value, reference and nodes of a miss, and what its repeats say."""
    reference = record["reference"]
    text = f"{record['metric']} is {value_text(record['value'])} {record['unit']}"
    if reference is not None:
        share = abs(record["value"] - reference) / (abs(reference) or 1.0)
        text += f"; the reference is {value_text(reference)}, {100 * share:.0f} % off"
    more = confirmation_text(record)
    return text + _on(record["nodelist"]) + (f"; {more}" if more else "")


def confirmation_text(record: Record) -> str:
    """Return what the repeats of a miss say, with all values; empty if there were none."""
    found = record.get("confirmation")
    if not found:
        return ""
    is_confirmed = record["result"] != UNCONFIRMED
    parts = ["not measured again on its nodes"]
    if found["of"] > 1:
        word = "confirmed" if is_confirmed else "not confirmed"
        values = ", ".join(map(value_text, found["values"]))
        parts = [
            f"{word} {found['missed']} of {found['of']}: {values} {record['unit']}"
        ]
    if found["failed"]:
        parts.append(f"a repeat failed: {cut(found['failed'], 200)}")
    for each in found["elsewhere"]:
        how = "missed" if each["missed"] else "met"
        blame = "it is not these nodes alone" if each["missed"] else "it is these nodes"
        there = f"{how}{_on(each['nodes'])} ({value_text(each['value'])})"
        parts.append(f"{there}, so {blame}")
    if is_confirmed and not found["elsewhere"]:
        parts.append("no other nodes were free, so it may be these nodes or all")
    return "; ".join(parts)


def _on(nodes: Iterable[str] | None) -> str:
    return f" on {', '.join(first_of(list(nodes)))}" if nodes else ""
