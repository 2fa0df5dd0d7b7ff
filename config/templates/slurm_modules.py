# SPDX-License-Identifier: BSD-3-Clause
"""A cluster with Slurm and software by modules: copy this file to config/systems/yours.py, and change what is marked.

    ci/run --system yours --mpi none -l          what would run
    ci/run --system yours --mpi none --mode smoke

config/systems/generic_slurm.py has all that can be said of a partition, and why; modules.py beside this file has
programs by prefix. Figures are recorded and not judged until `references` below names a file of your own in
config/references.
"""

from fabric_checks.software.programs import environment, imb, lammps, osu

systems = [
    {
        "name": "yours",  # <- also the name of this file
        "descr": "One line for whoever reads a report",  # <-
        "hostnames": ["login[0-9]+[.]yours[.]example"],  # <- regular expressions of the names of its login nodes
        "modules_system": "lmod",  # <- or envmod (tmod4 in older ReFrames), tmod32, spack: what `module` is here
        "partitions": [
            {
                "name": "compute",
                "descr": "Its nodes and its interconnect",  # <-
                "scheduler": "fabric-slurm",
                "launcher": "srun",
                "access": ["--exclusive", "--partition=compute"],  # <- and --account=... where jobs need one
                "sched_options": {"use_nodes_option": True},
                "max_jobs": 1,
                "environs": ["openmpi-modules"],
                "env_vars": [["SLURM_MPI_TYPE", "pmix"]],  # <- one of `srun --mpi=list`
                "extras": {
                    "nodes": 4,  # <- how many the checks may use, at most
                    "cores": 64,  # <- physical cores of a node
                    "ppn": [1, 2, "full"],
                    "link_MBps": 25000.0,  # <- one direction of a link, in 10^6 bytes a second: 200 Gbit/s
                    "nics": 1,  # <- links of a node
                    "fabric": [],  # <- ports that have to carry the traffic, such as ["mlx5_*"]: docs/ports.md
                    "launch_options": ["--nodes={nodes}", "--ntasks={tasks}", "--ntasks-per-node={ppn}"],
                    "references": "generic_slurm",  # <- "yours" as soon as there is config/references/yours.yaml
                },
            }
        ],
    }
]

environments = [
    environment(
        # <- what `module load` takes; its mpicc is on PATH then. Prefixes may be variables that a module sets.
        {"name": "openmpi-modules", "cc": "mpicc", "modules": ["openmpi", "osu-micro-benchmarks", "imb", "lammps"]},
        "modules",
        osu("$EBROOTOSUMINMICROMINBENCHMARKS", "7.5"),  # <- a suite that is not here: leave its line out
        imb("$EBROOTIMB", "2021.7"),
        lammps("$EBROOTLAMMPS", "22 Jul 2025"),
    )
]
