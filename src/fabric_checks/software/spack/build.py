# SPDX-License-Identifier: BSD-3-Clause
"""Build one package by Spack, hold it to what was asked for, and write mirrors for hosts that are offline.

Nothing is built twice: Spack solves each input once (the concretization cache in ``spack-envs/common``), and links what
is installed already into the view.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from fabric_checks.core import console, files
from fabric_checks.core.errors import FabricError
from fabric_checks.core.text import names_text
from fabric_checks.software.spack import lock
from fabric_checks.software.spack.failure import SpackError
from fabric_checks.software.spack.scopes import Asked, Scopes
from fabric_checks.software.spack.tool import Configured, Installed, Spack, scope_defaults, without_user
from fabric_checks.software.suite import Package

BUILT = "built.json"
LOCK = "spack.lock"
CONCRETIZE_LOG = "concretize.txt"
INSTALL_LOG = "install.txt"
VIEW = Path(".spack-env/view")
INSTALLING = re.compile(r"==> Installing (\S+-\w{32})\b")
PHASE = re.compile(r"==> \S+: (?:Executing phase|Successfully installed)|==> (?:Extracting|Fetching) ")

#: Is called with each line of progress.
Progress = Callable[[str], object]


@dataclass(frozen=True)
class Built:
    """The result of a build.

    :param version: its release; :param hash: Spack's, all 32 characters.
    :param spec: the concretized spec, with compiler, MPI and target.
    :param spack: the answer to ``spack --version``.
    :param mpi: the MPI of the spec, such as ``mpich@5.0.2``.
    :param unverified: the packages that a build cache gave without a check of their signatures.
    """

    version: str
    hash: str
    spec: str
    spack: str
    mpi: str
    unverified: list[str]


@dataclass(frozen=True)
class Environment:
    """A copy of a package's environment.

    :param folder: it becomes the environment's folder; its programs are below ``folder/.spack-env/view``.
    :param asked: what the result is held to.
    :param progress: is called with each line of progress.
    """

    package: Package
    folder: Path
    asked: Asked
    spack: Spack
    configured: Configured
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
        """Copy ``spack.yaml``, render the scopes into the copy, and see that Spack and its recipes are the right ones.

        :param scopes: those of the MPI, the site and the collection, as they are in the clone.
        :param variables: usually ``os.environ``.
        :raises SpackError: if Spack is missing, or a scope is missing or wrong.
        """
        asked = scopes.asked(package)
        folder.mkdir(parents=True, exist_ok=True)
        for stale in (LOCK, BUILT, CONCRETIZE_LOG, INSTALL_LOG):
            (folder / stale).unlink(missing_ok=True)
        shutil.copy(package.environment / "spack.yaml", folder / "spack.yaml")
        values = scope_defaults() | dict(variables)
        values["FABRIC_SPACK_PACKAGES_URL"] = without_user(values["FABRIC_SPACK_PACKAGES_URL"])
        rendered = scopes.rendered(folder / "scopes", values)
        spack = Spack.found(dict(variables) | rendered.variables())
        return cls(package, folder, asked, spack, spack.configured(folder), progress)

    def concretize(self) -> lock.Concrete:
        """Write ``spack.lock``.

        :raises SpackError: if it cannot be concretized, or not to what was asked for.
        """
        self.progress(f"concretizing {self.package.name}: a minute or two for the first time")
        self.spack.run("concretize", environment=self.folder, log=self.folder / CONCRETIZE_LOG)
        return lock.require(self.folder / LOCK, self.package.name, self.asked)

    def build(self) -> Built:
        """Concretize and install the package; return the result, which is in ``built.json`` too.

        :raises SpackError: with cause and remedy.
        """
        start = time.monotonic()
        concrete = self.concretize()
        self.progress(f"building {concrete}; to follow it: tail -f {self.folder / INSTALL_LOG}")
        found = self._install()
        self._require_files()
        built = Built(
            version=concrete.package.version,
            hash=concrete.package.hash,
            spec=str(concrete),
            spack=self.configured.release,
            mpi=str(concrete.mpi),
            unverified=[each.name for each in found if each.cached and self.configured.takes_unsigned],
        )
        files.write_text(self.folder / BUILT, json.dumps(asdict(built), indent=1) + "\n")
        for name in built.unverified:
            self.progress(f"{name} is from a build cache; its signature was not checked")
        self.progress(f"built {built.spec} in {time.monotonic() - start:.0f} s")
        return built

    def _install(self) -> list[Installed]:
        """Install what the lock lists, and once more what is damaged, which Spack takes for intact.

        :return: the package and what it needs at run time.
        """
        self._run_install()
        found = self.spack.installed(self.folder)
        damaged = [each for each in found if each.lost]
        for each in damaged:
            self.progress(f"{each.name} is damaged, {_lost(each)}: installing it again")
            self._run_install("--overwrite", "--yes-to-all", f"/{each.hash}")
        found = self.spack.installed(self.folder) if damaged else found
        for each in found:
            if each.lost:
                raise SpackError(
                    f"Spack: a prefix is damaged ({each.name}), {_lost(each)}, even after a reinstallation\n"
                    f"To do: remove {each.prefix}, and find out who writes there"
                )
        return found

    def _run_install(self, *options: str) -> None:
        self.spack.run(
            *("install", "-j", str(len(os.sched_getaffinity(0))), *options),
            environment=self.folder,
            log=self.folder / INSTALL_LOG,
            watch=self._watch,
        )

    def _watch(self, line: str) -> None:
        """Pass on the lines of Spack that show progress, and the path of the compiler's output."""
        if installing := INSTALLING.match(line):
            stage = self.configured.stage / f"spack-stage-{installing[1]}"
            self.progress(f"{installing[1]}: its log is {stage}/spack-build-out.txt")
        elif PHASE.match(line):
            self.progress(line.removeprefix("==> "))

    def _require_files(self) -> None:
        """Look for every program: some recipes install what could be built, and succeed."""
        expected = self.package.files(self.asked.requirement)
        missing = [name for name in expected if not (self.folder / VIEW / name).exists()]
        if missing:
            raise SpackError(
                f"Spack: {self.package.name} was installed without {', '.join(missing)}\n"
                "To do: see its build log (`spack location -i` and `.spack/` below it) to learn what could not be "
                "built, or require less of it in the site's scope"
            )


