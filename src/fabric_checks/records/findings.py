# SPDX-License-Identifier: BSD-3-Clause
"""Read the findings of a record."""

from __future__ import annotations

import msgspec

from fabric_checks.core.finding import Finding
from fabric_checks.records.record import Record


def findings_of(record: Record) -> list[Finding]:
    """Return the findings of a record.

    :raises msgspec.ValidationError: if one is none; validation leaves no such record.
    """
    return msgspec.convert(record.get("findings") or [], list[Finding])
