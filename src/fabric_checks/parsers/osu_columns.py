# SPDX-License-Identifier: BSD-3-Clause
"""The columns of OSU's tables: their titles, and those of each kind of benchmark.

Releases differ in titles (``Latency (us)``, ``Avg Latency(us)``; the ports ``Latency [us]``) and options add
columns: ``-f`` minimum, maximum and iterations, ``-c`` the validation.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.parsers import data

LATENCY, BANDWIDTH, MESSAGE_RATE, NON_BLOCKING = (
    "latency",
    "bandwidth",
    "message rate",
    "non-blocking",
)

_DATA = data.load("osu_columns.yaml")
_PATTERNS = {
    re.compile(rf"\s*{title}(?=\s|$)"): name for title, name in _DATA["titles"].items()
}


def read(line: str, line_number: int) -> tuple[str, ...]:
    """Return the names of the columns that a line of titles announces.

    :param line_number: of the line, for errors.
    :raises OutputError: if one of them is not a title of OSU.
    """
    text, names = line.strip().lstrip("#").rstrip(), []
    while text:
        for pattern, name in _PATTERNS.items():
            if match := pattern.match(text):
                names.append(name)
                text = text[match.end() :]
                break
        else:
            raise OutputError(
                f"{quoted(text.strip())} is not an OSU column title", line_number
            )
    return tuple(names)


def require(
    names: Sequence[str], kind: str, *, has_sizes: bool, line_number: int
) -> None:
    """Raise :class:`OutputError` unless the columns are those of a benchmark.

    :param kind: of benchmark, such as :data:`LATENCY`.
    :param has_sizes: whether its rows begin with a message size.
    :param line_number: of the line of titles, for errors.
    """
    own = ("size_B " if has_sizes else "") + _DATA["own"][kind]
    if not re.fullmatch(own + _DATA["added"], " ".join(names)) or len(set(names)) < len(
        names
    ):
        titles = " ".join(names) or "without titles"
        raise OutputError(
            f"the columns {titles} are not those of this benchmark, a test of {kind}",
            line_number,
        )
