# SPDX-License-Identifier: BSD-3-Clause
"""Write what a machine without a network builds from: a mirror of sources, and a cache of built packages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from fabric_checks.spack.build import build, concretized
from fabric_checks.spack.packages import Package, why_not
from fabric_checks.spack.scopes import Scopes


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

    :param folder: the mirror, which is made or added to.
    :param scopes: by the name of the MPI.
    :param work: where the copies of the environments go.
    :param build_cache: whether to build everything and add that; it serves machines whose externals are the same, at
        the same paths, and whose processors have the same target, because all that is part of a package's hash.
    :raises SpackError: with cause and remedy; what is in the mirror by then is whole.
    """
    folder = folder.absolute()
    for mpi, scope in scopes.items():
        for package in packages:
            reason = why_not(package, scope)
            if reason:
                say(f"{package.name} for {mpi} is left out: {reason}")
                continue
            place = work / f"{package.name}-{mpi}"
            if build_cache:
                build(package, scope, place, variables, say)
            environment = concretized(package, scope, place, variables, say)
            environment.spack.run("mirror", "create", "--directory", str(folder), "--all", environment=place)
            say(f"{package.name} for {mpi}: sources are in {folder}")
            if build_cache:
                push = ["buildcache", "push", "--unsigned", "--update-index", folder.as_uri()]
                environment.spack.run(*push, environment=place)
                say(f"{package.name} for {mpi}: what was built is in {folder}")
