# SPDX-License-Identifier: BSD-3-Clause
"""Pages for the tests of the report."""

import json
from datetime import datetime, timezone
from pathlib import Path

import pytest

from fabric_checks.report import page
from fabric_checks.report.collection import collect
from tests.report import records

HERE = Path(__file__).resolve().parent
WRITTEN = datetime(2026, 11, 21, 12, tzinfo=timezone.utc)


def html_of(rows, faults=()):
    """Return the page about records."""
    results = collect(records.frame(rows), faults)
    return page.render("A report", page.sections(results), WRITTEN)


def twins():
    """Return the records of the thirteen simulated clusters."""
    found = [
        json.loads(line) for line in (HERE / "twins.jsonl").read_text().splitlines()
    ]
    return [row | {"time": datetime.fromisoformat(row["time"])} for row in found]


@pytest.fixture(scope="session")
def full_page():
    """A machine on which everything was measured, and a simulated one of which little is known."""
    return html_of(
        [*records.everything(), *(row for row in twins() if row["partition"] == "cbc")],
        ["a.jsonl:3: half"],
    )


@pytest.fixture(scope="session")
def twins_page():
    """The thirteen simulated clusters."""
    return html_of(twins())
