# SPDX-License-Identifier: BSD-3-Clause
"""Change points, as the report says them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import polars as pl

from fabric_checks.comparison.changes import OPEN, find_changes
from fabric_checks.comparison.events import events_of
from fabric_checks.core.text import test_text
from fabric_checks.report.html.collecting import with_machines
from fabric_checks.report.html.values import clean
from fabric_checks.report.terminal.changes import circumstance_text


@dataclass(frozen=True)
class Changed:
    """Values of one case that changed at about one time.

    :param case: which; :param text: when, by how much, and what else changed then.
    :param is_open: whether they are worse since and still are.
    :param at: the first run after it. :param series: (test, metric) of the values.
    """

    machine: str
    case: str
    text: str
    is_open: bool
    at: datetime
    series: frozenset[tuple[str, str]]


def change_points(frame: pl.DataFrame) -> list[Changed]:
    """Return the changes of every series of every machine, see :func:`fabric_checks.comparison.changes.find_changes`.

    :param frame: records, with the columns that :func:`fabric_checks.report.html.collecting.collect` needs.
    """
    changed = []
    for (machine,), records in with_machines(frame).partition_by("machine", as_dict=True).items():
        for event in events_of(find_changes(records.drop("machine")).changes):
            causes = "; ".join(map(circumstance_text, event.circumstances))
            also = f"What else changed: {causes}" if causes else "Nothing else changed in the records."
            series = frozenset((change.test, change.metric) for change in event.changes)
            text = clean(f"{event.sentence()}. {also}")
            first = event.changes[0]
            case = clean(f"{test_text(first.check, first.parameters)} {first.layout}")
            changed.append(Changed(str(machine), case, text, event.state == OPEN, event.at, series))
    return changed
