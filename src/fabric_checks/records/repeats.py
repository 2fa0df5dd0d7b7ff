# SPDX-License-Identifier: BSD-3-Clause
"""Misses of references that were measured again: which session repeats which, and what the repeats say.

Repeats are sessions of their own, ``SESSION-repeat-N``, whose records stand in the perflogs like all others.
Whoever reads a session judges by :func:`judged`; series, comparisons and references are without repeats, as
only bad luck is measured again.
"""

from __future__ import annotations

import json
import os
from collections import Counter, defaultdict
from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import contextmanager
from functools import lru_cache
from operator import itemgetter
from pathlib import Path
from typing import Any

from fabric_checks.core.errors import cut
from fabric_checks.core.finding import Finding, Severity
from fabric_checks.core.text import first_of, one_line, value_text
from fabric_checks.records import sessions
from fabric_checks.records.record import UNCONFIRMED, Record, case_name, is_success

#: Stands between the name of a session and the number of its repeat.
SUFFIX = "-repeat-"
#: The file with the cases that a repeat runs, each with its nodes: see :func:`asked_for`.
VARIABLE = "FABRIC_REPEAT"
#: How often a run that holds its nodes repeats its own misses; what it prints before each repeat.
TIMES, BEGUN = "FABRIC_CONFIRM", "==> measuring misses again"
#: What this process repeats, if it is the run itself.
_OWN: dict[str, Sequence[str]] = {}


def original(session: str | None) -> str:
    """Return the name of the session that a session repeats; its own if it repeats none."""
    return (session or "").partition(SUFFIX)[0]


def is_repeat(record: Record) -> bool:
    """Tell whether a record is of a session that repeats another."""
    return SUFFIX in str(record["session"])


def asked_for() -> Mapping[str, Sequence[str]] | None:
    """Return the cases that this process is to repeat, by name, with their nodes; None if it is no repeat."""
    return _OWN or _asked_of_process()


@lru_cache(maxsize=1)
def _asked_of_process() -> Mapping[str, Sequence[str]] | None:
    path = os.environ.get(VARIABLE)
    return json.loads(Path(path).read_text()) if path else None


@contextmanager
def repeating(cases: Mapping[str, Sequence[str]], number: int) -> Iterator[None]:
    """Let this process, which is a run, be its own repeat of this number."""
    name = sessions.session_id()
    sessions.rename(f"{name}{SUFFIX}{number}")
    _OWN.update(cases)
    try:
        yield
    finally:
        _OWN.clear()
        sessions.rename(name)


def measure_again(
    times: int,
    load: Callable[[], Sequence[Record]],
    repeat: Callable[[Mapping[str, Sequence[str]]], bool],
    free: Callable[[str], Collection[str]],
) -> bool:
    """Repeat the misses of a run so often; return whether there are any. Each that is confirmed is measured
    once more on other nodes, if enough are free.

    :param load: returns the records, judged by what was repeated so far; :param repeat: runs cases on their
        nodes, and returns whether that came to its end; :param free: returns the free nodes of
        SYSTEM:PARTITION.
    """
    wanted = _missed(load())
    if wanted and all(repeat(wanted) for _ in range(times)):
        elsewhere = _nodes_elsewhere(load(), wanted, free)
        if elsewhere:
            repeat(elsewhere)
    return bool(wanted)


def _missed(records: Sequence[Record]) -> dict[str, list[str]]:
    """Return the cases to repeat, with their nodes.

    A case that ran several times in the run is no miss by chance, and a simulation repeats itself.
    """
    times = Counter((case_name(each), each["metric"]) for each in records)
    return {
        case_name(each): each["nodelist"] or []
        for each in filter(is_miss, records)
        if times[case_name(each), each["metric"]] == 1 and not each["evidence"]
    }


def _nodes_elsewhere(
    records: Sequence[Record],
    wanted: Mapping[str, Sequence[str]],
    free: Callable[[str], Collection[str]],
) -> dict[str, list[str]]:
    """Return the cases whose misses are confirmed, each with as many other nodes, where these are free."""
    found = {}
    for record in filter(is_miss, records):
        nodes = wanted.get(case_name(record))
        if not nodes or not record.get("confirmation"):
            continue
        of_place = free(f"{record['system']}:{record['partition']}")
        others = sorted(set(of_place).difference(nodes))
        if len(others) >= len(nodes):
            found[case_name(record)] = others[: len(nodes)]
    return found


