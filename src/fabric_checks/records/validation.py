# SPDX-License-Identifier: BSD-3-Clause
"""Validate records: the types of their fields, and those of lists and objects in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Annotated, Any, TypedDict

import msgspec
from msgspec import Meta

from fabric_checks.core.errors import quoted
from fabric_checks.core.finding import Finding
from fabric_checks.core.metrics import Headline, Unit
from fabric_checks.records.record import FORMAT, HINTS, Number

#: Fields that every case has, and those that every value has. They are checked whatever is asked for.
REQUIRED = (
    "format", "case", "session", "time", "system", "partition", "environ", "check", "test",
    "metric", "value", "unit",
)  # fmt: skip

#: Earlier times are of a clock that was never set; later ones exceed the calendars of some programs.
_FIRST, _END = (datetime(year, 1, 1, tzinfo=timezone.utc) for year in (1970, 2201))
#: The name of a system is part of that of a folder, where a byte takes three.
_LONGEST_SYSTEM_B = 80


@dataclass(frozen=True, kw_only=True)
class _Finding(Finding):
    size: Number | None = None


class _Compared(TypedDict):
    metric: str
    quantity: str
    unit: str
    values: Annotated[dict[str, Number], Meta(min_length=1)]


class _Port(TypedDict, total=False):
    sent_B: float | None
    received_B: float | None
    rate_MBps: float | None
    errors: dict[str, float]


class _Nodes(TypedDict):
    nodes: dict[str, dict[str, _Port]]


class _Ports(_Nodes, total=False):
    carried_B: dict[str, float]


#: Lists and objects whose items have known members, and may have more.
MEMBERS: dict[str, Any] = {
    "headline": Headline,
    "findings": list[_Finding],
    "compared": _Compared,
    "ports": _Ports,
    "parameters": dict[str, str | int | float],
}
#: The types of fields in full.
TYPES: dict[str, Any] = {
    **HINTS,
    "format": Annotated[int, Meta(ge=FORMAT, le=FORMAT)],
    "unit": Unit,
}


def require(name: str, value: Any) -> None:
    """Require that a list or an object has the members that its field has.

    :raises ValueError: with the name and the fault.
    """
    if value is None:
        return
    try:
        msgspec.convert(value, MEMBERS[name])
    except (msgspec.ValidationError, RecursionError) as error:
        raise ValueError(cause_of(error, field=name)) from None


def require_case(time: datetime, system: str) -> None:
    """Require a time that a clock can have had, and a name of a system that can be that of a folder.

    :raises ValueError: with the fault.
    """
    if not _FIRST <= time < _END:
        raise ValueError("the time is not in the years 1970 to 2200")
    if len(system.encode()) > _LONGEST_SYSTEM_B:
        raise ValueError(f"'system' is longer than {_LONGEST_SYSTEM_B} bytes")


def cause_of(
    error: Exception, record: Mapping[str, Any] | None = None, field: str = ""
) -> str:
    """Return the cause of an error of msgspec, the field first.

    :param record: the line that it is about; :param field: or the field that was looked at.
    """
    if record and "format" in record and record["format"] != FORMAT:
        return (
            f"format {quoted(str(record['format'])[:60])} belongs to a different release; read it with that"
            " release"
        )
    if isinstance(error, RecursionError):
        return "not a JSON object (nested too deeply)"
    text, _, path = str(error).partition(" - at `$")
    name = (field + path.rstrip("`")).lstrip(".")
    where = f"'{name}': " if name else ""
    return f"{where}{text[0].lower()}{text[1:]}"
