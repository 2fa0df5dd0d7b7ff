# SPDX-License-Identifier: BSD-3-Clause
"""Messages on findings that are new, changed or closed, in the forms of their receivers.

They follow from the journal alone: whatever is killed, the next night or `fabric-checks findings send` makes the same.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

from fabric_checks.core.text import clean, markdown, shortened
from fabric_checks.nightly import journal
from fabric_checks.nightly.journal import Open
from fabric_checks.nightly.model import Acknowledgement, Night, grown
from fabric_checks.nightly.summary import as_dict, when
from fabric_checks.nightly.wall.gauges import kind_of
from fabric_checks.records.sessions import new_session_id, started

#: How long an alert lasts at Alertmanager if nothing ends it, which would otherwise do so itself after minutes.
LONGEST_ALERT = timedelta(days=365)
#: The longest text of a message, in characters: Slack refuses 3,000 in one block.
LONGEST = 2800

#: A message as receivers of the form ``json`` get it; the other forms are made of it.
Message = dict[str, Any]
_Named = tuple[str, Message]


def of_nights(system: str, entries: Sequence[Night | Acknowledgement], sessions: set[str]) -> Iterator[_Named]:
    """Yield the messages of nights that ended, each with the name of its file; names sort by night.

    :param entries: the journal; :param sessions: the nights that are meant.
    """
    for number, night in enumerate(entries):
        if not isinstance(night, Night) or not night.ended or night.session not in sessions:
            continue
        before, after = journal.still_open(entries[:number]), journal.still_open(entries[: number + 1])
        about = {"system": system, "session": night.session, "simulated": night.simulated}
        for event, found, (title, *lines) in _events(night, before, after):
            simulated = "simulated, " if night.simulated else ""
            yield f"{night.session}.{event}.{found.id}.json", {
                "event": event, "kind": kind_of(found.finding), "finding": as_dict(found),
                "title": clean(f"{system}, {simulated}{event} {found.id}: {title}"),
                "lines": [clean(line) for line in (*lines, f"night {night.session}")],
            } | about  # fmt: skip


def trial() -> _Named:
    """Return the key of a trial, and its message, an alert of which ends at once."""
    key, title = new_session_id(), "this is a trial; nothing is wrong"
    found = {"id": "trial", "since": key}
    return key, {"event": "closed", "system": "trial", "session": key, "title": title, "lines": [], "finding": found}


def body(message: Message, form: str, key: str) -> bytes:
    """Return the body of the request with a message; :param form: one of those of receivers."""
    return json.dumps(FORMS[form](message | {"key": key})).encode()


def _events(night: Night, before: Sequence[Open], after: Sequence[Open]) -> Iterator[tuple[str, Open, tuple[str, ...]]]:
    """Yield each event of a night, its finding, and lines of which the first is the title."""
    known = {each.id: each for each in before}
    for each in after:
        if each.since == night.session:
            yield "new", each, (each.finding.title, *each.finding.details)
        elif each.last == night.session and not each.known:
            more = each.beyond or grown(known[each.id].finding.signs, each.finding, "before")
            if more:
                yield "changed", each, (each.finding.title, f"more than before: {'; '.join(more[:6])}")
    left = {each.id for each in after}
    for each in before:
        if each.id not in left:
            merged = [other.id for other in after if other.finding.keys & each.finding.keys]
            why = f"it is part of {merged[0]} now" if merged else "this night would have shown it, and did not"
            dates = f"open since {when(each.since)}, last seen {when(each.last)}"
            yield "closed", each, (f"{each.finding.subject}: {why}", dates, f"it was: {each.finding.title}")


def _slack(message: Message) -> Message:
    """Return Slack's form: a block of plain text, in which nothing is markup, and the text of the notification."""
    text = shortened("\n".join([message["title"], *message["lines"]]), LONGEST)
    escaped = message["title"].replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    block = {"type": "section", "text": {"type": "plain_text", "text": text, "emoji": False}}
    return {"text": shortened(escaped, LONGEST), "blocks": [block]}


def _mattermost(message: Message) -> Message:
    first, *more = [markdown(shortened(line, LONGEST // 4)) for line in (message["title"], *message["lines"])]
    return {"text": "\n".join([f"**{first}**", *(f"- {line}" for line in more)])}


def _alertmanager(message: Message) -> list[Message]:
    """Return the form of Alertmanager's API v2: labels identify the alert, so they never change while it is open."""
    now = started(message["session"]) or datetime.now(timezone.utc)
    since = started(message["finding"]["since"]) or now
    ends = max(now, since) + (timedelta(0) if message["event"] == "closed" else LONGEST_ALERT)
    labels = {"alertname": "FabricFinding", "system": message["system"], "finding": message["finding"]["id"]}
    texts = {"summary": message["title"], "description": "\n".join(message["lines"])}
    return [{"labels": labels, "annotations": texts, "startsAt": since.isoformat(), "endsAt": ends.isoformat()}]


#: The forms of messages by name.
FORMS: dict[str, Callable[[Message], Any]] = {
    "json": Message, "slack": _slack, "mattermost": _mattermost, "alertmanager": _alertmanager,
}  # fmt: skip
