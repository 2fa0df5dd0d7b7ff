# SPDX-License-Identifier: BSD-3-Clause
"""Read the findings of a record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fabric_checks.core.finding import Finding


def findings_of(record: Mapping[str, Any]) -> list[Finding]:
    """Return the findings of a record.

    :raises KeyError, TypeError, ValueError: if one is none; validation leaves no such record.
    """
    return parsed(record.get("findings") or ())


def parsed(data: Iterable[Mapping[str, Any]]) -> list[Finding]:
    """Return findings from the plain data of a record."""
    return list(map(Finding.of, data))
