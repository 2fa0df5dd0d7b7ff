# SPDX-License-Identifier: BSD-3-Clause
"""``fabric-checks new-session``: for ``ci/run``."""

from __future__ import annotations

import click

from fabric_checks.core import console
from fabric_checks.records import sessions


@click.command("new-session", hidden=True)
def command() -> None:
    """Print a name for a session, for FABRIC_SESSION."""
    console.print(sessions.new_session_id())
