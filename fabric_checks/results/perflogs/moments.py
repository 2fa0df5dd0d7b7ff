# SPDX-License-Identifier: BSD-3-Clause
"""When a record was made."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any


def moment(record: Mapping[str, Any]) -> datetime:
    """Return when a record was made; that of a case which failed too early to have a time is its session's start.

    So a record that is sent again has the same time, and the store has it once.
    """
    for text, form in ((record["time"], None), (str(record["session"])[:16], "%Y%m%dT%H%M%SZ")):
        try:
            found = datetime.fromisoformat(text) if form is None else datetime.strptime(text, form)
        except (TypeError, ValueError):
            continue
        return found if found.tzinfo else found.replace(tzinfo=timezone.utc)
    return datetime.now(timezone.utc)
