# SPDX-License-Identifier: BSD-3-Clause
"""A system with its own software, by module or by prefix: copy this file to config/systems/ and put in yours.

`ci/run --stack modules` runs it. The checks are the same as on any other stack; what an environment does not
name is not run, and the summary says so.
"""

from fabric_checks.core.locks import host_lock, lock_in_job
from fabric_checks.software.programs import environment
from fabric_checks.software.suites import imb, lammps, npb, osu

systems = [
    {
        "name": "yours",
        "descr": "One line for readers of a report",
        # Regular expressions of the host names on which this is the system; `ci/run --system yours` works
        # anywhere.
        "hostnames": ["login[0-9]+[.]yours[.]example"],
        # The kind of your `module` command: envmod (Environment Modules 4 and later; tmod4 with
        # ReFrame 4.9), lmod, spack, or nomod.
        "modules_system": "lmod",
        "partitions": [
            {
                "name": "compute",
                "descr": "Its nodes and its interconnect",
                "scheduler": "local",  # slurm, pbs, flux, lsf, ... if jobs go through a batch system
                "launcher": "mpirun",  # srun, mpiexec, ...
                "environs": ["openmpi-modules", "mpich-prefix"],
                "max_jobs": 1,
                # Only if jobs run on this very host: keeps builds and the jobs of other sessions apart.
                "prepare_cmds": [lock_in_job(host_lock())],
                "extras": {"host_lock": str(host_lock()), "nodes": 1, "cores": 2},
            }
        ],
    }
]

environments = [
    # By module. A prefix is copied into job scripts unchanged, so it may be a variable that a module sets.
    environment(
        {
            "name": "openmpi-modules",
            "cc": "mpicc",
            "modules": ["openmpi", "osu", "imb", "lammps"],
        },
        "modules",
        osu.installed("$OSU_ROOT", "7.5.2"),
        imb.installed("$IMB_ROOT", "2021.7"),
        lammps.installed("$LAMMPS_ROOT", "22 Jul 2025"),
        why_not={"npb": "not installed here"},
    ),
    # By prefix. Without `modules` the MPI has to be on the search paths already, or be put there.
    environment(
        {
            "name": "mpich-prefix",
            "cc": "/apps/mpich/bin/mpicc",
            "env_vars": [
                ["PATH", "/apps/mpich/bin:$PATH"],
                ["LD_LIBRARY_PATH", "/apps/mpich/lib:$LD_LIBRARY_PATH"],
            ],
        },
        "modules",
        imb.installed("/apps/imb", "2021.7"),
        npb.installed("/apps/npb", "3.4.3", kernels=("is",)),
    ),
]
