# SPDX-License-Identifier: BSD-3-Clause
"""Build one package by Spack, compare the result with the requirements, and write source mirrors for offline
hosts.

Nothing is built twice: Spack solves each input once (the concretization cache in ``spack-envs/common``), and
links what is installed already into the view.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from fabric_checks.core import console, files
from fabric_checks.software.spack import lock
from fabric_checks.software.spack.failure import SpackError
from fabric_checks.software.spack.lock import Built
from fabric_checks.software.spack.scopes import Scopes
from fabric_checks.software.spack.tool import Spack, refuse_credentials, scope_defaults
from fabric_checks.software.suite import Package

BUILT = "built.json"
LOCK = "spack.lock"
CONCRETIZE_LOG = "concretize.txt"
INSTALL_LOG = "install.txt"
VIEW = Path(".spack-env/view")

#: Called with each line of progress.
Progress = Callable[[str], object]


@dataclass(frozen=True)
class Environment:
    """A copy of a package's environment.

    :param folder: the environment's folder; its programs are below ``folder/.spack-env/view``.
    :param requirement: that of the scopes on the package.
    :param release: the answer to ``spack --version``.
    """

    package: Package
    folder: Path
    requirement: str
    spack: Spack
    release: str
    progress: Progress

    @classmethod
    def prepared(
        cls,
        package: Package,
        scopes: Scopes,
        folder: Path,
        variables: Mapping[str, str],
        progress: Progress = console.print,
    ) -> Environment:
        """Copy ``spack.yaml``, render the scopes into the copy, and verify the releases of Spack and of its
        recipes.

        :param scopes: those of the MPI, the site and the collection, as they are in the clone.
        :param variables: usually ``os.environ``.
        :raises SpackError: if Spack is missing, or a scope is missing or wrong.
        """
        refuse_credentials(variables)
        requirement, _ = scopes.asked(package)
        folder.mkdir(parents=True, exist_ok=True)
        for stale in (LOCK, BUILT, CONCRETIZE_LOG, INSTALL_LOG):
            (folder / stale).unlink(missing_ok=True)
        shutil.copy(package.environment / "spack.yaml", folder / "spack.yaml")
        rendered = scopes.rendered(
            folder / "scopes", scope_defaults() | dict(variables)
        )
        spack = Spack.found(dict(variables) | rendered.variables())
        return cls(
            package, folder, requirement, spack, spack.require_pinned(folder), progress
        )

    def concretize(self) -> Built:
        """Write ``spack.lock``, and return what is going to be built.

        :raises SpackError: if it cannot be concretized.
        """
        self.progress(
            f"concretizing {self.package.name}: a minute or two for the first time"
        )
        self.spack.run(
            "concretize", environment=self.folder, log=self.folder / CONCRETIZE_LOG
        )
        return lock.read_lock(self.folder / LOCK, self.release)

    def build(self) -> Built:
        """Concretize and install the package; return the result, and write it to ``built.json``.

        :raises SpackError: with cause and remedy.
        """
        built = self.concretize()
        self.progress(
            f"building {built.spec}; to follow it: tail -f {self.folder / INSTALL_LOG}"
        )
        self.spack.run(
            *("install", "-j", str(len(os.sched_getaffinity(0)))),
            environment=self.folder,
            log=self.folder / INSTALL_LOG,
        )
        self._require_files()
        files.write_text(
            self.folder / BUILT, json.dumps(asdict(built), indent=1) + "\n"
        )
        self.progress(f"built {built.spec}")
        return built

    def _require_files(self) -> None:
        """Require every program: some recipes install what could be built, and succeed."""
        expected = self.package.files(self.requirement)
        missing = [
            name for name in expected if not (self.folder / VIEW / name).exists()
        ]
        if missing:
            raise SpackError(
                f"Spack: {self.package.name} was installed without {', '.join(missing)}\nTo do: see its build"
                " log (`spack location -i` and `.spack/` below it) to learn what could not be built, or"
                " require less of it in the site's scope"
            )


def write_mirror(
    folder: Path,
    *,
    packages: Iterable[Package],
    scopes: Mapping[str, Scopes],
    work: Path,
    variables: Mapping[str, str],
    progress: Progress,
) -> None:
    """Fetch the sources of every package for every MPI, dependencies included, into a mirror for a host
    offline.

    :param folder: the mirror, which is created or extended.
    :param scopes: by the name of the MPI.
    :param work: the folder for the copies of the environments.
    :raises SpackError: with the package that cannot be fetched, and the cause; run again, it goes on there.
    """
    for mpi, scope in scopes.items():
        for package in packages:
            title = f"{package.name} for {mpi}"
            if reason := scope.why_not(package):
                progress(f"{title} is left out: {reason}")
                continue
            copy = work / f"{package.name}-{mpi}"
            try:
                environment = Environment.prepared(
                    package, scope, copy, variables, progress
                )
                environment.concretize()
                target = str(folder.absolute())
                environment.spack.run(
                    *("mirror", "create", "--directory", target, "--all"),
                    environment=copy,
                    log=copy / "mirror.txt",
                )
            except SpackError as error:
                raise SpackError(
                    f"{folder} is not complete: {title}: {error}"
                ) from None
            progress(f"{title}: sources are in {folder}")
