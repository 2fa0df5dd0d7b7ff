# SPDX-License-Identifier: BSD-3-Clause
"""Propose references from history: for each series a new reference, or the reason for none."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from statistics import median
from typing import Any

import polars as pl

from fabric_checks.core.errors import ReferenceError
from fabric_checks.core.grouping import by_key
from fabric_checks.core.text import count_text
from fabric_checks.records.record import SERIES, case_name, limit, was_disturbed
from fabric_checks.records.series import records_by_series
from fabric_checks.references import lookup
from fabric_checks.references.derive import Derived, derive
from fabric_checks.references.lookup import Slot
from fabric_checks.references.reference_file import ReferenceFile

#: The fields of records that a proposal is made from.
COLUMNS = (
    *SERIES, "parameters", "session", "time", "tasks", "ppn", "value", "better", "case_result", "evidence",
    "nodelist", "program", "program_version", "host_cores", "runnable_processes_before",
    "runnable_processes_after",
)  # fmt: skip
#: The least number of runs for a bound to become stricter: passes of one run are more alike than runs.
MIN_RUNS_TO_TIGHTEN = 20
#: A change of value and bound by less than this share of the reference is none.
_NO_CHANGE = 0.005


@dataclass(frozen=True)
class History:
    """Hold the history of one series.

    :param values: one for each pass of each run, in order.
    :param runs: the number of runs that these passes are of.
    :param failed: the number of passes in which the case missed a reference.
    :param disturbed: the number of passes in which the case had to share its cores with other processes.
    :param first: and :param last: the days of the first and the last run.
    :param nodes: those of any run. :param program: that of the last run, and its version.
    """

    values: tuple[float, ...]
    runs: int
    failed: int
    disturbed: int
    first: str
    last: str
    nodes: tuple[str, ...]
    program: str


@dataclass(frozen=True)
class Proposal:
    """Propose a reference for one series, or give the reason for none.

    :param slot: its position in the file, None if that is unknown.
    :param series: the values of ``SERIES`` by field.
    :param action: ``new``, ``changed``, ``loosened`` (a bound further out, or a value that is worse),
        ``unchanged``, ``kept`` (it would be stricter, on too few runs) or ``refused``; :param why: of the
        last two.
    :param derived: the reference by the history, if it is long enough; :param reference: the list for the
        file, of the first three actions.
    """

    series: Mapping[str, Any]
    better: str
    history: History
    slot: Slot | None
    action: str
    why: str = ""
    derived: Derived | None = None
    reference: tuple[Any, ...] | None = None

    @property
    def name(self) -> str:
        """The name of the series in messages."""
        return f"{self.series['metric']} of {case_name(self.series)}"


def propose(
    frame: pl.DataFrame, file: ReferenceFile, min_passes: int = 5
) -> list[Proposal]:
    """Return a proposal for each series of the history.

    :param frame: records with :data:`COLUMNS`, of one system; records without a value are not looked at.
    :param min_passes: the least number of passes, each of which `compare` counts, too.
    :raises ReferenceError: if they are of a simulation: its references come from the documents.
    """
    frame = frame.filter(pl.col("metric").is_not_null() & pl.col("value").is_not_null())
    simulated = frame.filter(pl.col("evidence").is_not_null())
    if simulated.height:
        raise ReferenceError(
            f"{simulated['system'][0]} is simulated: its references come from published documents;"
            " `fabric-checks twin references` writes them"
        )
    found = [
        _of_series(series, records, file, min_passes)
        for series, records in records_by_series(frame)
    ]
    return _apart(found)


def _history(records: Sequence[Mapping[str, Any]]) -> History:
    # Two sources may have the same records.
    found = by_key(records, itemgetter("session", "time")).values()
    days = _days(records)
    last = records[-1]
    return History(
        values=tuple(median(each["value"] for each in several) for several in found),
        runs=len({each["session"] or each["time"] for each in records}),
        failed=sum(any(map(_has_failed, several)) for several in found),
        disturbed=sum(any(map(was_disturbed, several)) for several in found),
        first=days[0],
        last=days[-1],
        nodes=_nodes(records),
        program=f"{last['program']} {last['program_version'] or ''}".rstrip(),
    )


def _days(records: Sequence[Mapping[str, Any]]) -> list[str]:
    times = [each["time"] for each in records if each["time"] is not None]
    return [f"{time:%Y-%m-%d}" for time in times] or ["unknown"]


def _has_failed(record: Mapping[str, Any]) -> bool:
    return bool(record["case_result"] == "fail")


def _nodes(records: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    lists = (json.loads(record["nodelist"] or "[]") for record in records)
    return tuple(dict.fromkeys(str(node) for nodes in lists for node in nodes))


def _of_series(
    series: Mapping[str, Any],
    records: Sequence[Mapping[str, Any]],
    file: ReferenceFile,
    min_passes: int,
) -> Proposal:
    history = _history(records)
    proposal = Proposal(series, records[-1]["better"], history, None, "refused")
    try:
        slot = lookup.slot(file.entries, records[-1])
        proposal = replace(proposal, slot=slot)
        if len(history.values) < min_passes:
            raise ReferenceError(
                f"{count_text(len(history.values), 'pass', 'passes')}, but {min_passes} are needed"
            )
        derived = derive(history.values, records[-1]["better"])
    except ReferenceError as error:
        return replace(proposal, why=str(error))
    proposal = replace(proposal, derived=derived)
    old, unit = slot.reference, series["unit"]
    if old is None:
        new = (derived.value, derived.lower, derived.upper, unit)
        return replace(proposal, action="new", reference=new)
    why = ""
    if old[0] == "$xfail":
        why = f"expected to fail: {old[1]}; remove the $xfail first"
    elif old[3] != unit:
        why = f"the reference is in {old[3]}, but the records are in {unit}; fix that first"
    return replace(proposal, why=why) if why else _changed(proposal, old, derived)


def _changed(proposal: Proposal, old: Sequence[Any], derived: Derived) -> Proposal:
    """Return the proposal with its effect on the reference in the file."""
    smaller = proposal.better == "smaller"
    # A bound on values that are too good stays as it is.
    lower, upper = (old[1], derived.upper) if smaller else (derived.lower, old[2])
    new = (derived.value, lower, upper, old[3])
    outward = _outward(old, new, smaller=smaller)
    worse = (new[0] - old[0]) * (1 if smaller else -1)
    least = _NO_CHANGE * abs(old[0])
    if max(abs(worse), abs(outward)) <= least:
        return replace(proposal, action="unchanged")
    runs = proposal.history.runs
    if outward < -least and runs < MIN_RUNS_TO_TIGHTEN:
        why = f"would be stricter after {count_text(runs, 'run')}, but {MIN_RUNS_TO_TIGHTEN} are needed"
        return replace(proposal, action="kept", why=why)
    return replace(
        proposal,
        action="loosened" if max(worse, outward) > least else "changed",
        reference=new,
    )


def _outward(old: Sequence[Any], new: Sequence[Any], *, smaller: bool) -> float:
    """Return by how much the bound on the worse side moves outward; infinitely much inward if there was
    none."""
    before, after = (limit(each[0], each[2 if smaller else 1]) for each in (old, new))
    if before is None or after is None:
        return float("-inf")
    return float((after - before) * (1 if smaller else -1))


def _apart(proposals: Sequence[Proposal]) -> list[Proposal]:
    """Refuse series with a common slot, which neither the file's ``$index`` nor its patterns separate."""
    at = Counter(each.slot for each in proposals if each.slot)
    return [
        _refused(each, at[each.slot]) if each.slot and at[each.slot] > 1 else each
        for each in proposals
    ]


def _refused(proposal: Proposal, count: int) -> Proposal:
    why = (
        f"{count} series share this reference; separate them by $index or by keys first"
    )
    return replace(proposal, action="refused", reference=None, why=why)
