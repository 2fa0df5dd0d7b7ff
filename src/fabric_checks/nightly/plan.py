# SPDX-License-Identifier: BSD-3-Clause
"""The plan of a night, its lock, and what goes wrong while it is carried out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import polars as pl

from fabric_checks.core.errors import FabricError
from fabric_checks.core.locks import LockedError, exclusive

T = TypeVar("T")


@dataclass(frozen=True)
class Plan:
    """The plan of a night.

    :param system: of ReFrame; :param level: one of :data:`fabric_checks.core.levels.LEVELS`; :param session:
        its name.
    :param results: the folder of results.
    :param options: further options of ``ci/run``.
    :param runs: whether the level is run; otherwise the run of this name is judged.
    :param metrics: the folder of the gauges; that of the system's nights if None.
    :param on_finding: a command for the shell that gets the news of the night; empty for none.
    """

    system: str
    level: str
    session: str
    results: Path
    options: tuple[str, ...] = ()
    runs: bool = True
    metrics: Path | None = None
    on_finding: str = ""

    @property
    def folder(self) -> Path:
        """Return the folder of the system's nights."""
        return folder_of(self.results, self.system)

    @property
    def journal(self) -> Path:
        """Return the journal of the system's nights."""
        return self.folder / "nights.jsonl"

    @property
    def files(self) -> Path:
        """Return the folder of this night's files."""
        return self.folder / self.session

    @property
    def log(self) -> Path:
        """Return the log of ReFrame that the run leaves."""
        return self.results / "logs" / f"{self.session}.log"


def folder_of(results: Path, system: str) -> Path:
    """Return the folder of the nights of a system."""
    return results / "nightly" / system


def journals(results: Path) -> dict[str, Path]:
    """Return the journals of nights in a folder of results, by system."""
    return {
        path.parent.name: path
        for path in sorted(results.glob("nightly/*/nights.jsonl"))
    }


@dataclass
class Trouble:
    """Failures of the night itself, not of the machine."""

    failures: list[str] = field(default_factory=list)

    def attempt(self, what: str, step: Callable[[], T]) -> T | None:
        """Do a step; what it raises is a failure of the night, and the next step still runs."""
        try:
            return step()
        except FabricError as error:
            self.failures.append(f"{what}: {error}")
        except OSError as error:
            path = f"{error.filename}: " if error.filename else ""
            self.failures.append(f"{what}: {path}{error.strerror or error}")
        except pl.exceptions.PanicException as error:  # not an Exception
            self.failures.append(
                f"{what}: Polars gave up ({' '.join(str(error).split())[:200]})"
            )
        return None


@contextmanager
def only_one(path: Path) -> Iterator[int]:
    """Hold the lock of a system while its night runs, and yield its descriptor.

    The lock is the kernel's: it ends with the last process that has the descriptor, however that ends. The
    run of a night inherits it, so that a run whose night was killed is not joined by another.

    :raises FabricError: if another process has it, or the file cannot be written.
    """
    with ExitStack() as held:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = held.enter_context(exclusive(path, 0))
        except LockedError as error:
            why = "another night of this system is running, or the run of a night that was killed"
            raise FabricError(f"{error}: {why}; nothing was run") from None
        except OSError as error:
            raise FabricError(
                f"{path}: {error.strerror}: a night cannot run without its lock; fix that,"
                " or set FABRIC_RESULTS to a folder that can be written"
            ) from None
        yield descriptor
