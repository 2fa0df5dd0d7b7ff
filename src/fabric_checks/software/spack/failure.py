# SPDX-License-Identifier: BSD-3-Clause
"""Turn the output of a Spack that failed into a message with cause, evidence and remedy."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from fabric_checks.core import yaml_file
from fabric_checks.core.errors import FabricError, cut
from fabric_checks.core.paths import ROOT

#: The most lines of a build log, or of Spack's own error, in a message.
MOST_LINES = 4

#: The longest line of a message; compiler command lines are longer.
LINE_LENGTH = 200

#: An error of Spack with its continuation lines. `spack mirror` only warns of each source that it cannot
#: fetch.
ERROR = re.compile(r"^==> (?:Error|Warning): .*(?:\n(?!==> |\[\+\]).*)*", re.MULTILINE)
INSTALLING = re.compile(r"^==> Installing (\S+?)-\w{32}\b", re.MULTILINE)
LOG = re.compile(r"^\s+(/\S+/spack-build-(?:out|\d\d-[\w-]+-out)\.txt)$", re.MULTILINE)
FIRST_ERROR = re.compile(
    r"(?<![\w-])(?:fatal |internal compiler )?error: ", re.IGNORECASE
)


class SpackError(FabricError):
    """Report a fault of Spack, its configuration or its result, with cause and remedy."""


@dataclass(frozen=True)
class Cause:
    """Describe one way in which Spack fails.

    :param name: the name in messages; :param remedy: the action for the user.
    :param pattern: matches it in the output, or, if ``in_log``, in the build log too.
    """

    name: str
    pattern: str
    remedy: str
    in_log: bool = False

    def is_shown_by(self, text: str) -> re.Match[str] | None:
        """Return where a text shows this cause."""
        return re.search(self.pattern, text, re.IGNORECASE | re.MULTILINE)


_NAMED = {
    name: Cause(name, **about)
    for name, about in yaml_file.load(ROOT / "config" / "spack-failures.yaml").items()
}
NO_REPOSITORY = _NAMED["no package repository"]
INTERRUPTED = _NAMED["it was interrupted"]
BUILD_FAILED = _NAMED["the build failed"]
NOT_THERE = _NAMED["Spack is missing"]
UNKNOWN = _NAMED["it failed"]

#: All that a text can show, the most telling first.
CAUSES = [cause for cause in _NAMED.values() if cause not in (NOT_THERE, UNKNOWN)]


def explain(output: str, exit_code: int) -> str:
    """Return a message of a few lines: the cause, the lines of the output or build log that show it, the
    remedy.

    :param output: the output of Spack, both streams together.
    :param exit_code: its exit status; negative, or over 128, for a signal.
    """
    named = LOG.findall(output)
    log = _read(Path(named[-1])) if named else ""
    cause = _find(output, log, exit_code)
    shown = cause.is_shown_by(output)
    # The package that was being installed; there is none while concretizing.
    package = (
        INSTALLING.findall(output[: shown.start()] if shown else output) or [""]
    )[-1]
    head = f"Spack: {cause.name}{f' ({package})' if package else ''}, exit status {exit_code}"
    evidence = _evidence(cause, output, log) + [
        f"build log: {path}" for path in named[-1:]
    ]
    return "\n".join(
        [
            head,
            *(f"  {cut(line, LINE_LENGTH)}" for line in evidence),
            f"To do: {cause.remedy}",
        ]
    )


def distinct_lines(text: str) -> list[str]:
    """Return the lines of a text without their indentation, each once, in order; no blank ones."""
    return list(
        dict.fromkeys(line.strip() for line in text.splitlines() if line.strip())
    )


def _read(log: Path) -> str:
    """Return the text of a build log, or nothing if it is gone: stages are cleaned."""
    try:
        return log.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _find(output: str, log: str, exit_code: int) -> Cause:
    """Return the first cause that the output shows, or the build log for those that break a compiler."""
    if exit_code == 127:
        return NOT_THERE
    for cause in CAUSES:
        if cause.is_shown_by(output) or (cause.in_log and cause.is_shown_by(log)):
            return cause
        if cause is INTERRUPTED and (exit_code < 0 or exit_code > 128):
            return cause
    return UNKNOWN


def _evidence(cause: Cause, output: str, log: str) -> list[str]:
    """Return the most telling lines: the first error of the build log, else Spack's own error or the last
    lines."""
    if cause is BUILD_FAILED and log:
        lines = distinct_lines(log)
        first = next(
            (i for i, line in enumerate(lines) if FIRST_ERROR.search(line)), -MOST_LINES
        )
        return lines[first:][:MOST_LINES]
    for error in ERROR.findall(output):
        if cause.is_shown_by(error):
            return distinct_lines(error.partition(": ")[2])[:MOST_LINES]
    lines = [*distinct_lines(output), *distinct_lines(log)]
    return [line for line in lines if cause.is_shown_by(line)][:2] or lines[
        -MOST_LINES:
    ]
