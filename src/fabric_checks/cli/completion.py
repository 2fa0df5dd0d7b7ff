# SPDX-License-Identifier: BSD-3-Clause
"""Values of options that the shell completes: names of systems, runs and findings of this clone."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

import click

from fabric_checks.core import paths
from fabric_checks.core.errors import FabricError


def _completed(
    names: Callable[[], Iterable[str]],
    _ctx: click.Context,
    _param: click.Parameter,
    beginning: str,
) -> list[str]:
    """Return the names that begin so; none if they cannot be read."""
    try:
        return [name for name in names() if name.startswith(beginning)]
    except (FabricError, OSError):
        return []


def _systems() -> Iterable[str]:
    own = paths.ROOT.glob("config/systems/[!_]*.py")
    return [path.stem for path in (*own, *paths.ROOT.glob("config/twins/*.yaml"))]


def _sessions() -> Iterable[str]:
    from fabric_checks.records import runs  # noqa: PLC0415  (slow to import)

    return runs.reports_of(paths.results())


def _findings() -> Iterable[str]:
    from fabric_checks.nightly import journal  # noqa: PLC0415  (slow to import)

    found = journal.all_open(paths.results().absolute(), [])
    return [entry.id for entries in found.values() for entry in entries]


#: Each completes a value of click.
systems = partial(_completed, _systems)
sessions = partial(_completed, _sessions)
findings = partial(_completed, _findings)
