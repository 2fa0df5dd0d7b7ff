# SPDX-License-Identifier: BSD-3-Clause
"""The journal of a system's nights: what each found, so that the next can say what is new and what is over.

A line of JSON a night, in the order in which they were judged, and one more when a night begins. Dates decide nothing
here, because clocks are set. A night that is judged again replaces its own line and no other.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fabric_checks import files
from fabric_checks.errors import RecordError
from fabric_checks.nightly.model import Finding, Night
from fabric_checks.results import perflog
from fabric_checks.results.store import jsonlines


@dataclass(frozen=True)
class Entry:
    """A line of the journal: a night that ended, or one of which only the beginning is known.

    :param ended: whether it came to its end.
    :param measured: the names of the cases that have values.
    """

    session: str
    ended: bool
    findings: tuple[Finding, ...] = ()
    measured: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Open:
    """A finding that is not over.

    :param since: the night that saw it first; :param last: the one that saw it last; :param nights: how many did.
    """

    finding: Finding
    since: str
    last: str
    nights: int = 1


@dataclass(frozen=True)
class News:
    """What a night's findings are against those of the nights before.

    :param new: seen for the first time; :param still: seen before too.
    :param closed: no longer seen, although what showed it was measured again.
    :param unseen: not seen, because nothing that showed it was measured.
    """

    new: tuple[Open, ...] = ()
    still: tuple[Open, ...] = ()
    closed: tuple[Open, ...] = ()
    unseen: tuple[Open, ...] = ()


def begin(path: Path, session: str, level: str) -> bool:
    """Note that a night begins; return that it is noted.

    :raises RecordError: if the journal cannot be written.
    """
    _append(path, {"session": session, "level": level, "ended": False})
    return True


def end(path: Path, night: Night) -> None:
    """Note what a night found.

    :raises RecordError: if the journal cannot be written.
    """
    line = {
        "session": night.session,
        "level": night.level,
        "ended": True,
        "status": night.status.name.lower(),
        "findings": [finding.as_dict() for finding in night.findings],
        "measured": sorted(night.measured),
        "failures": list(night.failures),
    }
    _append(path, line)


def _append(path: Path, line: dict[str, Any]) -> None:
    try:
        perflog.append(path, [line])
    except OSError as error:
        raise RecordError(f"{path}: {error.strerror}: the night is not in its journal; mend that") from None


def read(path: Path, warnings: list[str]) -> list[Entry]:
    """Return the nights in their order; none if there is no journal.

    :param warnings: gets a line for each that cannot be read; it is passed over.
    """
    entries: dict[str, Entry] = {}
    try:
        lines = files.read_bytes(path).split(b"\n")
    except FileNotFoundError:
        return []
    except OSError as error:
        warnings.append(f"{path}: {error.strerror}; what earlier nights found is not known")
        return []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            entry = _entry(jsonlines.record_of(line))
        except (ValueError, KeyError, TypeError) as error:
            why = str(error) if isinstance(error, ValueError) else f"its {error} is missing or of another kind"
            warnings.append(f"{path}:{number}: no line of a journal: {why}; it is passed over: delete it")
            continue
        if entry.ended or entry.session not in entries:
            entries[entry.session] = entry
    return list(entries.values())


def _entry(data: dict[str, Any]) -> Entry:
    """Read a line; raise KeyError or TypeError with the name of what is not as it was written."""
    for name, right in (("session", str), ("ended", bool), ("findings", list), ("measured", list)):
        if not isinstance(data.get(name, [] if right is list else None), right):
            raise TypeError(repr(name))
    findings, measured = data.get("findings", []), data.get("measured", [])
    return Entry(data["session"], data["ended"], tuple(map(Finding.of, findings)), frozenset(map(str, measured)))


def cut_short(entries: Iterable[Entry], session: str) -> list[str]:
    """Return the nights that began and never came to their end, but for ``session``."""
    return [entry.session for entry in entries if not entry.ended and entry.session != session]


def news(entries: Iterable[Entry], night: Night) -> News:
    """Hold a night's findings against those of the nights before it.

    :param entries: the journal; the night itself and what was judged after it do not count.
    """
    opened: list[Open] = []
    for entry in entries:
        if entry.session == night.session:
            break
        opened, _ = _fold(opened, entry.session, entry.findings, entry.measured)
    now, closed = _fold(opened, night.session, night.findings, night.measured)
    return News(
        new=tuple(each for each in now if each.since == night.session),
        still=tuple(each for each in now if each.last == night.session != each.since),
        closed=tuple(closed),
        unseen=tuple(each for each in now if each.last != night.session),
    )


def _fold(
    opened: Iterable[Open], session: str, findings: Iterable[Finding], measured: frozenset[str]
) -> tuple[list[Open], list[Open]]:
    """Return what is open after a night, and what is over."""
    left = list(opened)
    after = []
    for finding in findings:
        # Two of before may turn out to be one.
        same = [each for each in left if each.finding.keys & finding.keys]
        left = [each for each in left if each not in same]
        if same:
            after.append(replace(same[0], finding=finding, last=session, nights=same[0].nights + 1))
        else:
            after.append(Open(finding, session, session))
    closed = [each for each in left if each.finding.cases & measured]
    return [*after, *(each for each in left if each not in closed)], closed
