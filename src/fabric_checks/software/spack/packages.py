# SPDX-License-Identifier: BSD-3-Clause
"""The packages that `spack-envs` has environments for, and what the scopes ask of them."""

from __future__ import annotations

from dataclasses import dataclass

from fabric_checks.core.errors import quoted
from fabric_checks.software.spack.errors import SpackError
from fabric_checks.software.spack.scopes import Scopes, included, required_version, requirement, setting
from fabric_checks.software.suite import SPACK_ENVIRONMENTS, Package
from fabric_checks.software.suites import SUITES

PACKAGES = {suite.package.name: suite.package for suite in SUITES.values() if suite.package}


def package_called(name: str) -> Package:
    """Return a package by its name.

    :raises SpackError: if `spack-envs` has none of that name.
    """
    if name not in PACKAGES:
        raise SpackError(f"{SPACK_ENVIRONMENTS}: no package {quoted(name)}; choose from {', '.join(PACKAGES)}")
    return PACKAGES[name]


@dataclass(frozen=True)
class Asked:
    """What the scopes ask of a package.

    :param requirement: on the package itself; :param version: the release in it.
    :param mpi: the requirement on MPI; :param compiler: that on the C compiler, if there is one.
    """

    requirement: str
    version: str
    mpi: str
    compiler: str | None


def asked(package: Package, scopes: Scopes) -> Asked:
    """Return what a package's environment is to be built as.

    :raises SpackError: if the scopes leave release or MPI open.
    """
    found = included(package.environment, scopes.variables())
    said = requirement(found, package.name)
    version = required_version(said) if said else None
    if said is None or version is None:
        raise SpackError(
            f"{scopes.common}: no scope requires a release of {package.name}; write `packages: {package.name}: "
            "require: '@RELEASE'`"
        )
    mpi = requirement(found, "mpi")
    if mpi is None:
        raise SpackError(
            f"{scopes.environ}: requires no MPI, so Spack would choose one; write `packages: mpi: require: [NAME]`"
        )
    return Asked(said, version, mpi, requirement(found, "c"))


def why_not(package: Package, scopes: Scopes) -> str | None:
    """Return why a site does not want a package (``buildable: false`` and no external), or None if it does."""
    found = included(package.environment, scopes.variables())
    buildable, file = setting(found, package.name, "buildable")
    externals, _ = setting(found, package.name, "externals")
    return f"{file} says `buildable: false` of {package.name}" if buildable is False and not externals else None
