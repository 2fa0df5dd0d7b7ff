# SPDX-License-Identifier: BSD-3-Clause
"""What was wrong with results, a line each, and never more lines than a person reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from fabric_checks.core.text import printable

#: The most lines on one file. A file of garbage has a million bad lines.
LINES_A_FILE = 5
#: What is said behind the cause of a line.
LEFT_OUT = "; the line is left out: fix or delete it"


@dataclass
class Faults:
    """The faults of a set of results."""

    _by_file: dict[str, list[tuple[int, str]]] = field(default_factory=dict)
    _others: Counter[str] = field(default_factory=Counter)

    def add(self, file: object, line: int, cause: str) -> None:
        """Note a line that is left out; of each file the first that are noted are kept, and the others counted.

        :param line: from 1; 0 for what concerns the whole file.
        """
        kept = self._by_file.setdefault(str(file), [])
        if len(kept) < LINES_A_FILE:
            kept.append((line, cause))
        else:
            self._others[str(file)] += 1

    def lines(self) -> Iterable[str]:
        """Return a line for each fault, and one for those of a file that are only counted."""
        for file in sorted(self._by_file):
            for line, cause in sorted(self._by_file[file]):
                place = f"{file}:{line}" if line else file
                yield one_line(f"{place}: {cause}")
            if self._others[file]:
                yield one_line(f"{file}: and {self._others[file]} more lines that are not sound records")


def one_line(text: str) -> str:
    """Return untrusted text as one printable line."""
    return printable(text.replace("\n", " "))
