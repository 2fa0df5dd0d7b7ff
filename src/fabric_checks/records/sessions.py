# SPDX-License-Identifier: BSD-3-Clause
"""Name sessions, by when they started, and the version of the collection that they run."""

from __future__ import annotations

import os
import secrets
from datetime import datetime, timezone
from functools import lru_cache

from fabric_checks import __version__
from fabric_checks.core.errors import FabricError
from fabric_checks.core.git import git
from fabric_checks.core.paths import sound_name

#: What a run is made of, as git prints it.
_RUN = ("checks/", "ci/", "src/")
#: Why a session has no case.
NO_MATCH = (
    "no check matches the selection; ci/run -l lists the checks there are, with --mode those of that level,"
    " `fabric-checks doctor --system"
    " NAME` says why others are left out"
)


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


def rename(name: str) -> None:
    """Let this process be a session of another name from now on."""
    os.environ["FABRIC_SESSION"] = name
    session_id.cache_clear()


@lru_cache(maxsize=1)
def collection_version() -> str:
    """Return version and commit of the collection, as in ``0.1.0+g1a2b3c4d``; ``.dirty`` if the clone was
    changed.

    New files count only where programs, checks or their set-up are: a site's own system and results change
    nothing.
    """
    try:
        commit = git("rev-parse", "--short=12", "HEAD").strip()
        changes = git("status", "--porcelain")
    except FabricError:
        return f"{__version__}+unknown"
    is_changed = any(
        not line.startswith("??") or line[3:].startswith(_RUN)
        for line in changes.splitlines()
    )
    return f"{__version__}+g{commit}{'.dirty' if is_changed else ''}"
