# SPDX-License-Identifier: BSD-3-Clause
"""Tell the news of a night to a command of the site, which sends a mail, calls a webhook or opens a
ticket."""

from __future__ import annotations

import subprocess
from pathlib import Path

from fabric_checks.core.text import one_line
from fabric_checks.core.verdict import Verdict
from fabric_checks.nightly.journal import State
from fabric_checks.nightly.summary import Summary, as_json

#: How long the command may take.
TIMEOUT_S = 300.0


def has_news(summary: Summary) -> bool:
    """Tell whether something is new, has grown or is closed, or the night failed."""
    return (
        bool(summary.of(State.NEW, State.CLOSED)) or summary.verdict is Verdict.FAILED
    )


def tell(command: str, summary: Summary, path: Path) -> list[str]:
    """Run a command with the news of a night as JSON on its standard input, if there is any.

    :param command: for the shell; empty for none. :param path: the file that has the same JSON.
    :returns: a line if it fails: its status, and the last line that it printed.
    """
    if not command or not has_news(summary):
        return []
    try:
        done = subprocess.run(
            command, shell=True, input=as_json(summary), capture_output=True, timeout=TIMEOUT_S, check=False,
            text=True, errors="replace",
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        why = f"it did not end within {TIMEOUT_S:.0f} s"
    except OSError as error:
        why = str(error.strerror)
    else:
        if not done.returncode:
            return []
        printed = (
            done.stderr.strip() or done.stdout.strip() or "it printed nothing"
        ).splitlines()
        why = f"status {done.returncode}: {one_line(printed[-1])}"
    return [
        f"--on-finding: {one_line(command)}: {why}; nobody was told: mend it and run it on {path}"
    ]
