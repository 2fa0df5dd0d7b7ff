# SPDX-License-Identifier: BSD-3-Clause
"""Contracts and sessions for the tests: a session a day, one record each."""

from datetime import datetime, timedelta, timezone

import yaml

from fabric_offers.acceptance import clauses
from tests.builders import record

#: Noon of the first day.
FIRST = datetime(2026, 11, 1, 12, tzinfo=timezone.utc)
CLAUSE = {
    "name": "rate",
    "check": "A",
    "metric": "rate",
    "good": 100,
    "bad": 90,
    "spread": 0.03,
}
TOP = {"title": "Acceptance", "system": "s", "most": 20, "correlation": 0}


def contract(folder, *given, **top):
    """Write clauses and read them."""
    path = folder / "c.yaml"
    path.write_text(yaml.safe_dump({**TOP, **top, "clauses": given or [CLAUSE]}))
    return clauses.read(path)


def run(day, value=100.0, hours=0.0, **changes):
    """Return the record of a run of the session of a day; with hours, of another session of that day."""
    began = FIRST + timedelta(days=day, hours=hours)
    session = f"{began:%Y%m%dT%H%M%SZ}-abcd"
    own = {
        "session": session, "time": began.isoformat(), "metric": "rate", "quantity": "rate", "value": value,
        "unit": "MB/s", "better": "larger", "output": f"output/{session}/s/p/e/A_1",
    }  # fmt: skip
    return record(day, **{**own, **changes})


def failed(day, **changes):
    """Return the record of a run that failed before it had a value."""
    return run(
        day,
        None,
        metric=None,
        case_result="fail",
        fail_reason="node n1 is down",
        **changes,
    )
