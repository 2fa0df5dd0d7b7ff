# SPDX-License-Identifier: BSD-3-Clause
"""The commands ``fabric-checks spack ...``."""

from __future__ import annotations

import os
from pathlib import Path

import click

from fabric_checks.cli.verb import Verbs, option
from fabric_checks.core import console
from fabric_checks.core.paths import ROOT, home
from fabric_checks.software.spack.build import Environment, write_mirror
from fabric_checks.software.spack.environments import COMMON, scopes_of
from fabric_checks.software.spack.scopes import Scopes
from fabric_checks.software.suites import PACKAGES, SUITES

FOLDER = click.Path(path_type=Path, file_okay=False, resolve_path=True)
PACKAGE = click.Choice(sorted(PACKAGES))


@click.group("spack", cls=Verbs)
def command() -> None:
    """Build the packages of spack-envs, or collect what a machine without a network needs to build them."""


@command.command(
    epilog="""
\b
Examples:
  fabric-checks spack build osu-micro-benchmarks --environ config/systems/local/spack/mpich \\
      --site config/systems/local/spack/site /tmp/osu
"""
)
@click.argument("package", type=PACKAGE)
@click.argument("folder", type=FOLDER)
@option("--environ", "The scope of the MPI.", required=True, type=FOLDER)
@option("--site", "The scope of the site.", required=True, type=FOLDER)
@option("--common", "The scope with the pinned versions.", default=COMMON, type=FOLDER)
def build(package: str, folder: Path, environ: Path, site: Path, common: Path) -> None:
    """Build PACKAGE in a copy of its environment, FOLDER; the programs are in FOLDER/.spack-env/view."""
    scopes = Scopes(environ, site, common)
    Environment.prepared(
        PACKAGES[package], scopes, folder, os.environ, console.print
    ).build()


@command.command(
    epilog="""
\b
Examples:
  fabric-checks spack mirror /media/disk/sources --mpi mpich,openmpi
  fabric-checks spack mirror /media/disk/sources --system yours
"""
)
@click.argument("folder", type=FOLDER)
@option("--system", "The system with the scopes.", default="local", show_default=True)
@option(
    "--mpi",
    "Names of its MPIs, separated by commas.  [default: all it has scopes for]",
    "mpis",
)
@option(
    "--package",
    "A package of spack-envs; may be repeated.  [default: all but those for GPUs]",
    "names",
    multiple=True,
    type=PACKAGE,
    metavar="NAME",
)
def mirror(folder: Path, system: str, mpis: str | None, names: tuple[str, ...]) -> None:
    """Write a mirror with the sources of everything the environments need; Spack verifies their checksums.

    Sources that cannot be fetched are named at the end. FABRIC_SPACK_MIRROR=FOLDER makes a run use the
    mirror.
    """
    everywhere = [
        suite.package.name
        for suite in SUITES.values()
        if suite.package and not suite.only_of_sites
    ]
    packages = [PACKAGES[name] for name in names or everywhere]
    write_mirror(
        folder,
        packages=packages,
        scopes=scopes_of(
            ROOT / "config/systems" / system / "spack",
            os.environ,
            mpis.split(",") if mpis else (),
        ),
        work=home() / "spack" / "work",
        variables=os.environ,
        progress=console.print,
    )
