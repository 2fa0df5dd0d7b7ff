# SPDX-License-Identifier: BSD-3-Clause
"""Run commands whose output is read."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from fabric_checks.core.errors import FabricError
from fabric_checks.core.text import one_line, uncoloured

#: How long a command may take.
TIMEOUT_S = 60


def printed(command: Sequence[str]) -> str:
    """Return the standard output of a command.

    :raises FabricError: if it fails, cannot be started or does not answer.
    """
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise FabricError(
            f"{command[0]}: {getattr(error, 'strerror', None) or 'it does not answer'}"
        ) from None
    if done.returncode:
        cause = (
            done.stderr.strip() or done.stdout.strip() or f"status {done.returncode}"
        ).splitlines()[-1]
        raise FabricError(
            f"{' '.join(command)}: {one_line(uncoloured(cause)).removeprefix('ERROR: ')}"
        )
    return done.stdout