def judged(records: Sequence[Record]) -> list[Record]:
    """Return the records of sessions, their misses judged with the records of their repeats, which are left
    out.

    A miss that was repeated has ``confirmation``: how many ``missed`` ``of`` those on its nodes, their
    ``values``, those ``elsewhere``, on other nodes, and why a repeat ``failed``. It is confirmed if all of
    them missed. If a repeat met the reference, its result is :data:`UNCONFIRMED`, and it has a finding: a
    suspect if another repeat missed, else a note. So is the result of its case, if nothing else is wrong with
    it. `lab/repeats.md` has the rates of false and missed alarms.
    """
    own, again = _apart(records)
    if not again or not own:  # a repeat that is looked at by itself is judged as it is
        return list(records)
    repeated = [again[_case(each)] if is_miss(each) else [] for each in own]
    found = list(map(_judged, own, repeated))
    doubted = {_case(each) for each in found if each["result"] == UNCONFIRMED}
    worse = {_case(each) for each in found if not is_success(each["result"])}
    return [_with_result(each, doubted - worse) for each in found]


def _apart(
    records: Iterable[Record],
) -> tuple[list[Record], Mapping[tuple[str, str], list[Record]]]:
    """Return the records of runs, and those of their repeats by case."""
    own: list[Record] = []
    again = defaultdict[tuple[str, str], list[Record]](list)
    for record in records:
        (again[_case(record)] if is_repeat(record) else own).append(record)
    return own, again


def _with_result(record: Record, doubted: Collection[tuple[str, str]]) -> Record:
    """Return a record with the result of its case."""
    is_doubted = _case(record) in doubted
    return {**record, "case_result": UNCONFIRMED} if is_doubted else record


def _case(record: Record) -> tuple[str, str]:
    return original(record["session"]), case_name(record)


def _judged(record: Record, again: Sequence[Record]) -> Record:
    """Return a record with its confirmation, None without one.

    :param again: the records of its case in repeats, if it is a miss.
    """
    if not again:
        return {**record, "confirmation": None}
    of_metric = [each for each in again if each["metric"] == record["metric"]]
    of_metric.sort(key=itemgetter("session"))
    here = [record, *(each for each in of_metric if _nodes(each) == _nodes(record))]
    missed = sum(each["result"] == "fail" for each in here)
    confirmation = {
        "missed": missed,
        "of": len(here),
        "values": list(map(itemgetter("value"), here)),
        "elsewhere": [_elsewhere(each) for each in of_metric if each not in here],
        "failed": _reasons(again),
    }
    found = {**record, "confirmation": confirmation}
    return found if missed == len(here) else _doubted(found, missed)


def _reasons(records: Iterable[Record]) -> list[str]:
    """Return why cases have no value."""
    return [str(each["fail_reason"]) for each in records if each["metric"] is None]


def _nodes(record: Record) -> set[str]:
    return set(record["nodelist"] or ())


def _elsewhere(record: Record) -> dict[str, Any]:
    return {name: record[name] for name in ("nodelist", "value", "result")}


def _doubted(record: Record, missed: int) -> Record:
    """Return a miss that is not confirmed, with a finding that says so."""
    found = {**record, "result": UNCONFIRMED}
    doubt = Finding(
        kind="unconfirmed", severity=Severity.SUSPECT if missed > 1 else Severity.NOTE,
        text=text_of(found), part=f"{case_name(record)}: {record['metric']}",
    )  # fmt: skip
    return {**found, "findings": [*(record["findings"] or ()), doubt.as_dict()]}


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
    for reason in found["failed"][:1]:
        parts.append(f"a repeat failed: {cut(one_line(reason), 200)}")
    for each in found["elsewhere"]:
        there = f"{_on(each['nodelist'])} ({value_text(each['value'])}), so it is"
        is_met = is_success(each["result"])
        parts.append(
            f"met{there} these nodes"
            if is_met
            else f"missed{there} not these nodes alone"
        )
    if is_confirmed and not found["elsewhere"]:
        parts.append("no other nodes were free, so it may be these nodes or all")
    return "; ".join(parts)


def _on(nodes: Iterable[str] | None) -> str:
    return f" on {', '.join(first_of(list(nodes)))}" if nodes else ""
