# SPDX-License-Identifier: BSD-3-Clause
"""What a night is to do, and what goes wrong while it does it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import polars as pl

from fabric_checks.core.errors import FabricError, RecordError

T = TypeVar("T")


@dataclass(frozen=True)
class Plan:
    """What a night is to do.

    :param system: of ReFrame; :param level: one of :data:`fabric_checks.core.levels.LEVELS`; :param session: its name.
    :param results: the folder of results; :param archive: the folder of the archive.
    :param options: further options of ``ci/run``.
    :param runs: whether the level is run; otherwise what ran under this name is judged.
    """

    system: str
    level: str
    session: str
    results: Path
    archive: Path
    options: tuple[str, ...] = ()
    runs: bool = True

    @property
    def folder(self) -> Path:
        """The folder of the system's nights."""
        return folder_of(self.results, self.system)

    @property
    def journal(self) -> Path:
        """The journal of the system's nights."""
        return self.folder / "nights.jsonl"

    @property
    def files(self) -> Path:
        """The folder of this night's files."""
        return self.folder / self.session


def folder_of(results: Path, system: str) -> Path:
    """Return the folder of the nights of a system."""
    return results / "nightly" / system


def journals(results: Path) -> dict[str, Path]:
    """Return the journals of nights in a folder of results, by system."""
    return {path.parent.name: path for path in sorted(results.glob("nightly/*/nights.jsonl"))}


@dataclass
class Trouble:
    """What went wrong with the night, as against with the machine."""

    failures: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def attempt(self, what: str, step: Callable[[], T]) -> T | None:
        """Do a step; what it raises is a failure of the night, and the next step still runs."""
        try:
            return step()
        except FabricError as error:
            self.failures.append(f"{what}: {error}")
        except OSError as error:
            place = f"{error.filename}: " if error.filename else ""
            self.failures.append(f"{what}: {place}{error.strerror or error}")
        except pl.exceptions.PanicException as error:  # which is no Exception; what else the night can do is done
            self.failures.append(f"{what}: Polars gave up ({' '.join(str(error).split())[:200]})")
        return None


def require_results(plan: Plan) -> None:
    """Refuse to judge a session that left nothing.

    :raises RecordError: if there is no run of that name.
    """
    if not (plan.results / "logs" / f"{plan.session}.log").exists():
        raise RecordError(
            f"{plan.results}: no run called {plan.session!r} to judge; `fabric-checks show --list` lists all"
        )
