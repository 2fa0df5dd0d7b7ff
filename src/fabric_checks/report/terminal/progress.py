# SPDX-License-Identifier: BSD-3-Clause
"""Show the progress of a run: cases done, the case that runs, elapsed and remaining time."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import fmean

from fabric_checks.core import console
from fabric_checks.core.text import duration_text, one_line

#: Where lines cannot be rewritten there is one in so many seconds.
EVERY_S = 60.0
_BEGUN = re.compile(r"\[ RUN +\] (?P<case>.*)")
_ENDED = re.compile(
    r"\[ +(?P<how>OK|FAIL|ERROR|ABORT|SKIP|XFAIL|XPASS) +\] \( *(?P<number>\d+)/(?P<of>\d+)\) (?P<case>.*?)(?: \[.*)?$"
)
_MESSAGE = re.compile(r"^(?:\S+: )?(?:WARNING|ERROR|warning|error): ")
#: As many lines of ReFrame as are kept, should it not come to run anything.
_KEPT = 2000


@dataclass
class State:
    """The progress of a run, from the lines that ReFrame prints.

    :param past: how long each case took before, in seconds.
    :param lines: all it printed, the first of them; :param messages: its warnings and errors.
    """

    past: Mapping[str, float] = field(default_factory=dict)
    cases: int = 0
    ended: int = 0
    failed: int = 0
    running: dict[str, None] = field(default_factory=dict)
    finished: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    messages: dict[str, None] = field(default_factory=dict)
    last_s: float = 0.0  # when the last case ended

    def read(self, line: str, at_s: float) -> None:
        """Take note of a line of ReFrame, printed so many seconds after the run began."""
        if len(self.lines) < _KEPT:
            self.lines.append(line)
        if found := _BEGUN.match(line):
            self.running[_name(found["case"])] = None
        elif found := _ENDED.match(line):
            name = _name(found["case"])
            self.running.pop(name, None)
            self.ended, self.cases = int(found["number"]), int(found["of"])
            self.last_s = at_s
            self.failed += found["how"] in ("FAIL", "ERROR", "XPASS")
            if not _is_fixture(name):
                self.finished.append(name)
        elif _MESSAGE.match(line) and "skipping " not in line:  # what is skipped is among the faults of the session
            self.messages[one_line(line)] = None

    def running_text(self) -> str:
        """Return the case that runs; of several, the first that has begun."""
        cases = [name for name in self.running if not _is_fixture(name)] or list(self.running)
        if not cases:
            return ""
        name = re.sub(r"%\w+=", "", cases[0])
        return f"building {name.partition(' ~')[0]}" if _is_fixture(name) else name

    def remaining_s(self, elapsed_s: float) -> float | None:
        """Return the estimated time that remains, in seconds."""
        unknown = max(self.cases - self.ended - len(self.running), 0)
        cases = [name for name in self.running if not _is_fixture(name)]
        return remaining_s(
            self.past, self.finished, cases, unknown, done_in_s=self.last_s, since_s=elapsed_s - self.last_s
        )

    def text(self, elapsed_s: float) -> str:
        """Return the progress as one line."""
        if not self.running and not self.ended:
            return f"choosing cases, {duration_text(elapsed_s)}"
        # Until the first case has ended, the number of checks is known, but not that of cases.
        left = self.remaining_s(elapsed_s) if self.ended else None
        parts = [
            f"{self.ended} of {self.cases} done" if self.ended else "begun",
            *([f"{self.failed} failed"] if self.failed else []),
            duration_text(elapsed_s),
            *([f"about {duration_text(left)} left"] if left is not None and left >= 1 else []),
            self.running_text(),
        ]
        return ", ".join(part for part in parts if part)


def remaining_s(
    past: Mapping[str, float],
    finished: Sequence[str],
    running: Sequence[str],
    unknown: int,
    *,
    done_in_s: float,
    since_s: float,
) -> float | None:
    """Estimate how long a run will still take, in seconds; None without any past.

    A case takes what it took before; one that never ran, or whose name is not known yet, the mean of the others. The
    sum is scaled by what the finished ones took now.

    :param past: how long each case took before, in seconds.
    :param finished: cases that have ended; :param running: that have begun; :param unknown: how many are to begin.
    :param done_in_s: what the finished ones took together; :param since_s: how long ago the last of them ended.
    """
    if not past:
        return None
    usual = fmean([seconds for name, seconds in past.items() if name not in {*finished, *running}] or past.values())
    done_s = sum(past.get(name, usual) for name in finished)
    left_s = sum(past.get(name, usual) for name in running) + unknown * usual
    pace = done_in_s / done_s if len(finished) >= 3 and done_s > 0 else 1.0
    return max(pace * left_s - since_s, 0.0)


def _name(case: str) -> str:
    """Return the name of a case: ReFrame's line has its hash, too."""
    return re.sub(r" /[0-9a-f]{8}(?= @)", "", case.strip())


def _is_fixture(name: str) -> bool:
    return " ~" in name


@contextmanager
def shown(state: State) -> Iterator[Callable[[str], None]]:
    """Show the progress of a run: on a line that is rewritten in a terminal, else in a line a minute.

    :returns: a function to be called with each line of ReFrame.
    """
    streams = [stream for stream in (console.out(), console.err()) if stream.isatty()]
    began = time.monotonic()
    if not streams or os.environ.get("TERM", "dumb") in ("dumb", "unknown"):
        yield _Plain(state, began)
        return
    from rich.progress import BarColumn, Progress, ProgressColumn, Task  # noqa: PLC0415  (a pipe shows no bar)
    from rich.text import Text  # noqa: PLC0415  (the bar's words)

    class Words(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(one_line(state.text(time.monotonic() - began)), no_wrap=True, overflow="ellipsis")

    # Once a second: what measures is not to be disturbed.
    with Progress(
        BarColumn(bar_width=16), Words(), console=console.rich_console(streams[0]), transient=True, refresh_per_second=1
    ) as progress:
        task = progress.add_task("", total=None)

        def follow(line: str) -> None:
            state.read(line, time.monotonic() - began)
            if state.cases:
                progress.update(task, total=state.cases, completed=state.ended)

        yield follow


class _Plain:
    """Prints a line when the cases are known, and then one a minute."""

    def __init__(self, state: State, began: float) -> None:
        self._state, self._began, self._told = state, began, False
        self._next = began

    def __call__(self, line: str) -> None:
        now = time.monotonic()
        self._state.read(line, now - self._began)
        if not self._state.running or (self._told and now < self._next):
            return
        self._told, self._next = True, now + EVERY_S
        console.print(f"==> {self._state.text(now - self._began)}")
