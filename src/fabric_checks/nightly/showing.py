# SPDX-License-Identifier: BSD-3-Clause
"""Show in a terminal how far the run of a night is, and where its output goes."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, TextIO

from fabric_checks.core import console
from fabric_checks.nightly.plan import Plan
from fabric_checks.report.terminal import progress

#: The interval between looks at ReFrame's log.
LOOK_S = 1.0
#: The beginning of each line of that log: time, severity, and who logs it.
_PREFIX = re.compile(r"\[[^\]]*\] \w+: reframe: ")

#: Waits for the process of a run, and returns its exit status.
Wait = Callable[["subprocess.Popen[Any]"], int]


@contextmanager
def shown(plan: Plan) -> Iterator[Wait]:
    """Show the progress of a night's run while the function that is yielded waits for it.

    The run prints into a file, so its cases are taken from ReFrame's log.
    """
    if not plan.is_watched:
        yield lambda process: process.wait()
        return
    console.error(
        f"==> night {plan.session} of {plan.system}, level {plan.level}; its output is in {plan.files / 'run.log'}"
    )
    with ExitStack() as opened:
        follow = opened.enter_context(progress.shown(progress.State()))
        yield lambda process: _wait(process, plan, follow, opened)
    console.error("==> the run has ended; it is judged, archived and reported")


def _wait(process: subprocess.Popen[Any], plan: Plan, follow: Callable[[str], None], opened: ExitStack) -> int:
    log: TextIO | None = None
    rest, status = "", None
    while status is None:
        try:
            status = process.wait(LOOK_S)
        except subprocess.TimeoutExpired:
            status = None
        if log is None and plan.log.exists():
            log = opened.enter_context(plan.log.open(errors="replace"))
        *lines, rest = (rest + (log.read() if log else "")).split("\n")
        for line in lines:
            follow(_PREFIX.sub("", line, count=1))
    return status
