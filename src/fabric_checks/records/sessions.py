# SPDX-License-Identifier: BSD-3-Clause
"""Name sessions, by when they started, and the version of the collection that they run."""

from __future__ import annotations

import os
import secrets
import subprocess
from datetime import datetime, timezone
from functools import lru_cache

from fabric_checks import __version__
from fabric_checks.core.paths import ROOT, sound_name

#: What a run is made of, as git prints it.
_RUN = ("checks/", "ci/", "src/")


def new_session_id() -> str:
    """Return a name for a session: its start in UTC and four random digits, so that names sort by time."""
    return f"{datetime.now(timezone.utc):%Y%m%dT%H%M%SZ}-{secrets.token_hex(2)}"


def started(name: str) -> datetime | None:
    """Return the start of a session, from its name; None for a name of another form."""
    try:
        return datetime.strptime(name[:16], "%Y%m%dT%H%M%SZ").replace(
            tzinfo=timezone.utc
        )
    except ValueError:
        return None


@lru_cache(maxsize=1)
def session_id() -> str:
    """Return the name of this session: FABRIC_SESSION if it is set, else a new one, the same for the whole
    process.

    :raises FabricError: if it cannot be a name of files.
    """
    return sound_name(
        "FABRIC_SESSION", os.environ.get("FABRIC_SESSION") or new_session_id()
    )


@lru_cache(maxsize=1)
def collection_version() -> str:
    """Return version and commit of the collection, as in ``0.1.0+g1a2b3c4d``; ``.dirty`` if the clone was
    changed.

    New files count only where programs, checks or their set-up are: a site's own system and results change
    nothing.
    """
    # Git refuses the clone of another user unless it is declared safe; these commands run nothing of it.
    git = [
        "git",
        "-C",
        str(ROOT),
        "-c",
        f"safe.directory={ROOT}",
        "-c",
        "core.fsmonitor=false",
    ]
    try:
        commit = subprocess.run(
            [*git, "rev-parse", "--short=12", "HEAD"],
            capture_output=True,
            text=True,
            check=True,
        )
        changes = subprocess.run(
            [*git, "status", "--porcelain"], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return f"{__version__}+unknown"
    is_changed = any(
        not line.startswith("??") or line[3:].startswith(_RUN)
        for line in changes.stdout.splitlines()
    )
    return f"{__version__}+g{commit.stdout.strip()}{'.dirty' if is_changed else ''}"
