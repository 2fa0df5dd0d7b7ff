# SPDX-License-Identifier: BSD-3-Clause
"""Turn the output of a Spack that failed into a message: the package, what shows the cause, and where to look
on."""

from __future__ import annotations

import re
from pathlib import Path

from fabric_checks.core.errors import FabricError, cut

#: The most lines of a build log, or of Spack's own error, in a message.
MOST_LINES = 4

#: The longest line of a message; compiler command lines are longer.
LINE_LENGTH = 200

#: An error of Spack with its continuation lines.
ERROR = re.compile(r"^==> Error: .*(?:\n(?!==> |\[\+\]).*)*", re.MULTILINE)
INSTALLING = re.compile(r"^==> Installing (\S+?)-\w{32}\b", re.MULTILINE)
LOG = re.compile(r"^\s+(/\S+/spack-build-(?:out|\d\d-[\w-]+-out)\.txt)$", re.MULTILINE)
FIRST_ERROR = re.compile(
    r"(?<![\w-])(?:fatal |internal compiler )?error: |cannot find -l", re.IGNORECASE
)


class SpackError(FabricError):
    """Report a fault of Spack, its configuration or its result, with cause and remedy."""


def explain(output: str, exit_code: int) -> str:
    """Return a message of a few lines: the package, the lines that show the cause, and where remedies are.

    Those lines are the first error of the build log, or else Spack's own and what it printed just before.

    :param output: the output of Spack, both streams together.
    :param exit_code: its exit status; negative, or over 128, for a signal.
    """
    error = ERROR.search(output)
    before = output[: error.start()] if error else output
    logs = LOG.findall(output)[-1:]
    # The package that was being installed; there is none while concretizing.
    packages = INSTALLING.findall(before)[-1:]
    named = f" ({packages[0]})" if packages else ""
    if error:
        evidence = [
            *distinct_lines(before)[-2:],
            *distinct_lines(error[0])[:MOST_LINES],
        ]
    else:
        evidence = distinct_lines(before)[-MOST_LINES:]
    for log in logs:
        evidence = _first_error(Path(log)) or evidence
    return "\n".join(
        [
            f"Spack{named} ended with exit status {exit_code}",
            *(f"  {cut(line, LINE_LENGTH)}" for line in evidence),
            *(f"  build log: {log}" for log in logs),
            "To do: docs/software.md has the causes under *When Spack fails*",
        ]
    )


def distinct_lines(text: str) -> list[str]:
    """Return the lines of a text without their indentation, each once, in order; no blank ones."""
    return list(
        dict.fromkeys(line.strip() for line in text.splitlines() if line.strip())
    )


def _first_error(log: Path) -> list[str]:
    """Return the first error of a build log, or nothing if it has none or is gone: stages are cleaned."""
    try:
        text = log.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    lines = distinct_lines(text)
    found = (at for at, line in enumerate(lines) if FIRST_ERROR.search(line))
    first = next(found, len(lines))
    return lines[first : first + MOST_LINES]
