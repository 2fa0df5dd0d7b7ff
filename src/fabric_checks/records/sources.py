# SPDX-License-Identifier: BSD-3-Clause
"""Sets of results: how users name them, the records that they select, their files, and the faults of these.

The form is ``[LABEL=]PATH[@FROM..TO][,FIELD=VALUE ...]``.
"""

from __future__ import annotations

import difflib
import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path

import polars as pl

from fabric_checks.core import files, paths, plugins
from fabric_checks.core.errors import RecordError, RequestError, cut, quoted
from fabric_checks.core.text import one_line
from fabric_checks.records.record import FIELDS
from fabric_checks.records.repeats import SUFFIX
from fabric_checks.records.table import COLUMNS, NESTED, Report

_FORM = "[LABEL=]PATH[@FROM..TO][,FIELD=VALUE...]"
#: The most lines about one file: a file of garbage has a million bad lines.
_LINES_A_FILE = 5
#: The remedy behind the cause of a bad line.
_LEFT_OUT = "; the line is left out: fix or delete it"


_SESSION = pl.col("session").cast(pl.String).fill_null("")
#: Whether a record is one of a repeat.
IS_REPEAT = _SESSION.str.contains(SUFFIX, literal=True)


@dataclass(frozen=True)
class Source:
    """A set of results.

    :param label: its name in tables.
    :param path: a folder of results or of perflogs, or a file of JSON lines. A bundle is
        unpacked, and this is its folder.
    :param since: the first moment, with time zone; :param until: the moment behind the last; None: no limit.
    :param where: values that fields of the records must have, such as ``{"system": "cbc"}``. A field that is
        a list or an object must have the value as one of its items.
    :param repeats: whether repeats of misses are among them (:mod:`fabric_checks.records.repeats`).
    """

    label: str
    path: Path
    since: datetime | None = None
    until: datetime | None = None
    where: Mapping[str, str] = field(default_factory=dict)
    repeats: bool = False


def default() -> Source:
    """Return all results of this clone."""
    path = paths.results()
    return Source(_sound(str(path)), path)


def chosen(texts: Sequence[str]) -> list[Source]:
    """Return the sets of results that a user names, see :func:`parse`; without any, those of this clone."""
    return list(map(parse, texts)) or [default()]


def distinct(texts: Sequence[str]) -> list[Source]:
    """Return the sets of results that a user names, which have different labels, see :func:`parse`.

    :raises RequestError: if two have the same.
    """
    found = list(map(parse, texts))
    label, times = Counter(each.label for each in found).most_common(1)[0]
    if times > 1:
        raise RequestError(
            f"two sets are called {label!r}; give them different labels, as in LABEL=PATH"
        )
    return found


def parse(text: str) -> Source:
    """Parse a set of results as a user names it.

    An empty PATH is the results of this clone. FROM and TO are dates or date-times of ISO 8601, in UTC if
    they have no offset, and either may be left out; a day as TO is part of the range, a moment is not. A path
    with ``@`` or ``,`` in it goes without label and limits.

    :raises RequestError: if it is not of the form above, or a field does not exist.
    :raises RecordError: if the path does not exist.
    """
    if not text.strip():
        raise RequestError(f"an empty set of results: the form is {_FORM}")
    label, name, rest = _split(text)
    path = Path(name).expanduser() if name else paths.results()
    if not path.exists():
        raise RecordError(
            f"there is no file or folder {quoted(name)}; name another, or start a run with ci/run; a set of"
            f" results is {_FORM}"
        )
    return Source(_sound(label or text), folder_of(path), *_limits(text, rest))


def folder_of(path: Path) -> Path:
    """Return the folder of records that a file holds, if a plugin knows it; anything else is read as it
    is."""
    readers = () if path.is_dir() else plugins.record_sources()
    return next(
        (folder for reader in readers if (folder := reader.folder_of(path))), path
    )


def _sound(text: str) -> str:
    """Return text that can be compared with that of records: bytes of an argument that are no text are
    ``?``."""
    return text.encode(errors="replace").decode()


def _split(text: str) -> tuple[str, str, str]:
    """Return label, path and limits of a text; all of one that exists is a path."""
    if Path(text).expanduser().exists():
        return "", text, ""
    found = re.fullmatch(r"(?:([^/@,=]+)=)?([^@,]*)(.*)", text, re.DOTALL)
    return (found[1] or "", found[2], found[3]) if found else ("", text, "")


def _limits(
    text: str, rest: str
) -> tuple[datetime | None, datetime | None, dict[str, str]]:
    """Read what follows the path."""
    time, comma, fields = rest.partition(",")
    # A value may have commas; what begins the next field is a comma, a word and an equals sign.
    pairs = re.split(r",(?=\w+=)", fields) if comma else ()
    where = dict(_field(text, pair) for pair in pairs)
    if not time:
        return None, None, where
    first, dots, last = time[1:].partition("..")
    if not dots:
        raise RequestError(
            f"{quoted(text)}: {quoted(time)} is not a time range; write @FROM..TO, as in @2026-11-01.."
        )
    since, until = _moment(text, first, end=False), _moment(text, last, end=True)
    if since and until and since >= until:
        raise RequestError(f"{quoted(text)}: {first} is not before {last}")
    return since, until, where


