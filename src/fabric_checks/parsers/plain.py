# SPDX-License-Identifier: BSD-3-Clause
"""What launchers, terminals and editors add to an output, taken away again."""

from __future__ import annotations

import re

from fabric_checks.core.errors import quoted

#: Colours, and the end of line that goes with them. Other control sequences are no launcher's.
_COLOUR = re.compile(r"\x1b\[(?:[0-9;:]*m|K)")
#: What Python takes for the end of a line, but no C program.
_NO_LINE_END = re.compile("[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
#: What Open MPI puts before each line if asked for --tag-output; from 5 on with the job's name, and a blank after it.
_TAG = re.compile(r"^\[[\w.@-]*?[0-9]+,[0-9]+\]<std(?:out|err)>:", re.MULTILINE)


def cleaned(text: str) -> str:
    """Return an output without byte-order marks, colours and Open MPI's tags, its lines ended by a line feed each.

    The lines keep their numbers.
    """
    text = text.replace("\ufeff", "").replace("\r\n", "\n").replace("\r", "\n")
    text = _NO_LINE_END.sub("?", text)
    if "\x1b" in text:
        text = _COLOUR.sub("", text)
    if "]<std" in text:
        text = _without_tags(text)
    return text


def label_of(text: str, first: str) -> str:
    """Return a remedy for a message if something stands before the line that an output begins with, or nothing.

    :param first: the beginning of that line.
    """
    for place, line in enumerate(text.splitlines(), 1):
        before, found, _ = line.partition(first)
        if found and before.strip():
            return (
                f"; line {place} has it after {quoted(before)}: the launcher must print lines unchanged, without rank "
                "or time"
            )
    return ""


def _without_tags(text: str) -> str:
    """Take tags away; the blank behind them too, if it stands behind each of them and so is no program's."""
    ends = [match.end() for match in _TAG.finditer(text)]
    blank = "" if not all(text.startswith(" ", end) for end in ends) else " "
    return re.sub(_TAG.pattern + blank, "", text, flags=re.MULTILINE)
