# SPDX-License-Identifier: BSD-3-Clause
"""Read the findings of a record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fabric_checks.core.finding import Finding, Severity

_NOTES = frozenset({"not repeated", "slowest pair", "plateaus", "sharing", "limits", "not measured", "by switch"})
_NOTES |= {"groups", "by leaf", "protocol switch", "blocking wait", "topology", "wire", "container"}


def findings_of(record: Mapping[str, Any]) -> list[Finding]:
    """Return the findings of a record.

    :raises KeyError, TypeError, ValueError: if one is none; validation leaves no such record.
    """
    return parsed(record.get("findings") or ())


def parsed(data: Iterable[Mapping[str, Any]]) -> list[Finding]:
    """Return findings from the plain data of a record."""
    return [Finding.of(each) if "severity" in each else _of_before(each) for each in data]


def _of_before(data: Mapping[str, Any]) -> Finding:
    # Until diagnosis/ gives findings with a severity.
    kind, fault = str(data.get("kind", "")), data.get("fault")
    severity = Severity.FAULT if fault or fault is None else Severity.SUSPECT
    severity = Severity.NOTE if not fault and kind in _NOTES else severity
    size, unit = data.get("excess_us"), "us"
    if size is None:
        size, unit = None if data.get("share") is None else max(1 - float(data["share"]), 0.0), "share"
    known = ("kind", "text", "hosts", "part", "details", "fault")
    more = {name: value for name, value in data.items() if name not in known}
    return Finding(
        kind=kind,
        severity=severity,
        text=str(data["text"]),
        part=str(data.get("part") or ""),
        hosts=tuple(data.get("hosts") or ()),
        size=size,
        size_unit=unit,
        details=tuple(data.get("details") or ()),
        data=more,
    )
