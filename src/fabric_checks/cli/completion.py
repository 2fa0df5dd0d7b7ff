# SPDX-License-Identifier: BSD-3-Clause
"""Values of options that the shell completes: names of systems, runs and findings of this clone."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import click

from fabric_checks.core import paths
from fabric_checks.core.errors import FabricError

#: What completes a value of click, by its beginning.
Completion = Callable[[click.Context, click.Parameter, str], list[str]]


def _of(names: Callable[[], Iterable[str]]) -> Completion:
    """Return what completes names; what cannot be read has none."""

    def complete(
        _ctx: click.Context, _param: click.Parameter, beginning: str
    ) -> list[str]:
        try:
            return [name for name in names() if name.startswith(beginning)]
        except (FabricError, OSError):
            return []

    return complete


def _systems() -> Iterable[str]:
    files = (paths.ROOT / "config" / "systems").glob("[!_]*.py")
    return sorted(path.stem for path in files)


def _sessions() -> Iterable[str]:
    from fabric_checks.records import runs  # noqa: PLC0415  (slow to import)

    return runs.reports_of(paths.results())


def _findings() -> Iterable[str]:
    from fabric_checks.nightly import journal, plan  # noqa: PLC0415  (slow to import)

    journals = plan.journals(paths.results().absolute()).values()
    entries = [journal.still_open(journal.read(path, [])) for path in journals]
    return [entry.id for of_system in entries for entry in of_system]


systems, sessions, findings = map(_of, (_systems, _sessions, _findings))
