# SPDX-License-Identifier: BSD-3-Clause
"""The journal of a system's nights: the findings of each, so that the next can tell which are new and which
closed.

It has a line of JSON for each night, in the order in which they were judged, and one for each that begins.
Dates decide nothing here, because clocks are set; only an acknowledgement ends on its day. A night that is
judged again replaces its own line and no other. An acknowledgement is a line of its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from fabric_checks.core import files
from fabric_checks.core.errors import RecordError
from fabric_checks.core.text import one_line
from fabric_checks.nightly import sight
from fabric_checks.nightly.model import Acknowledgement, Entry, Night, grown, parted
from fabric_checks.records import jsonlines, perflog
from fabric_checks.records.sessions import started


@dataclass(frozen=True)
class Open:
    """A finding that is not closed.

    :param since: the night that saw it first; :param last: the one that saw it last; :param nights: how many
        did.
    :param id: its name as long as it is open.
    :param known: its acknowledgement, if it has one that was not exceeded; its day may be over.
    :param beyond: how the last night that saw it exceeded its acknowledgement, if it did.
    :param why_open: why the last night that did not see it does not close it, if there is one.
    """

    finding: Entry
    since: str
    last: str
    nights: int = 1
    id: str = ""
    known: Acknowledgement | None = None
    beyond: tuple[str, ...] = ()
    why_open: str = ""


@dataclass(frozen=True)
class News:
    """A night's findings against those of the nights before.

    :param new: seen for the first time, or more than was acknowledged; :param still: seen before too.
    :param closed: not seen, although a case that showed it was measured again and would have shown it.
    :param unseen: open, and not looked at: no case was measured that would have shown a fault of its size.
    :param acknowledged: open, but not to be reported again, whether it was seen or not.
    """

    new: tuple[Open, ...] = ()
    still: tuple[Open, ...] = ()
    closed: tuple[Open, ...] = ()
    unseen: tuple[Open, ...] = ()
    acknowledged: tuple[Open, ...] = ()


def begin(path: Path, session: str, level: str) -> bool:
    """Note that a night begins; return that it is noted.

    :raises RecordError: if the journal cannot be written.
    """
    _append(path, {"session": session, "level": level, "ended": False})
    return True


def end(path: Path, night: Night) -> None:
    """Note the findings of a night.

    :raises RecordError: if the journal cannot be written.
    """
    line = {
        "session": night.session,
        "level": night.level,
        "ended": True,
        "verdict": night.verdict.value,
        "findings": [finding.as_dict() for finding in night.findings],
        "measured": sorted(night.measured),
        "limits": {case: dict(known) for case, known in night.limits.items()},
        "failures": list(night.failures),
        "simulated": night.simulated,
    }
    _append(path, line)


def acknowledge(path: Path, what: Acknowledgement) -> None:
    """Note an acknowledgement.

    :raises RecordError: if the journal cannot be written.
    """
    _append(path, {"acknowledged": what.as_dict()})


def _append(path: Path, line: dict[str, Any]) -> None:
    try:
        perflog.append(path, [line])
    except OSError as error:
        raise RecordError(f"{path}: {error.strerror}: it is not in the journal; fix that") from None


def read(path: Path, warnings: list[str]) -> list[Night | Acknowledgement]:
    """Return nights and acknowledgements in their order; none if there is no journal.

    :param warnings: gets a line for each that cannot be read; it is passed over.
    """
    entries: dict[str | int, Night | Acknowledgement] = {}  # by session, an acknowledgement by its line
    try:
        lines = files.read_bytes(path).split(b"\n")
    except FileNotFoundError:
        return []
    except OSError as error:
        warnings.append(f"{path}: {error.strerror}; what earlier nights found is unknown")
        return []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            data = jsonlines.parsed(line)
            entry = Acknowledgement.of(data["acknowledged"]) if "acknowledged" in data else _night(data)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            why = one_line(f"{error}" if isinstance(error, ValueError) else f"{type(error).__name__} {error}")
            warnings.append(f"{path}:{number}: not a line of a journal: {why}; it is skipped: delete it")
            continue
        if isinstance(entry, Acknowledgement):
            entries[number] = entry
        elif entry.ended or entry.session not in entries:
            entries[entry.session] = entry
    return list(entries.values())


def _night(data: dict[str, Any]) -> Night:
    """Return what a line has of a night: its findings, and what it would have shown."""
    session, ended = data["session"], data["ended"]
    if not isinstance(session, str) or not isinstance(ended, bool):
        raise ValueError("'session' is no text, or 'ended' neither true nor false")
    return Night(
        session,
        ended=ended,
        findings=tuple(map(Entry.of, data.get("findings", ()))),
        measured=frozenset(map(str, data.get("measured", ()))),
        limits={str(case): _limits(known) for case, known in data.get("limits", {}).items()},
        simulated=data.get("simulated") is True,
    )


def _limits(data: dict[str, Any]) -> dict[str, float | None]:
    return {str(part): None if size is None else float(size) for part, size in data.items()}


def still_open(entries: Iterable[Night | Acknowledgement]) -> list[Open]:
    """Return the findings that are not over after all that a journal has."""
    opened: list[Open] = []
    for entry in entries:
        opened = _after(opened, entry)
    return opened


def news(entries: Sequence[Night | Acknowledgement], night: Night) -> News:
    """Compare a night's findings with those of the nights before it; acknowledgements end by the day of the
    night.

    :param entries: the journal; the night itself and the nights that were judged after it do not count.
    """
    now, closed = _now(entries, night)
    day = (started(night.session) or datetime.now(timezone.utc)).date()
    known, rest = parted(now, lambda each: each.known and day <= each.known.until)
    seen, unseen = parted(rest, lambda each: each.last == night.session)
    new, still = parted(seen, lambda each: each.since == night.session or each.beyond)
    return News(*map(tuple, (new, still, closed, unseen, known)))


def _now(entries: Sequence[Night | Acknowledgement], night: Night) -> tuple[list[Open], list[Open]]:
    """Return what is open after a night, and what it closes."""
    sessions = [each.session if isinstance(each, Night) else "" for each in entries]
    before = entries[: sessions.index(night.session)] if night.session in sessions else entries
    # Acknowledgements that were given while the night ran, or since it was judged first, count.
    since = [entry for entry in entries[len(before) :] if isinstance(entry, Acknowledgement)]
    opened: list[Open] = []
    for entry in (*before, *since):
        opened = _after(opened, entry)
    now, closed = _fold(opened, night)
    first, again = parted(now, lambda each: each.since == night.session)
    for entry in since:
        first = _after(first, entry)
    return [*first, *again], closed


def _after(opened: Sequence[Open], entry: Night | Acknowledgement) -> list[Open]:
    """Return what is open after an entry of the journal."""
    if isinstance(entry, Night):
        return _fold(opened, entry)[0]
    return [replace(each, known=entry, beyond=()) if each.id == entry.finding_id else each for each in opened]


def _fold(opened: Iterable[Open], night: Night) -> tuple[list[Open], list[Open]]:
    """Return what is open after a night, and what is over."""
    left = list(opened)
    after: list[Open] = []
    closed: list[Open] = []
    for finding in night.findings:
        # Two of before may turn out to be one.
        same = [each for each in left if each.finding.keys & finding.keys]
        left = [each for each in left if each not in same]
        after.append(
            _seen_again(same, finding, night.session) if same else _first_seen(finding, night.session)
        )
    for each in left:
        why = sight.why_open(each.finding, night.measured, night.limits)
        (after if why else closed).append(replace(each, why_open=why))
    return after, closed


def _first_seen(finding: Entry, session: str) -> Open:
    name = "\n".join((session, *sorted(finding.keys)))
    return Open(finding, session, session, id=hashlib.sha256(name.encode()).hexdigest()[:8])


def _seen_again(same: Sequence[Open], finding: Entry, session: str) -> Open:
    """Return what findings of before have become; what is more than was acknowledged is not acknowledged any
    more."""
    known = next((each.known for each in same if each.known), None)
    beyond = tuple(grown(known.sizes, finding, "then")) if known else ()
    return replace(
        same[0],
        finding=finding,
        last=session,
        nights=same[0].nights + 1,
        known=None if beyond else known,
        beyond=beyond,
        why_open="",
    )
