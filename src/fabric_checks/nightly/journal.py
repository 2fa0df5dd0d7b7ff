# SPDX-License-Identifier: BSD-3-Clause
"""Keep the journal of a system's nights, and tell what is new, still open and closed after each.

It has a line of JSON for each night that begins, one for each that was judged, and one for each
acknowledgement. Dates decide nothing here, because clocks are set; only an acknowledgement ends on its day. A
night that is judged again replaces its own line and no other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from enum import Enum
from pathlib import Path

import msgspec

from fabric_checks.core import files
from fabric_checks.core.errors import RecordError
from fabric_checks.core.text import one_line
from fabric_checks.nightly import sight
from fabric_checks.nightly.model import Acknowledgement, Entry, Night
from fabric_checks.nightly.plan import journals
from fabric_checks.records import jsonlines, perflog
from fabric_checks.records.sessions import started


class State(Enum):
    """What a finding is after a night."""

    #: Seen for the first time, or more than was acknowledged.
    NEW = "new"
    #: Seen before, too.
    STILL = "open"
    #: Not seen, but no case was measured that would have shown a fault of its size.
    UNSEEN = "not looked at"
    #: Not seen, although a case that showed it was measured again and would have shown it.
    CLOSED = "closed"
    #: Open, but not to be reported again, whether it was seen or not.
    ACKNOWLEDGED = "acknowledged"


@dataclass(frozen=True)
class Open:
    """A finding that was open after a night.

    :param since: the night that saw it first; :param last: the one that saw it last; :param nights: how many
        did.
    :param id: its name as long as it is open. :param state: after the last night.
    :param acknowledged: its acknowledgement, if it has one that was not exceeded; its day may be over.
    :param beyond: how the last night that saw it exceeded its acknowledgement, if it did.
    :param why_open: why the last night that did not see it does not close it, if there is one.
    """

    finding: Entry
    since: str
    last: str
    nights: int = 1
    id: str = ""
    state: State = State.NEW
    acknowledged: Acknowledgement | None = None
    beyond: tuple[str, ...] = ()
    why_open: str = ""


def append(path: Path, entry: Night | Acknowledgement) -> None:
    """Note a night that begins or was judged, or an acknowledgement.

    :raises RecordError: if the journal cannot be written.
    """
    try:
        perflog.append(path, msgspec.to_builtins(entry, order="deterministic"))
    except OSError as error:
        raise RecordError(
            f"{path}: {error.strerror}: it is not in the journal; fix that"
        ) from None


def read(path: Path, warnings: list[str]) -> list[Night | Acknowledgement]:
    """Return nights and acknowledgements in their order; none if there is no journal.

    :param warnings: gets a line for each that cannot be read; it is passed over.
    """
    entries: dict[
        str | int, Night | Acknowledgement
    ] = {}  # by session, an acknowledgement by its line
    try:
        lines = files.read_bytes(path).splitlines()
    except FileNotFoundError:
        return []
    except OSError as error:
        warnings.append(
            f"{path}: {error.strerror}; what earlier nights found is unknown"
        )
        return []
    for number, line in enumerate(lines, 1):
        try:
            entry = msgspec.convert(jsonlines.parsed(line), Night | Acknowledgement)
        except (ValueError, msgspec.ValidationError) as error:
            why = one_line(str(error))
            warnings.append(
                f"{path}:{number}: not a line of a journal: {why}; it is skipped: delete it"
            )
        else:
            entries[entry.session if isinstance(entry, Night) else number] = entry
    return list(entries.values())


def still_open(entries: Iterable[Night | Acknowledgement]) -> list[Open]:
    """Return the findings that are not over after all that a journal has."""
    opened: list[Open] = []
    for entry in entries:
        if isinstance(entry, Night):
            opened = [
                each for each in _after(opened, entry) if each.state is not State.CLOSED
            ]
        else:
            opened = [
                replace(each, acknowledged=entry, beyond=())
                if each.id == entry.finding_id
                else each
                for each in opened
            ]
    return opened


def all_open(
    results: Path, warnings: list[str], system: str | None = None
) -> dict[str, list[Open]]:
    """Return the open findings of all nights in a folder of results by system, or of one system.

    :param warnings: as of :func:`read`.
    """
    return {
        name: still_open(read(path, warnings))
        for name, path in journals(results).items()
        if system in (None, name)
    }


def news(entries: Sequence[Night | Acknowledgement], night: Night) -> list[Open]:
    """Return the findings of a night and of those before it, each with its state.

    :param entries: the journal; the night itself and the nights that were judged after it do not count, but
        acknowledgements that were given since do.
    """
    sessions = [each.session if isinstance(each, Night) else "" for each in entries]
    at = sessions.index(night.session) if night.session in sessions else len(entries)
    since = [entry for entry in entries[at:] if isinstance(entry, Acknowledgement)]
    return _after(still_open([*entries[:at], *since]), night, since)


def _after(
    left: Sequence[Open], night: Night, since: Sequence[Acknowledgement] = ()
) -> list[Open]:
    """Return the findings that were open before a night, and those that it found, with their states.

    :param since: acknowledgements of what the night found.
    """
    given = {each.finding_id: each for each in since}
    after: list[Open] = []
    for finding in night.findings:
        # Two of before may turn out to be one.
        same = [each for each in left if each.finding.keys & finding.keys]
        left = [each for each in left if each not in same]
        if same:
            after.append(_seen_again(same, finding, night.session))
        else:
            name = "\n".join((night.session, *sorted(finding.keys)))
            name = hashlib.sha256(name.encode()).hexdigest()[:8]
            known = given.get(name)
            after.append(
                Open(finding, night.session, night.session, id=name, acknowledged=known)
            )
    for each in left:
        why = sight.why_open(each.finding, night.measured, night.limits)
        after.append(replace(each, why_open=why))
    return [replace(each, state=_state(each, night.session)) for each in after]


def _seen_again(same: Sequence[Open], finding: Entry, session: str) -> Open:
    """Return what findings of before have become; what is more than was acknowledged is not acknowledged any
    more."""
    known = next((each.acknowledged for each in same if each.acknowledged), None)
    beyond = known.exceeded_by(finding) if known else []
    return replace(
        same[0], finding=finding, last=session, nights=same[0].nights + 1,
        acknowledged=None if beyond else known, beyond=tuple(beyond), why_open="",
    )  # fmt: skip


def _state(each: Open, session: str) -> State:
    """Return the state of a finding after a night, by whose day acknowledgements end."""
    is_seen = each.last == session
    if not (is_seen or each.why_open):
        return State.CLOSED
    day = (started(session) or datetime.now(timezone.utc)).date()
    if each.acknowledged and day <= each.acknowledged.until:
        return State.ACKNOWLEDGED
    if not is_seen:
        return State.UNSEEN
    return State.NEW if each.since == session or each.beyond else State.STILL