def _field(text: str, pair: str) -> tuple[str, str]:
    """Read FIELD=VALUE."""
    name, equals, value = pair.partition("=")
    if equals and name in FIELDS:
        return name, _sound(value)
    near = difflib.get_close_matches(name, FIELDS, 1)
    hint = f"FIELD is one of {', '.join(FIELDS)}"
    hint = f"did you mean {near[0]}=VALUE?" if near else hint
    raise RequestError(f"{quoted(text)}: {quoted(pair)} is not FIELD=VALUE; {hint}")


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
        raise RequestError(
            f"{quoted(text)}: {quoted(given)} is not a date; write 2026-11-01 or 2026-11-01T12:00"
        ) from None


def condition(source: Source) -> pl.Expr | None:
    """Return the condition that the records of a source fulfil, or None if it has no limits."""
    where = dict(source.where)
    rules = [] if source.repeats else [~IS_REPEAT]
    if source.repeats and (of := where.pop("session", None)):
        is_of = _SESSION.str.starts_with(f"{of}{SUFFIX}")
        rules.append(_has("session", of) | is_of)
    rules += [_has(name, value) for name, value in where.items()]
    if source.since:
        rules.append(pl.col("time") >= source.since)
    if source.until:
        rules.append(pl.col("time") < source.until)
    return pl.all_horizontal(rules) if rules else None


def _has(name: str, value: str) -> pl.Expr:
    """Return the condition that a field has a given value; a list or an object must have it as an item."""
    column = pl.col(name)
    if name in NESTED:
        return column.str.contains(json.dumps(value, ensure_ascii=False), literal=True)
    return (column if COLUMNS[name] == pl.String() else column.cast(pl.String)) == value


@dataclass
class Faults:
    """The faults of a set of results: a few lines for each file, and a count of the others."""

    _by_file: dict[str, list[tuple[int, str]]] = field(default_factory=dict)
    _others: Counter[str] = field(default_factory=Counter)

    def add(self, file: object, line: int, cause: str) -> None:
        """Note a line that is left out.

        :param line: from 1; 0 for a fault of the whole file.
        """
        kept = self._by_file.setdefault(str(file), [])
        if len(kept) < _LINES_A_FILE:
            kept.append((line, cause))
        else:
            self._others[str(file)] += 1

    def reporter(self, file: object) -> Report:
        """Return a function that notes lines of one file, given their numbers and causes."""
        return lambda line, cause: self.add(file, line, cause + _LEFT_OUT)

    def lines(self) -> Iterator[str]:
        """Return a line for each fault that was kept, and one for those of a file that were only counted."""
        for file in sorted(self._by_file):
            for line, cause in sorted(self._by_file[file]):
                where = cut(file, 500)
                yield one_line(
                    f"{where}:{line}: {cause}" if line else f"{where}: {cause}"
                )
            if self._others[file]:
                yield one_line(
                    f"{file}: and {self._others[file]} more lines that are not sound records"
                )


def files_of(path: Path, faults: Faults) -> list[Path]:
    """Return the files of JSON lines of a set of results, in the order of their names.

    Links are followed within the folder only: results of somebody else must not disclose files of their
    reader.

    :param path: a folder of results, of perflogs, or one file.
    :param faults: gets the files and folders that cannot be read.
    :raises RecordError: if there is no file.
    """
    if not path.is_dir():
        return [path] if _can_be_read(path, None, faults) else []
    found = [
        file for file in _in_folder(path, faults) if _can_be_read(file, path, faults)
    ]
    if not found and not list(faults.lines()):
        raise RecordError(
            f"{path}: no results here: no file *.jsonl or *.jsonl.gz in it or below it; start a run with"
            " ci/run, or name a folder of results, or a file of JSON lines"
        )
    return found


def perflogs(results: Path, system: str = "") -> list[Path]:
    """Return the perflogs of a folder of results, packed ones too, in the order of their names.

    :param system: of this system alone.
    """
    found = (results / "perflogs" / system).rglob("*.jsonl*")
    return sorted(path for path in found if _is_perflog(path.name))


def _in_folder(path: Path, faults: Faults) -> Iterator[Path]:
    """Yield the files of records below a folder, and note links that lead out of it."""
    folder = path / "perflogs" if (path / "perflogs").is_dir() else path
    if _is_outside(folder, path, faults):
        return
    for parent, folders, names in os.walk(
        folder, onerror=lambda error: _note(error, faults)
    ):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in folders:
            if os.path.islink(f"{parent}/{name}"):  # noqa: PTH114  (`Path.is_symlink` raises for a path that is too long)
                _is_outside(Path(parent, name), path, faults)
        for name in sorted(filter(_is_perflog, names)):
            yield Path(parent, name)


def _is_perflog(name: str) -> bool:
    return name.endswith((".jsonl", ".jsonl.gz")) and not name.startswith(".")


def _note(error: OSError, faults: Faults) -> None:
    faults.add(error.filename, 0, f"{error.strerror}; it is left out")


def _is_outside(folder: Path, within: Path, faults: Faults) -> bool:
    """Tell whether a folder is a link out of another one, and note it."""
    try:
        files.require_within(folder, within)
    except OSError as error:
        _note(error, faults)
        return True
    return False


def _can_be_read(path: Path, within: Path | None, faults: Faults) -> bool:
    """Tell whether a file can be read, and note one that cannot."""
    try:
        with files.opened(path, within):
            return True
    except OSError as error:
        _note(error, faults)
        return False
