# SPDX-License-Identifier: BSD-3-Clause
"""Programs that tests start."""

import subprocess

from tests.guard import GUARD_S


def run(command, **options):
    """Run a program to its end, and keep what it prints as text."""
    return subprocess.run(
        command, **{"capture_output": True, "text": True, "timeout": GUARD_S} | options
    )


def succeed(command, **options):
    """Run a program that has to succeed."""
    done = run(command, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done
