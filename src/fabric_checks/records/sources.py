# SPDX-License-Identifier: BSD-3-Clause
"""Where results are, as a user says it: ``[LABEL=]PATH[@FROM..TO][,FIELD=VALUE ...]``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path

from fabric_checks.core import paths, plugins
from fabric_checks.core.errors import RecordError, quoted
from fabric_checks.records.record import FIELDS

_FORM = "[LABEL=]PATH[@FROM..TO][,FIELD=VALUE...]"


@dataclass(frozen=True)
class Source:
    """A set of results.

    :param label: what tables call it.
    :param path: a folder of results or of perflogs, a file of JSON lines, an archive, or a database of ReFrame.
        A bundle is unpacked, and this is its folder.
    :param since: the first moment, with time zone; :param until: the moment behind the last; None: no limit.
    :param where: values that fields of the records must have, such as ``{"system": "cbc"}``. A field that is a list or
        an object must have the value as one of its items.
    """

    label: str
    path: Path
    since: datetime | None = None
    until: datetime | None = None
    where: Mapping[str, str] = field(default_factory=dict)


def default() -> Source:
    """Return all results of this clone."""
    path = paths.results()
    return Source(_sound(str(path)), path)


def parse(text: str) -> Source:
    """Read what a user says of a set of results.

    An empty PATH means the results of this clone. FROM and TO are dates or date-times of ISO 8601, in UTC if they have
    no offset, and either may be left out; a day as TO is part of the range, a moment is not. What exists as a path is a
    path, also with ``@``, ``,`` or ``=`` in it.

    :raises RecordError: if it is not of the form above, a field does not exist, or nothing is there.
    """
    if not text.strip():
        raise RecordError(f"an empty set of results: the form is {_FORM}")
    for label, name, rest in _readings(text):
        path = Path(name).expanduser() if name else paths.results()
        if path.exists():
            since, until, where = _limits(text, rest)
            return Source(_sound(label or text), _folder_of(path), since, until, where)
    label, name, rest = _plain(text)
    raise RecordError(f"{quoted(text)}: there is no file or folder {quoted(name)}; the form is {_FORM}")


def _folder_of(path: Path) -> Path:
    """Return the folder of records that a file holds, if a plugin knows it; anything else is read as it is."""
    readers = () if path.is_dir() else plugins.record_sources()
    return next((folder for reader in readers if (folder := reader.folder_of(path))), path)


def _sound(text: str) -> str:
    """Return text that can be compared with that of records: bytes of an argument that are no text are ``?``."""
    return text.encode(errors="replace").decode()


def _readings(text: str) -> Iterator[tuple[str, str, str]]:
    """Return all ways to read a text as label, path and rest: the longest path first, and first without a label."""
    ends = [len(text), *(i for i in range(len(text) - 1, -1, -1) if text[i] in "@,")]
    label, equals, _ = text.partition("=")
    has_label = bool(equals) and re.fullmatch(r"[^/@,]+", label)
    for end in ends:
        if end or text[0] in "@,":
            yield "", text[:end], text[end:]
        if has_label and end > len(label):
            yield label, text[len(label) + 1 : end], text[end:]


def _plain(text: str) -> tuple[str, str, str]:
    found = re.fullmatch(r"(?:([^/@,=]+)=)?([^@,]*)(.*)", text, re.DOTALL)
    return (found[1] or "", found[2], found[3]) if found else ("", text, "")


def _limits(text: str, rest: str) -> tuple[datetime | None, datetime | None, dict[str, str]]:
    """Read what follows the path."""
    time, comma, fields = rest.partition(",")
    since = until = None
    if time:
        first, dots, last = time[1:].partition("..")
        if not dots:
            raise RecordError(
                f"{quoted(text)}: {quoted(time)} is not a time range; write @FROM..TO, as in @2026-11-01.."
            )
        since, until = _moment(text, first, end=False), _moment(text, last, end=True)
        if since and until and since >= until:
            raise RecordError(f"{quoted(text)}: {first} is not before {last}")
    where: dict[str, str] = {}
    # A value may have commas; what begins the next field is a comma, a word and an equals sign.
    for pair in re.split(r",(?=\w+=)", fields) if comma else ():
        name, equals, value = pair.partition("=")
        if not equals or name not in FIELDS:
            raise RecordError(f"{quoted(text)}: {quoted(pair)} is not FIELD=VALUE; FIELD is one of {', '.join(FIELDS)}")
        if name in where:
            raise RecordError(f"{quoted(text)}: {name} is given twice")
        where[name] = _sound(value)
    return since, until, where


def _moment(text: str, given: str, *, end: bool) -> datetime | None:
    """Read FROM or TO; a day as TO ends with the day."""
    if not given:
        return None
    try:
        # Python 3.10 does not know the Z.
        moment = datetime.fromisoformat(re.sub(r"[zZ]$", "+00:00", given))
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=timezone.utc)
        if end and re.fullmatch(r"\d{4}-?\d\d-?\d\d", given):
            moment += timedelta(days=1)
        return moment.astimezone(timezone.utc)
    except (ValueError, OverflowError):
        raise RecordError(
            f"{quoted(text)}: {quoted(given)} is not a date; write 2026-11-01 or 2026-11-01T12:00"
        ) from None
