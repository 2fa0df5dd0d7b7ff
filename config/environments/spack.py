# SPDX-License-Identifier: BSD-3-Clause
"""Programs built by Spack: an environment MPI-spack for each MPI that a system has a scope of.

A system's scopes are in config/systems/SYSTEM/spack: `site` (compilers, target, mirrors, install tree), and a
folder for each MPI, which requires it, names it as an external, and sets the variables that it needs. A
system lists its environments in its own file, as any others. These variables change a build:

    FABRIC_SPACK_SITE          a site scope to use in place of the system's
    FABRIC_SPACK_MIRROR        a mirror that precedes all others; built packages in it have to be signed
    FABRIC_SPACK_PACKAGES_URL  the address that the package repository is cloned from
    FABRIC_LAMMPS_INPUTS       LAMMPS's bench folder, for releases before 2023, which do not install it
    SPACK_ROOT                 the Spack to use, in place of the one on PATH
"""

from pathlib import Path

from fabric_checks.software.spack.environments import environments as of_scopes

SYSTEMS = Path(__file__).resolve().parent.parent / "systems"

environments = [
    environment
    for scopes in sorted(SYSTEMS.glob("*/spack"))
    for environment in of_scopes(scopes, [scopes.parent.name])
]
