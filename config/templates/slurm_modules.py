# SPDX-License-Identifier: BSD-3-Clause
"""yours: Slurm, InfiniBand.

Written by `fabric-checks init`. What follows a line with `guess` depends on what that line says: check it.
config/systems/generic_slurm.py explains every line.
"""

from fabric_checks.software.programs import environment
from fabric_checks.software.stacks import selected_stack
from fabric_checks.software.suites import imb, lammps, osu

# What Spack builds runs only where it is asked for: `ci/run --stack spack`.
SPACK = selected_stack() == "spack"

systems = [
    {
        "name": "yours",
        "descr": "yours: Slurm, InfiniBand",
        # guess: hosts named like the one that this was written on
        "hostnames": ["login[0-9]+([.]|$)"],
        "modules_system": "lmod",
        "partitions": [
            {
                "name": "compute",
                "descr": "Nodes of compute",
                "scheduler": "fabric-slurm",
                "launcher": "srun",
                # guess: it has the most nodes
                "access": ["--exclusive", "--partition=compute"],
                "sched_options": {"use_nodes_option": True},
                "max_jobs": 1,
                "environs": ["openmpi-site", *(["openmpi-spack"] if SPACK else [])],
                "extras": {
                    # guess: 16 of 64, so that a night fits a busy machine
                    "nodes": 16,
                    "cores": 64,
                    "ppn": [1, 2, "full"],
                    # One direction of a link in 10^6 bytes a second: 200 Gbit/s.
                    # guess: this host's mlx5_0, InfiniBand
                    "link_MBps": 25000.0,
                    # guess: as many as this host has
                    "nics": 1,
                    "launch_options": [
                        "--nodes={nodes}",
                        "--ntasks={tasks}",
                        "--ntasks-per-node={ppn}",
                        "--nodelist=$(scontrol show hostnames | head -n{nodes} | paste -sd,)",
                    ],
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
            # guess: the best choice for it in `srun --mpi=list`
            "env_vars": [
                ["SLURM_MPI_TYPE", "pmix"],
            ],
        },
        "modules",
        osu.installed("/apps/osu-micro-benchmarks/7.5", "7.5"),
        imb.installed("/apps/imb/2021.7", "2021.7"),
        lammps.installed("/apps/lammps/22Jul2025", "22 Jul 2025"),
        # npb/3.4.3 does not say where it is. Fill in its prefix, and import npb above:
        # npb.installed("PREFIX", "3.4.3"),
    ),
]