def _lost(damaged: Installed) -> str:
    return f"{names_text(damaged.lost, 1)} differs from what was installed"


def write_mirror(
    folder: Path,
    *,
    packages: Iterable[Package],
    scopes: Mapping[str, Scopes],
    work: Path,
    variables: Mapping[str, str],
    build_cache: bool,
    progress: Progress,
) -> None:
    """Fetch the sources of every package for every MPI, dependencies included, into a mirror for a host offline.

    A package that cannot be fetched does not stop the others.

    :param folder: the mirror, which is made or added to.
    :param scopes: by the name of the MPI.
    :param work: the folder for the copies of the environments.
    :param build_cache: whether to build everything and add that; it serves machines whose externals are the same, at
        the same paths, and whose processors have the same target, because all that is part of a package's hash.
    :raises SpackError: at the end, with all that is missing and why.
    """
    folder = folder.absolute()
    wanted = [(package, mpi, scope) for mpi, scope in scopes.items() for package in packages]
    missing = []
    for package, mpi, scope in wanted:
        title = f"{package.name} for {mpi}"
        if reason := scope.why_not(package):
            progress(f"{title} is left out: {reason}")
            continue
        try:
            environment = Environment.prepared(package, scope, work / f"{package.name}-{mpi}", variables, progress)
            environment.concretize()
            # Sources first: they may serve where the build fails.
            _run_logged(environment, "mirror", "create", "--directory", str(folder), "--all")
            progress(f"{title}: sources are in {folder}")
            if build_cache:
                environment.build()
                _run_logged(environment, "buildcache", "push", "--unsigned", "--update-index", folder.as_uri())
                progress(f"{title}: the built packages are in {folder}, unsigned")
        except FabricError as error:
            progress(f"{title} is NOT complete in {folder}")
            missing.append(f"{title}: {error}")
    if missing:
        raise SpackError(
            f"{folder}: {len(missing)} of {len(wanted)} are missing or incomplete; the others are complete\n"
            + "\n".join(missing)
        )


def _run_logged(environment: Environment, *command: str) -> None:
    environment.spack.run(*command, environment=environment.folder, log=environment.folder / f"{command[0]}.txt")
