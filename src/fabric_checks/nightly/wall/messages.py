# SPDX-License-Identifier: BSD-3-Clause
"""Messages on findings that are new, changed or closed, in the forms of their receivers.

They follow from the journal alone: whatever is killed, the next night or `fabric-checks findings send` makes the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

from fabric_checks.core.text import clean, shortened
from fabric_checks.core.text import markdown as plain
from fabric_checks.nightly import journal
from fabric_checks.nightly.journal import Entry, Open
from fabric_checks.nightly.model import Finding, grown
from fabric_checks.nightly.summary import as_dict, when
from fabric_checks.nightly.wall.gauges import kind_of
from fabric_checks.records.sessions import new_session_id, started

#: How long an alert lasts at Alertmanager if nothing ends it, which would otherwise do so itself after minutes.
LONGEST_ALERT = timedelta(days=365)
#: The longest text of a message, in characters: Slack refuses 3,000 in one block.
LONGEST = 2800


@dataclass(frozen=True)
class Message:
    """A message on a finding.

    :param event: ``new``, ``changed`` or ``closed``; :param session: the night that saw it.
    :param lines: the first says what has happened, the others more of it.
    """

    event: str
    system: str
    session: str
    entry: Open
    lines: tuple[str, ...]
    simulated: bool = False

    @property
    def name(self) -> str:
        """Return a name that is unique among those of a receiver and system; names sort by night."""
        return f"{self.session}.{self.event}.{self.entry.id}"

    def body(self, form: str, key: str) -> str:
        """Return the body of its request; :param form: one of those of receivers."""
        return json.dumps(_BODIES[form](self, key))


def of_nights(system: str, entries: Sequence[Entry | Any], sessions: set[str]) -> Iterator[Message]:
    """Yield the messages of nights that ended.

    :param entries: the journal; :param sessions: the nights that are meant.
    """
    for entry, before, after in journal.steps(entries):
        if entry.ended and entry.session in sessions:
            for event, each, lines in _events(entry, before, after):
                yield Message(event, system, entry.session, each, lines, entry.simulated)


def trial(form: str) -> tuple[str, str]:
    """Return the key and the body of a message to no purpose, which ends itself at Alertmanager."""
    session = new_session_id()
    finding = Finding("this is a trial; nothing is wrong", (), frozenset({"trial"}), frozenset(), subject="nothing")
    return session, Message(
        "closed", "trial", session, Open(finding, session, session, id="trial"), (finding.title,)
    ).body(form, session)


def _events(night: Entry, before: Sequence[Open], after: Sequence[Open]) -> Iterator[tuple[str, Open, tuple[str, ...]]]:
    known = {each.id: each for each in before}
    for each in after:
        if each.since == night.session:
            yield "new", each, (each.finding.title, *each.finding.details)
        elif each.last == night.session and not each.known:
            more = each.beyond or tuple(grown(known[each.id].finding.signs, each.finding, "before"))
            if more:
                yield "changed", each, (each.finding.title, f"more than before: {'; '.join(more[:6])}")
    left = {each.id for each in after}
    for each in before:
        if each.id not in left:
            merged = [other.id for other in after if other.finding.keys & each.finding.keys]
            why = f"it is part of {merged[0]} now" if merged else "this night would have shown it, and did not"
            dates = f"open since {when(each.since)}, last seen {when(each.last)}"
            yield "closed", each, (f"{each.finding.subject}: {why}", dates, f"it was: {each.finding.title}")


def _title(message: Message) -> str:
    simulated = "simulated, " if message.simulated else ""
    return clean(f"{message.system}, {simulated}{message.event} {message.entry.id}: {message.lines[0]}")


def _more(message: Message) -> list[str]:
    return [clean(line) for line in (*message.lines[1:], f"night {message.session}")]


def _as_json(message: Message, key: str) -> dict[str, Any]:
    return {
        "key": key,
        "event": message.event,
        "system": message.system,
        "session": message.session,
        "simulated": message.simulated,
        "kind": kind_of(message.entry.finding),
        "title": _title(message),
        "lines": _more(message),
        "finding": as_dict(message.entry),
    }


def _as_slack(message: Message, key: str) -> dict[str, Any]:
    """Return Slack's form: a block of plain text, in which nothing is markup, and the text of the notification."""
    text = shortened("\n".join([_title(message), *_more(message)]), LONGEST)
    escaped = _title(message).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    block = {"type": "section", "text": {"type": "plain_text", "text": text, "emoji": False}}
    return {"text": shortened(escaped, LONGEST), "blocks": [block]}


def _as_mattermost(message: Message, key: str) -> dict[str, Any]:
    first, *more = [plain(shortened(line, LONGEST // 4)) for line in (_title(message), *_more(message))]
    return {"text": "\n".join([f"**{first}**", *(f"- {line}" for line in more)])}


def _as_alerts(message: Message, key: str) -> list[dict[str, Any]]:
    """Return the form of Alertmanager's API v2: labels identify the alert, so they never change while it is open."""
    now = started(message.session) or datetime.now(timezone.utc)
    since = started(message.entry.since) or now
    ends = max(now, since) + (timedelta(0) if message.event == "closed" else LONGEST_ALERT)
    labels = {"alertname": "FabricFinding", "system": message.system, "finding": message.entry.id}
    return [
        {
            "labels": labels,
            "annotations": {"summary": _title(message), "description": "\n".join(_more(message))},
            "startsAt": since.isoformat(),
            "endsAt": ends.isoformat(),
        }
    ]


_BODIES = {"json": _as_json, "slack": _as_slack, "mattermost": _as_mattermost, "alertmanager": _as_alerts}
