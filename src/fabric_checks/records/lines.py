# SPDX-License-Identifier: BSD-3-Clause
"""Turn the lines of perflogs into tables of records.

A line has a case: the facts of its run, and in ``metrics`` its values, in groups that agree in what the check
declares of them::

    {"case":"0f3a9c21ab7d","format":3,"session":...,"metrics":[{"unit":"us","quantity":"latency","better":"smaller",
     "values":[{"metric":"latency_1B","size_B":1,"value":1.3},{"metric":"latency_2B","size_B":2,"value":1.31}]}]}

A case is named by a checksum of its line. What is null is left out, and so is the result of a value that
passed for want of a reference. Names of nodes are folded, and so are the CPUs of ranks:
``["n[1-8]", ["0", "1"]]`` are two ranks on each of eight nodes, and ``["n[1-8]", "0-63", 64]`` are 64 ranks
on each, which may all use the same CPUs.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime, timezone
from functools import lru_cache
from typing import Annotated, Any

import msgspec
import polars as pl
from msgspec import Meta

from fabric_checks.records import jsonlines, validation
from fabric_checks.records.folding import unfolded, unfolded_ranks
from fabric_checks.records.record import OF_CASE, OF_GROUP, OF_VALUE
from fabric_checks.records.table import COLUMNS, NESTED, PLACEMENT, REPEATED
from fabric_checks.records.writing import PASSED

#: The types of fields in lines.
_TYPES = validation.TYPES | {
    "time": Annotated[datetime, Meta(tz=True)],
    "nodelist": str | list[str] | None,
    "placement": PLACEMENT | None,
}


@lru_cache(maxsize=64)
def _decoder(columns: frozenset[str]) -> msgspec.json.Decoder[Any]:
    """Return the decoder of lines that looks at some columns, besides those that every record has."""
    value: Any = msgspec.defstruct("Value", _members(OF_VALUE, columns), gc=False)
    group: Any = msgspec.defstruct(
        "Group", [("values", list[value]), *_members(OF_GROUP, columns)]
    )
    metrics: tuple[Any, ...] = ("metrics", list[group], [])
    case = msgspec.defstruct("Case", [*_members(OF_CASE, columns), metrics])
    return msgspec.json.Decoder(case)


def _members(names: Sequence[str], columns: frozenset[str]) -> list[Any]:
    """Return names, types and defaults of those fields that are required, and of others that are wanted."""
    required = [(name, _TYPES[name]) for name in names if name in validation.REQUIRED]
    wanted = columns - {*validation.REQUIRED}
    return required + [
        (name, _TYPES[name], PASSED if name == "result" else None)
        for name in names
        if name in wanted
    ]


def case_of(line: bytes, columns: frozenset[str]) -> Any:
    """Read a line.

    :param columns: the fields that are looked at, besides those that every record has.
    :returns: an object with these fields of the case; ``metrics``, a list of objects with those of a group;
        and in ``values`` of each a list of objects with those of a value.
    :raises ValueError: with the cause, if it is no case.
    """
    try:
        case = _decoder(columns).decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(validation.cause_of(error, jsonlines.parsed(line))) from None
    validation.require_case(case.time, case.system)
    for holder in (case, *case.metrics):
        for name in columns & validation.MEMBERS.keys() & {*holder.__struct_fields__}:
            validation.require(name, getattr(holder, name))
    if "nodelist" in columns and case.nodelist is not None:
        case.nodelist = unfolded(case.nodelist)
    if "placement" in columns and case.placement is not None:
        unfolded_ranks(case.placement)  # which is kept, as it is a thousandth of that
    return case


class Table:
    """Collect cases, and turn them into a table of records, repeated text in categories.

    A case without values has a record whose metric and value are null.
    """

    def __init__(self, columns: frozenset[str]) -> None:
        self._of_case, self._of_group, of_value = (
            [name for name in names if name in columns]
            for names in (OF_CASE, OF_GROUP, OF_VALUE)
        )
        self._values: dict[str, list[Any]] = {name: [] for name in of_value}
        # What the values of a group share, and for each value the number of its group.
        self._groups: list[list[Any]] = []
        self._numbers: list[int] = []

    def add(self, case: Any) -> None:
        """Add a case, as :func:`case_of` returns it."""
        facts = [_cell(name, getattr(case, name)) for name in self._of_case]
        for group in case.metrics:
            self._numbers += [len(self._groups)] * len(group.values)
            self._groups.append(
                [
                    *facts,
                    *(_cell(name, getattr(group, name)) for name in self._of_group),
                ]
            )
            for name, column in self._values.items():
                column += [getattr(value, name) for value in group.values]
        if not case.metrics:
            self._numbers.append(len(self._groups))
            self._groups.append([*facts, *(None for _ in self._of_group)])
            for column in self._values.values():
                column.append(None)

    def frame(self) -> pl.DataFrame:
        """Return the records of the cases, in their order."""
        names = [*self._of_case, *self._of_group]
        groups = pl.DataFrame(
            self._groups, {name: COLUMNS[name] for name in names}, orient="row"
        )
        values = pl.DataFrame(
            self._values, {name: COLUMNS[name] for name in self._values}
        )
        return _compact(groups)[self._numbers].hstack(_compact(values))


def _cell(name: str, value: Any) -> Any:
    """Return a field as its column has it."""
    if value is None:
        return None
    if name == "time":
        return value.astimezone(timezone.utc)
    if name in NESTED:
        return json.dumps(value, ensure_ascii=False)
    return str(value) if name == "jobid" else value


def _compact(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(
        pl.col(name).cast(pl.Categorical) for name in REPEATED if name in frame.columns
    )
