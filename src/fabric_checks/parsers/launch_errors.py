# SPDX-License-Identifier: BSD-3-Clause
"""Why a program failed, by what launchers, MPI libraries and the system printed: cause, suspect node,
remedy."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from fabric_checks.core.errors import cut, quoted
from fabric_checks.core.text import names_text, one_line, plural_text
from fabric_checks.parsers import data

#: A pattern of what is printed, the cause, and the remedy.
Cause = tuple[re.Pattern[str], str, str]

#: What follows the time limit is the effect of being killed.
_TIME_LIMIT = re.compile(r"CANCELLED AT \S+ DUE TO TIME LIMIT")
_FILE = data.load("launch_errors.yaml")


def _pattern(lines: str) -> re.Pattern[str]:
    here, joined = ("".join(each.splitlines()) for each in (_FILE["here"], lines))
    return re.compile(f"(?im){joined.replace('<HERE>', here)}")


def _causes(name: str) -> list[Cause]:
    return [
        (_pattern(each["printed"]), each["cause"], each["remedy"])
        for each in _FILE[name]
    ]


#: What says why a program failed, and what only says that a rank ended: told where nothing else was printed.
KNOWN, ENDINGS = _causes("known"), _causes("endings")
_NOT_A_CAUSE, _FAREWELL, _ERROR = (
    _pattern(_FILE[name]) for name in ("not_a_cause", "farewell", "error")
)
_HARMLESS = re.compile(
    r"(?i)\bwarn(?:ing)?\b|\binfo\b(?! for details)|\bdebug\b|^\s*#|^\s*-->|^[+$] "
)
#: The exception of Python that ended a program.
_EXCEPTION = re.compile(
    r"(?m)^Traceback \(most recent call last\):\n(?:(?:[ \t]|Traceback \().*\n)*(\S.*)"
)
#: So much of the beginning and the end of an output is searched.
_SEARCHED = 100_000
#: What launchers put before each line: `srun --label`, and Open MPI's `--output` with tags and times.
_LABEL = re.compile(
    r"(?m)^(?:(?:(?:\w{3} \w{3} +\d+ [\d:]{8} \d{4})?(?:\[[^]\n]{1,300}\]){1,2}<std\w+>: ?)+|\d+: (?=\D))"
)
_ENDED = re.compile(r"srun: error: (\S+): tasks? (\S+): Exited with exit code (\d+)")
_UNNAMED = {"hca": "an adapter that is not named"}
_LONG_LINE = re.compile(r"[^\n]{2000,}")


def explained(what: str, texts: Mapping[str, str]) -> str:
    """Return a message about a failure with its cause: a known one before it, or else the first printed
    error.

    :param what: what failed, in words; :param texts: what the job printed, by name of the file, standard
        error first.
    """
    return (
        _known_of(what, texts, KNOWN)
        or _first_error_of(what, texts)
        or _known_of(what, texts, ENDINGS)
        or _last_line_of(what, texts)
        or what
    )


def _known_of(
    what: str, texts: Mapping[str, str], table: Sequence[Cause]
) -> str | None:
    causes = (known(text, table) for text in texts.values())
    return next((f"{cause} ({what})" for cause in causes if cause), None)


def _first_error_of(what: str, texts: Mapping[str, str]) -> str | None:
    for name, text in texts.items():
        if line := first_error(text):
            return f"{what}; the first error in {name} is {quoted(line.strip(), 200)}"
    return None


def _last_line_of(what: str, texts: Mapping[str, str]) -> str | None:
    for farewells in (False, True):
        for name, text in texts.items():
            if found := _lines(text, farewells=farewells):
                last = f"{what}; the last line of {name} is {quoted(found[-1].strip(), 200)}"
                return last if farewells else last + _first_to_end(texts.values())
    return None


def _first_to_end(texts: Iterable[str]) -> str:
    """Return which task srun saw end first with an error; nothing if it printed none."""
    found = _ENDED.search("\n".join(texts))
    return (
        f"; task {found[2]} on {found[1]} ended first, with exit status {found[3]}"
        if found
        else ""
    )


def known(text: str, table: Sequence[Cause] = KNOWN) -> str | None:
    """Return the first known cause in what a job printed, suspect nodes, the remedy, and the line, or
    None."""
    text = _before_the_limit(text)
    first = [(pattern.search(text), rank) for rank, (pattern, *_) in enumerate(table)]
    # A pattern over several lines ends where the cause is. Of those in one line the first of the table
    # counts.
    found = [
        (text.rfind("\n", 0, match.end() - 1) + 1, rank)
        for match, rank in first
        if match
    ]
    if not found:
        return None
    begin, rank = min(found)
    pattern, cause, remedy = table[rank]
    groups = list(map(_groups, pattern.finditer(text)))
    nodes = list(dict.fromkeys(each["node"] for each in groups if "node" in each))
    cause, remedy = (
        re.sub(
            r"\{(\w+)\}",
            lambda name: groups[0].get(name[1], _UNNAMED.get(name[1], "not named")),
            each,
        )
        for each in (cause, remedy)
    )
    where = f" ({plural_text(len(nodes), 'node')} {names_text(nodes)})" if nodes else ""
    line = text[begin:].partition("\n")[0].strip()
    return f"{cause}{where}; {remedy}; it printed {quoted(line, 120)}"


def _groups(match: re.Match[str]) -> dict[str, str]:
    """Return what the groups of a match have, by their names without the underscores that tell them apart."""
    found = match.groupdict().items()
    return {name.rstrip("_"): one_line(value).strip() for name, value in found if value}


def first_error(text: str) -> str | None:
    """Return the first line that reports an error and is not only a launcher's farewell; None if there is
    none."""
    text = _before_the_limit(text)
    if exception := _EXCEPTION.search(text):
        return exception[1]
    return next(
        (
            line
            for line in _lines(text)
            if _ERROR.search(line) and not _HARMLESS.search(line)
        ),
        None,
    )


def _lines(text: str, *, farewells: bool = False) -> list[str]:
    """Return the lines that say something, with a launcher's farewell or without; rules of dashes are
    none."""
    found = [line for line in text.splitlines() if any(map(str.isalnum, line))]
    return [line for line in found if farewells or not _FAREWELL.search(line)]


def _before_the_limit(text: str) -> str:
    text = (
        text
        if len(text) <= 2 * _SEARCHED
        else f"{text[:_SEARCHED]}\n{text[-_SEARCHED:]}"
    )
    text = _LONG_LINE.sub(lambda line: cut(line[0], 1000), _LABEL.sub("", text))
    return _NOT_A_CAUSE.sub("", _TIME_LIMIT.split(text, maxsplit=1)[0])
