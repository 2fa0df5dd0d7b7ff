# SPDX-License-Identifier: BSD-3-Clause
"""Show the progress of a run: cases done, the case that runs, elapsed and remaining time."""

from __future__ import annotations

import argparse
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from fabric_checks.core import console
from fabric_checks.core.levels import LEVELS
from fabric_checks.core.text import duration_text, one_line

#: Where lines cannot be rewritten there is one in so many seconds.
EVERY_S = 60.0
_BEGUN = re.compile(r"\[ RUN +\] (?P<case>.*)")
_ENDED = re.compile(
    r"\[ +(?P<how>OK|FAIL|ERROR|ABORT|SKIP|XFAIL|XPASS) +\] \( *(?P<number>\d+)/(?P<of>\d+)\)"
    r" (?P<case>.*?)(?: \[.*)?$"
)
_MESSAGE = re.compile(r"^(?:\S+: )?(?:WARNING|ERROR|warning|error): ")
#: As many lines of ReFrame as are kept, should it not come to run anything.
_KEPT = 2000


@dataclass
class State:
    """The progress of a run, from the lines that ReFrame prints.

    :param passes: how often it goes through all cases, see :func:`passes_of`.
    :param done: the passes that are behind it; :param ended: the cases of this one that are.
    :param lines: the first lines that it printed; :param messages: its warnings and errors.
    :param built: how many of the ended cases are builds; :param begun_s: when the first other case began.
    """

    passes: int = 1
    done: int = 0
    built: int = 0
    begun_s: float | None = None
    cases: int = 0
    ended: int = 0
    failed: int = 0
    running: dict[str, None] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    messages: dict[str, None] = field(default_factory=dict)

    def read(self, line: str, elapsed_s: float = 0.0) -> None:
        """Take note of a line that ReFrame prints, so many seconds after its start."""
        if len(self.lines) < _KEPT:
            self.lines.append(line)
        if found := _BEGUN.match(line):
            name = _name(found["case"])
            self.running[name] = None
            if self.begun_s is None and not _is_fixture(name):
                self.begun_s = elapsed_s
        elif found := _ENDED.match(line):
            name = _name(found["case"])
            self.running.pop(name, None)
            # ReFrame counts each pass from 1.
            if int(found["number"]) <= self.ended:
                self.done, self.built = self.done + 1, 0
            self.built += _is_fixture(name)
            self.ended, self.cases = int(found["number"]), int(found["of"])
            self.failed += found["how"] in ("FAIL", "ERROR", "XPASS")
        elif (
            _MESSAGE.match(line) and "skipping " not in line
        ):  # skipped files are among the faults of the session
            self.messages[one_line(line)] = None

    def running_text(self) -> str:
        """Return the case that runs; of several, the first that has begun."""
        cases = [name for name in self.running if not _is_fixture(name)] or list(self.running)
        if not cases:
            return ""
        name = re.sub(r"%\w+=", "", cases[0])
        return f"building {name.partition(' ~')[0]}" if _is_fixture(name) else name

    def remaining_s(self, elapsed_s: float) -> float | None:
        """Estimate the time that remains in seconds, at the pace so far; None before a third of the cases has
        ended.

        Builds do not count, nor does their time: they are first, and the slowest.
        """
        of_pass = self.cases - self.built
        ended, cases = self.done * of_pass + self.ended - self.built, self.passes * of_pass
        if ended <= 0 or 3 * ended < cases:
            return None
        return (elapsed_s - (self.begun_s or 0.0)) * (cases - ended) / ended

    def text(self, elapsed_s: float) -> str:
        """Return the progress as one line."""
        if not self.running and not self.ended:
            return f"choosing cases, {duration_text(elapsed_s)}"
        left = self.remaining_s(elapsed_s)
        parts = [
            *([f"pass {self.done + 1} of {self.passes}"] if self.passes > 1 else []),
            # ReFrame prints the number of cases only with the first that ends.
            f"{self.ended} of {self.cases} done" if self.ended else "begun",
            *([f"{self.failed} failed"] if self.failed else []),
            duration_text(elapsed_s),
            *([f"about {duration_text(left)} left"] if left is not None and left >= 1 else []),
            self.running_text(),
        ]
        return ", ".join(part for part in parts if part)


def passes_of(line: Sequence[str]) -> int:
    """Return how often a command line of ReFrame goes through its cases: by its last --reruns, or else by its
    level."""
    options = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    options.add_argument("--mode", default="")
    options.add_argument("--reruns", type=int)
    try:
        found = options.parse_known_args(list(line))[0]
    except argparse.ArgumentError:
        return 1  # ReFrame itself refuses it
    level = LEVELS.get(found.mode)
    return 1 + found.reruns if found.reruns is not None else level.passes if level else 1


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
        printed_at = -EVERY_S

        def note(line: str) -> None:
            nonlocal printed_at
            elapsed_s = time.monotonic() - began
            state.read(line, elapsed_s)
            if state.running and elapsed_s >= printed_at + EVERY_S:
                printed_at = elapsed_s
                console.print(f"==> {state.text(elapsed_s)}")

        yield note
        return
    from rich.progress import BarColumn, Progress, ProgressColumn, Task  # noqa: PLC0415  (a pipe has no bar)
    from rich.text import Text  # noqa: PLC0415  (the bar's words)

    class Words(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(one_line(state.text(time.monotonic() - began)), no_wrap=True, overflow="ellipsis")

    # Once a second, so as not to disturb the measurements.
    with Progress(
        BarColumn(bar_width=16),
        Words(),
        console=console.rich_console(streams[0]),
        transient=True,
        refresh_per_second=1,
    ) as progress:
        task = progress.add_task("", total=None)

        def follow(line: str) -> None:
            state.read(line, time.monotonic() - began)
            if state.cases:
                progress.update(task, total=state.cases, completed=state.ended)

        yield follow
