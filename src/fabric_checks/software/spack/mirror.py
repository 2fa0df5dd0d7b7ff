# SPDX-License-Identifier: BSD-3-Clause
"""Write what a machine without a network builds from: a mirror of sources, and a cache of built packages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from fabric_checks.core.errors import FabricError
from fabric_checks.software.spack.build import build, concretized
from fabric_checks.software.spack.errors import SpackError
from fabric_checks.software.spack.packages import why_not
from fabric_checks.software.spack.scopes import Scopes
from fabric_checks.software.suite import Package


def write(
    folder: Path,
    *,
    packages: Iterable[Package],
    scopes: Mapping[str, Scopes],
    work: Path,
    variables: Mapping[str, str],
    build_cache: bool,
    say: Callable[[str], object],
) -> None:
    """Fetch the sources of every package for every MPI, dependencies included, into a mirror of Spack's format.

    What cannot be had does not stop the rest.

    :param folder: the mirror, which is made or added to.
    :param scopes: by the name of the MPI.
    :param work: where the copies of the environments go.
    :param build_cache: whether to build everything and add that; it serves machines whose externals are the same, at
        the same paths, and whose processors have the same target, because all that is part of a package's hash.
    :raises SpackError: at the end, with all that is missing and why; what is in the mirror is whole.
    """
    order = _Order(folder.absolute(), work, variables, say)
    wanted = [(package, mpi, scope) for mpi, scope in scopes.items() for package in packages]
    missing = []
    for package, mpi, scope in wanted:
        what = f"{package.name} for {mpi}"
        try:
            reason = why_not(package, scope)
            if reason:
                say(f"{what} is left out: {reason}")
                continue
            # Sources first: they may serve where the build fails.
            order.bring_sources(package, mpi, scope)
            if build_cache:
                order.bring_built(package, mpi, scope)
        except FabricError as error:
            say(f"{what} is NOT complete in {order.folder}")
            missing.append(f"{what}: {error}")
    if missing:
        raise SpackError(
            f"{order.folder}: {len(missing)} of {len(wanted)} are missing or incomplete; the others are there\n"
            + "\n".join(missing)
        )


@dataclass(frozen=True)
class _Order:
    """Where what is asked for goes, and how it is brought there."""

    folder: Path
    work: Path
    variables: Mapping[str, str]
    say: Callable[[str], object]

    def bring_sources(self, package: Package, mpi: str, scope: Scopes) -> None:
        """Fetch the sources of a package and of all that it needs."""
        place = self.work / f"{package.name}-{mpi}"
        environment = concretized(package, scope, place, self.variables, self.say)
        create = ["mirror", "create", "--directory", str(self.folder), "--all"]
        environment.spack.run(*create, environment=place, log=place / "mirror.txt")
        self.say(f"{package.name} for {mpi}: sources are in {self.folder}")

    def bring_built(self, package: Package, mpi: str, scope: Scopes) -> None:
        """Build a package, and add what was built."""
        place = self.work / f"{package.name}-{mpi}"
        build(package, scope, place, self.variables, self.say)
        environment = concretized(package, scope, place, self.variables, self.say)
        push = ["buildcache", "push", "--unsigned", "--update-index", self.folder.as_uri()]
        environment.spack.run(*push, environment=place, log=place / "buildcache.txt")
        self.say(f"{package.name} for {mpi}: what was built is in {self.folder}, unsigned")
