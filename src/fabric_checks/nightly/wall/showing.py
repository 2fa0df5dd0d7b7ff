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
    """The gauges and messages of a night.

    :param plan: of the night; :param trouble: gets what goes wrong.
    """

    def __init__(self, plan: Plan, trouble: Trouble) -> None:
        self._plan, self._trouble = plan, trouble
        self._outbox = Outbox(plan.outbox, plan.system)
        path, self._known = plan.receivers, list[receivers.Receiver]()
        if path:
            self._known = trouble.attempt("the receivers", lambda: receivers.read(path)) or []

    def begin(self) -> None:
        """Note that receivers get the messages of this night, before anything is known of it."""
        entries = journal.read(self._plan.journal, [])
        self._trouble.attempt("the outbox", lambda: self._outbox.begin(self._known, entries))

    def show(self, summary: Summary, records: Sequence[Record]) -> list[str]:
        """Write the gauges, send the messages, and write how many wait; return warnings, a line each."""
        lines = self._write(summary, records)
        if not self._known and not any(self._outbox.waiting().values()):
            return lines
        entries, judged = journal.read(self._plan.journal, []), [self._plan.session]
        self._trouble.attempt("the outbox", lambda: self._outbox.put(self._known, entries, judged))
        lines += self._trouble.attempt("the messages", lambda: self._outbox.send(self._known)) or []
        self._write(summary, records)
        return lines

    def _write(self, summary: Summary, records: Sequence[Record]) -> list[str]:
        plan = self._plan
        found = gauges.of_night(summary.night, summary.news, records, self._outbox.waiting())
        folder = plan.metrics or plan.folder
        return self._trouble.attempt("the gauges", lambda: gauges.write(folder, "night", plan.system, found)) or []
