# SPDX-License-Identifier: BSD-3-Clause
"""The packages that `spack-envs` has environments for: what they offer the checks, and what proves them whole."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fabric_checks.errors import quoted
from fabric_checks.paths import ROOT, sound_path
from fabric_checks.software import programs
from fabric_checks.software.programs import Program
from fabric_checks.software.spack.errors import SpackError
from fabric_checks.software.spack.scopes import Scopes, included, required_version, requirement, setting

#: Stands for the view of the built environment, which is known only when a check has been set up.
VIEW = "{view}"

ENVIRONMENTS = ROOT / "spack-envs"


@dataclass(frozen=True)
class Package:
    """One package of `spack-envs`.

    :param name: its name in Spack, and of its folder.
    :param suite: the feature of an environment that its checks ask for.
    :param describe: returns what it offers, from the requirement on it and its release.
    :param files: the files below the view that have to be there, from the same requirement.
    """

    name: str
    suite: str
    describe: Callable[[str, str], Program]
    files: Callable[[str], list[str]]

    @property
    def environment(self) -> Path:
        """The folder with its ``spack.yaml``."""
        return ENVIRONMENTS / self.name


def _osu(requirement: str, version: str) -> Program:
    devices = tuple(kind for kind in ("cuda", "rocm") if f"+{kind}" in requirement)
    return programs.osu(VIEW, version, devices)


def _osu_programs(_requirement: str) -> list[str]:
    below = "libexec/osu-micro-benchmarks/mpi"
    return [
        f"{below}/{name}"
        for name in ("pt2pt/osu_latency", "collective/osu_allreduce", "one-sided/osu_put_latency", "startup/osu_init")
    ]


def _imb_parts(requirement: str) -> tuple[str, ...]:
    return tuple(part for part in ("nbc", "rma", "p2p") if f"~{part}" not in requirement)


def _imb(requirement: str, version: str) -> Program:
    return programs.imb(VIEW, version, _imb_parts(requirement))


def _imb_programs(requirement: str) -> list[str]:
    return [f"bin/IMB-{part.upper()}" for part in ("mpi1", *_imb_parts(requirement))]


def _lammps_inputs() -> str:
    """Return the folder of the inputs if the user names one: releases before 2023 install none.

    :raises FabricError: if its path cannot be in a job script.
    """
    given = os.environ.get("FABRIC_LAMMPS_INPUTS")
    return str(sound_path("FABRIC_LAMMPS_INPUTS", given)) if given else ""


def _lammps(_requirement: str, version: str) -> Program:
    return programs.lammps(VIEW, version, _lammps_inputs())


def _lammps_programs(_requirement: str) -> list[str]:
    return ["bin/lmp", *([] if _lammps_inputs() else ["share/lammps/bench/in.lj"])]


def _npb_kernels(requirement: str) -> tuple[str, ...]:
    names = next((word.split("=", 1)[1] for word in requirement.split() if word.startswith(("names=", "names:="))), "")
    return tuple(name for name in ("is", "ft") if name in names.split(","))


def _npb(requirement: str, version: str) -> Program:
    return programs.npb(VIEW, version, _npb_kernels(requirement))


def _npb_programs(requirement: str) -> list[str]:
    # The recipe's make goes on after a program that failed, so every one of them is looked for.
    return [f"bin/{kernel}.{size}.x" for kernel in _npb_kernels(requirement) for size in "ABC"]


PACKAGES = {
    package.name: package
    for package in (
        Package("osu-micro-benchmarks", "osu", _osu, _osu_programs),
        Package("intel-mpi-benchmarks", "imb", _imb, _imb_programs),
        Package("lammps", "lammps", _lammps, _lammps_programs),
        Package("npb", "npb", _npb, _npb_programs),
    )
}


def package_called(name: str) -> Package:
    """Return a package by its name.

    :raises SpackError: if `spack-envs` has none of that name.
    """
    if name not in PACKAGES:
        raise SpackError(f"{ENVIRONMENTS}: no package {quoted(name)}; choose from {', '.join(PACKAGES)}")
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
