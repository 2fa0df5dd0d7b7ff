# SPDX-License-Identifier: BSD-3-Clause
"""The MPI whose `mpicc` and `mpirun` are on PATH, such as that of a loaded module: for the collection's own
programs.

The system `local` uses it for runs of ReFrame before any set-up; `ci/run` sets up wheels.
"""

from fabric_checks.software.programs import OPEN_MPI_AS_ROOT, environment

environments = [
    environment(
        {"name": "on-path", "cc": "mpicc", "env_vars": OPEN_MPI_AS_ROOT}, "modules"
    )
]
