# SPDX-License-Identifier: BSD-3-Clause
"""yours: no scheduler, InfiniBand.

Written by `fabric-checks init`. What follows a line with `guess` depends on what that line says: check it.
config/systems/generic_slurm.py explains every line.
"""

from fabric_checks.core.locks import host_lock, lock_in_job
from fabric_checks.software.programs import environment
from fabric_checks.software.stacks import selected_stack
from fabric_checks.software.suites import imb, lammps, osu

# What Spack builds runs only where it is asked for: `ci/run --stack spack`.
SPACK = selected_stack() == "spack"

systems = [
    {
        "name": "yours",
        "descr": "yours: no scheduler, InfiniBand",
        # guess: hosts named like the one that this was written on
        "hostnames": ["login1([.]|$)"],
        "modules_system": "lmod",
        "partitions": [
            {
                "name": "node",
                "descr": "This host",
                "scheduler": "local",
                "launcher": "mpirun",
                "max_jobs": 1,
                "env_vars": [["HYDRA_LAUNCHER", "fork"], ["I_MPI_HYDRA_BOOTSTRAP", "fork"]],
                # One job at a time on this host, and no build beside it.
                "prepare_cmds": [lock_in_job(host_lock())],
                "environs": ["openmpi-site", *(["openmpi-spack"] if SPACK else [])],
                "extras": {
                    "host_lock": str(host_lock()),
                    "nodes": 1,
                    "cores": 64,
                    "ppn": [1, 2, "full"],
                    "launch_options": [],
                },
            },
        ],
    }
]

environments = [
    environment(
        {
            "name": "openmpi-site",
            "target_systems": ["yours"],
            "cc": "mpicc",
            # guess: the default version of each, or else the newest
            "modules": ["openmpi/5.0.8", "osu-micro-benchmarks", "imb", "lammps", "npb/3.4.3"],
        },
        "modules",
        osu.installed("/apps/osu-micro-benchmarks/7.5", "7.5"),
        imb.installed("/apps/imb/2021.7", "2021.7"),
        lammps.installed("/apps/lammps/22Jul2025", "22 Jul 2025"),
        # npb/3.4.3 does not say where it is. Fill in its prefix, and import npb above:
        # npb.installed("PREFIX", "3.4.3"),
    ),
]
