# SPDX-License-Identifier: BSD-3-Clause
"""Show the progress of a run: cases done, cases failed, elapsed time, and the case that runs."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fabric_checks.core import console
from fabric_checks.core.text import duration_text, one_line
from fabric_checks.records import repeats

if TYPE_CHECKING:
    from rich.text import Text

#: Where lines cannot be rewritten there is one in so many seconds.
EVERY_S = 60.0
_BEGUN = re.compile(r"\[ RUN +\] (?P<case>.*)")
_ENDED = re.compile(
    r"\[ +(?P<how>OK|FAIL|ERROR|ABORT|SKIP|XFAIL|XPASS) +\] \( *(?P<number>\d+)/(?P<of>\d+)\)"
    r" (?P<case>.*?)(?: \[.*)?$"
)
#: Skipped files are among the faults of the session; the build of our programs has no settings for ``-S``.
_MESSAGE = re.compile(
    r"^(?:\S+: )?(?:WARNING|ERROR|warning|error): (?!skipping |test 'FabricPrograms': .* were not set)"
)
#: As many lines of ReFrame as are kept, should it not come to run anything.
_KEPT = 2000


@dataclass
class State:
    """The progress of a run, from the lines that ReFrame prints.

    :param began_s: the clock when it began; :param done: the passes through all cases that are behind it;
    :param again: how often misses have been measured again, this time included.
    :param cases: how many there are; :param ended: those of this pass that have ended.
    :param lines: the first lines that it printed; :param messages: its warnings and errors.
    """

    began_s: float = 0.0
    done: int = 0
    again: int = 0
    cases: int = 0
    ended: int = 0
    failed: int = 0
    running: dict[str, None] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    messages: dict[str, None] = field(default_factory=dict)

    def read(self, line: str) -> None:
        """Take note of a line that ReFrame prints."""
        if len(self.lines) < _KEPT:
            self.lines.append(line)
        if line == repeats.BEGUN:
            self.begin_again()
        elif found := _BEGUN.match(line):
            self.running[_name(found["case"])] = None
        elif found := _ENDED.match(line):
            self.running.pop(_name(found["case"]), None)
            number = int(found["number"])
            self.done += number <= self.ended  # ReFrame counts each pass from 1
            self.ended, self.cases = number, int(found["of"])
            self.failed += found["how"] in ("FAIL", "ERROR", "XPASS")
        elif _MESSAGE.match(line):
            self.messages[one_line(line)] = None

    def begin_again(self) -> None:
        """Begin to measure misses again."""
        self.again += 1
        self.done = self.ended = self.cases = 0

    def text(self) -> str:
        """Return the progress as one line; of several cases that run it has the first that has begun."""
        parts = [
            duration_text(time.monotonic() - self.began_s),
            *list(self.running)[:1],
        ]
        if self.failed:
            parts.insert(0, f"{self.failed} failed")
        if self.ended:
            parts.insert(0, f"{self.ended} of {self.cases} done")
        else:
            parts.insert(0, "begun" if self.running else "choosing cases")
        if self.again:
            parts.insert(0, f"measuring misses again, {self.again}")
        if self.done:
            parts.insert(0, f"pass {self.done + 1}")
        return ", ".join(parts)

    def __rich__(self) -> Text:
        """Return the progress for a terminal, as it is now."""
        from rich.text import Text  # noqa: PLC0415  (a pipe needs none)

        return Text(one_line(self.text()), no_wrap=True, overflow="ellipsis")


def _name(case: str) -> str:
    """Return the name of a case in short: ReFrame's line has its hash and the names of parameters, too."""
    return re.sub(r" /[0-9a-f]{8}(?= @)|%\w+=", "", case.strip())


@contextmanager
def shown(state: State) -> Iterator[Callable[[str], None]]:
    """Show the progress of a run: on a line that is rewritten in a terminal, else in a line a minute.

    :returns: a function to be called with each line of ReFrame.
    """
    state.began_s = time.monotonic()
    streams = [stream for stream in (console.out(), console.err()) if stream.isatty()]
    if streams and os.environ.get("TERM", "dumb") not in ("dumb", "unknown"):
        # Once a second, so as not to disturb the measurements.
        with console.rich_console(streams[0]).status(state, refresh_per_second=1):
            yield state.read
        return
    due_s = state.began_s

    def note(line: str) -> None:
        nonlocal due_s
        state.read(line)
        if state.running and time.monotonic() >= due_s:
            due_s = time.monotonic() + EVERY_S
            console.print(f"==> {state.text()}")

    yield note
