# SPDX-License-Identifier: BSD-3-Clause
"""Show a night on the wall: its gauges, and messages to the receivers that are given."""

from __future__ import annotations

from collections.abc import Sequence

from fabric_checks.nightly import journal
from fabric_checks.nightly.plan import Plan, Trouble
from fabric_checks.nightly.summary import Summary
from fabric_checks.nightly.wall import gauges, receivers
from fabric_checks.nightly.wall.outbox import Outbox
from fabric_checks.records.record import Record


class Wall:
    """The gauges and messages of a night; :param plan: of it; :param trouble: gets what goes wrong."""

    def __init__(self, plan: Plan, trouble: Trouble) -> None:
        self._plan, self._trouble, self._outbox = plan, trouble, Outbox(plan.folder)
        self.records: Sequence[Record] = ()  # those of the night, once there are any
        found = trouble.attempt("the receivers", lambda: receivers.read(plan.receivers) if plan.receivers else [])
        self._known = found or []
        self._write_messages()  # a new receiver gets those of the nights from this one on, even if this one is killed

    def show(self, summary: Summary) -> list[str]:
        """Write the gauges, send the messages, and write how many wait; return warnings, a line each."""
        lines = self._write_gauges(summary)
        if self._known or any(self._outbox.waiting().values()):
            self._write_messages(self._plan.session)
            lines += self._trouble.attempt("the messages", lambda: self._outbox.send(self._known)) or []
            self._write_gauges(summary)
        return lines

    def _write_messages(self, judged: str = "") -> None:
        entries = journal.read(self._plan.journal, [])
        self._trouble.attempt("the outbox", lambda: self._outbox.write(self._known, entries, judged))

    def _write_gauges(self, summary: Summary) -> list[str]:
        plan = self._plan
        found = gauges.of_night(summary.night, summary.news, self.records, self._outbox.waiting())
        folder = plan.metrics or plan.folder
        return self._trouble.attempt("the gauges", lambda: gauges.write(folder, "night", plan.system, found)) or []
