# SPDX-License-Identifier: BSD-3-Clause
"""The errors that the library raises; each text is one line with location, cause and remedy."""

from __future__ import annotations

import re

#: ReFrame's message about a name that this clone's settings refuse: its process hands on nothing else.
_NO_SUCH = re.compile(
    r"(?:there is no (?:system|mode) '|the system \S+ has no partition ').*"
)


class FabricError(Exception):
    """Base of all errors of this library.

    :cvar status: the exit status of a command that it ends: 2 for wrong usage, else 1.
    """

    status = 1


class ChoiceError(FabricError):
    """A word that is none of those to choose from."""

    status = 2


class OutputError(FabricError):
    """The output of a program is not whole, or not believable.

    :param cause: what is wrong, in words.
    :param line: the number of the offending line of the output, counted from 1, if there is one.
    """

    def __init__(self, cause: str, line: int | None = None) -> None:
        super().__init__(cause if line is None else f"line {line}: {cause}")
        self.line = line


class PlacementError(FabricError):
    """The processes did not run where they were asked to."""


class ReferenceError(FabricError):
    """A reference file is wrong: an orphan, a wrong unit, a missing reason."""


class RecordError(FabricError):
    """Results on disk that cannot be used."""


class RequestError(RecordError):
    """A request for records that has not the form of one: a pattern, a date, a field."""

    status = 2


def unknown_name(text: str) -> str:
    """Return what the output of ReFrame says of an unknown system, partition or mode; empty if nothing."""
    found = _NO_SUCH.search(text)
    return found[0] if found else ""


def quoted(text: str, limit: int = 80) -> str:
    """Return untrusted text for an error message: one line, printable, in quotes, at most ``limit``
    characters."""
    return repr(cut(text, limit))


def cut(text: str, limit: int) -> str:
    """Return a text of at most ``limit`` characters, cut in its middle: the reason of a long line is at its
    end."""
    head = limit // 2 - 5
    return (
        text if len(text) <= limit else f"{text[:head]} ... {text[head + 5 - limit :]}"
    )
