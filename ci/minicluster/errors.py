# SPDX-License-Identifier: BSD-3-Clause
"""Errors of a cluster, in one line."""

from pathlib import Path


class ClusterError(Exception):
    """Something the user has to fix; its text is one line with the cause and the remedy."""


def telling_line(log: Path) -> str:
    """Return the line of a log that most likely says why its daemon ended."""
    try:
        lines = [
            line.strip()
            for line in log.read_text(errors="replace").splitlines()
            if line.strip()
        ]
    except FileNotFoundError:
        return "it wrote no log"
    for sign in ("fatal", "error"):
        telling = [line for line in lines if sign in line.lower()]
        if telling:
            return telling[0]  # what follows is mostly a consequence
    return lines[-1] if lines else "it wrote nothing to its log"
