# SPDX-License-Identifier: BSD-3-Clause
"""Ask git about this clone."""

from __future__ import annotations

import subprocess

from fabric_checks.core.errors import FabricError, quoted
from fabric_checks.core.paths import ROOT


def git(*words: str, stdin: bytes | None = None) -> str:
    """Return the output of a git command in this clone.

    :param stdin: its standard input.
    :raises FabricError: if it fails.
    """
    # Git refuses the clone of another user unless it is declared safe; these commands run nothing of it.
    safely = ["-c", f"safe.directory={ROOT}", "-c", "core.fsmonitor=false"]
    try:
        done = subprocess.run(
            ["git", "-C", str(ROOT), *safely, *words],
            input=stdin,
            capture_output=True,
            check=False,
        )
    except OSError:
        raise FabricError(
            "git is missing, and only git knows the collection's commit; install it"
        ) from None
    if done.returncode:
        cause = done.stderr.decode(errors="replace").strip().splitlines() or [
            "no reason is given"
        ]
        raise FabricError(f"{ROOT}: git {words[0]}: {quoted(cause[-1], 200)[1:-1]}")
    return done.stdout.decode(errors="replace")
