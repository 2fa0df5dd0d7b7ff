# SPDX-License-Identifier: BSD-3-Clause
"""Turn records into lines of a perflog, and lines into records.

A file has two kinds of lines. The first line of a case has all that its values share: the facts of its run
and, for each group of metrics that agree in them, the facts that the check declares. Then comes a short line
for each value::

    {"format":3,"case":"0f3a9c21ab7d","session":...,"metrics":[{"curves":{"latency":[1,2,4,8]},"better":"smaller"}]}
    {"case":"0f3a9c21ab7d","time":...,"environ":...,"test":...,"metric":"latency_8B","value":1.3,"unit":"us"}

A case is named by a checksum of its facts. What is null is left out, and so is the result of a value that
passed for want of a reference. Time, environment and test in the line of a value are for those who read it by
itself. Names of nodes are folded, and so are the CPUs of ranks: ``["n[1-8]", ["0", "1"]]`` are two ranks on
each of eight nodes, and ``["n[1-8]", "0-63", 64]`` are 64 ranks on each, which may all use the same CPUs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from fabric_checks.core.metrics import Unit, point
from fabric_checks.records import jsonlines, validation
from fabric_checks.records.folding import MOST, unfolded, unfolded_ranks
from fabric_checks.records.record import FIELDS, OF_CASE, OF_VALUE, Count, Name, Number, Text
from fabric_checks.records.table import Report
from fabric_checks.records.writing import PASSED, SHARED

#: The metrics of a case that failed before it had values.
NOTHING = b"[]"
#: How the lines of cases and values begin.
_LINE_OF_CASE = re.compile(rb'{"format": ?3, ?"case": ?"([^"\\]+)"')
_LINE_OF_VALUE = re.compile(rb'{"case": ?"([^"\\]+)"')
#: All that the line of a case can have.
ALL = frozenset(OF_CASE)


class Ranks(msgspec.Struct, array_like=True):
    """The ranks of some nodes, of which each has the same.

    :param nodes: their names, folded or not; :param cpus: the CPUs of each rank, or those that all have.
    :param count: how many ranks have these.
    """

    nodes: str | list[str]
    cpus: str | list[str]
    count: Annotated[int, Meta(ge=1, le=MOST)] = 1


class Value(msgspec.Struct):
    """The line of a value."""

    case: Name
    metric: Name
    value: Number
    unit: Unit
    reference: Number | None = None
    lower: Number | None = None
    upper: Number | None = None
    result: Name = PASSED


class _Group(msgspec.Struct):
    """What metrics have in common, and these metrics.

    ``curves`` has the message sizes of each quantity: its metrics have the names that :func:`point` gives.
    ``metrics`` are their own quantities, without a size, and ``others`` has quantity and size of each metric
    that is neither.
    """

    curves: dict[Name, list[Count]] = {}
    metrics: list[Name] = []
    others: dict[Name, tuple[Name | None, Count | None]] = {}
    better: Text | None = None
    one_way: bool | None = None
    headline: dict[str, Any] | None = None
    meaning: Text | None = None
    can_be_zero: bool | None = None
    compared: dict[str, Any] | None = None
    no_reference: Text | None = None
    evidence: Text | None = None
    reference_source: Text | None = None

    def each(self) -> Iterator[tuple[str, str | None, int | None]]:
        """Yield the metrics with quantity and size."""
        for quantity, sizes_B in self.curves.items():
            for size_B in sizes_B:
                yield point(quantity, size_B), quantity, size_B
        for metric in self.metrics:
            yield metric, metric, None
        for metric, (named, of_size_B) in self.others.items():
            yield metric, named, of_size_B


@lru_cache(maxsize=64)
def _decoder(columns: frozenset[str]) -> msgspec.json.Decoder[Any]:
    """Return the decoder of lines of cases that looks at some columns, besides those that every case has."""
    types = validation.TYPES | {
        "time": Annotated[datetime, Meta(tz=True)],
        "nodelist": str | list[str] | None,
        "placement": list[str | Ranks] | None,
    }
    fields: list[Any] = [(name, types[name]) for name in validation.REQUIRED]
    more = (name for name in OF_CASE if name in columns and name not in validation.REQUIRED)
    fields += [(name, types[name], None) for name in more]
    return msgspec.json.Decoder(
        msgspec.defstruct("Case", [*fields, ("metrics", msgspec.Raw, msgspec.Raw(NOTHING))])
    )


def case_line(line: bytes, columns: frozenset[str]) -> Any:
    """Read the line of a case.

    :param columns: the fields that are looked at, besides those that every case has.
    :returns: an object with these fields, and ``metrics``, the JSON that :func:`declared` reads.
    :raises ValueError: with the cause, if it is none.
    """
    try:
        case = _decoder(columns).decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(validation.cause_of(error, jsonlines.parsed(line))) from None
    validation.require_case(case.time, case.system)
    for name in columns & validation.MEMBERS.keys() & set(OF_CASE):
        validation.require(name, getattr(case, name))
    if "nodelist" in columns and case.nodelist is not None:
        case.nodelist = unfolded(case.nodelist)
    if "placement" in columns and case.placement is not None:
        case.placement = unfolded_ranks(case.placement)
    case.metrics = bytes(case.metrics)
    declared(case.metrics)
    return case


@lru_cache(maxsize=4096)
def declared(text: bytes) -> dict[str, dict[str, Any]]:
    """Return the declared facts of the metrics of a case by metric: all of :data:`OF_METRIC`.

    :raises ValueError: if they are none.
    """
    found = {}
    try:
        groups = msgspec.json.decode(text, type=list[_Group])
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError(validation.cause_of(error, field="metrics")) from None
    for group in groups:
        shared = {name: getattr(group, name) for name in SHARED}
        for name in ("headline", "compared"):
            validation.require(name, shared[name])
        for metric, quantity, size_B in group.each():
            found[metric] = {**shared, "quantity": quantity, "size_B": size_B}
    return found


def value_line(record: Mapping[str, Any]) -> Value:
    """Read the line of a value.

    :raises ValueError: with the cause, if it is none.
    """
    try:
        return msgspec.convert(record, Value)
    except msgspec.ValidationError as error:
        raise ValueError(validation.cause_of(error, record)) from None


def is_value(record: Mapping[str, Any]) -> bool:
    """Tell whether a line is of a value, and not of a case."""
    return "metric" in record or "value" in record


def records_of(path: Path, report: Report, about: str = "") -> Iterator[dict[str, Any]]:
    """Read the records of a file.

    :param report: gets number and cause of each line that is none; :param about: the session that is wanted;
        lines without its name are passed over unread.
    :raises OSError: if the file cannot be read.
    """
    found = _Found()
    wanted = json.dumps(about, ensure_ascii=False)[1:-1].encode()
    for block in jsonlines.blocks(path, report):
        for number, line in jsonlines.lines(block):
            if about and found.is_of_another(line, wanted):
                continue
            try:
                found.take(number, line)
            except ValueError as error:
                report(number, f"{jsonlines.CUT if jsonlines.is_cut(block, number) else ''}{error}")
    for name in found.values.keys() - found.cases.keys():
        report(found.first[name], validation.orphans(len(found.values[name])))
    for name, case in found.cases.items():
        if about in ("", case.session):
            yield from _joined(case, found.values.get(name, {}).values())


@dataclass
class _Found:
    """The cases of a file by name, their values by metric and value, and the numbers of the first lines of
    these.

    :param others: the names of cases of other sessions.
    """

    cases: dict[str, Any] = field(default_factory=dict)
    values: dict[str, dict[tuple[str, float], Value]] = field(default_factory=dict)
    first: dict[str, int] = field(default_factory=dict)
    others: set[bytes] = field(default_factory=set)

    def is_of_another(self, line: bytes, session: bytes) -> bool:
        """Tell whether a whole line is of a case of another session, or of a value of such a case."""
        if session in line or not (line.startswith(b"{") and line.endswith(b"}")):
            return False
        if case := _LINE_OF_CASE.match(line):
            self.others.add(case[1])
            return True
        value = _LINE_OF_VALUE.match(line)
        return bool(value and value[1] in self.others)

    def take(self, number: int, line: bytes) -> None:
        """Add a line.

        :raises ValueError: with the cause, if it is none, or was there before.
        """
        record = jsonlines.parsed(line)
        if is_value(record):
            value = value_line(record)
            self.first.setdefault(value.case, number)
            of_case = self.values.setdefault(value.case, {})
            if of_case.setdefault((value.metric, value.value), value) is not value:
                raise ValueError(validation.duplicates(1))
        else:
            case = case_line(line.removeprefix(jsonlines.BYTE_ORDER_MARK), ALL)
            if self.cases.setdefault(case.case, case) is not case:
                raise ValueError(validation.duplicates(1))


def _joined(case: Any, values: Collection[Value]) -> Iterator[dict[str, Any]]:
    """Yield the records of a case; one without a metric if it has no values."""
    common = dict.fromkeys(FIELDS) | {name: getattr(case, name) for name in OF_CASE}
    common |= {"time": case.time.isoformat(), "jobid": None if case.jobid is None else str(case.jobid)}
    facts = declared(case.metrics)
    for value in values:
        yield common | facts.get(value.metric, {}) | {name: getattr(value, name) for name in OF_VALUE}
    if not values and not facts:
        yield common
