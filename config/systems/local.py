# SPDX-License-Identifier: BSD-3-Clause
"""Any one machine: everything runs on the host that ReFrame runs on."""

import os
import shutil

from reframe.utility.cpuinfo import cpuinfo

from fabric_checks.core.locks import host_lock, lock_in_job
from fabric_checks.software import installed
from fabric_checks.software.stacks import WHEEL_MPIS, selected_mpis, selected_stack

# ReFrame detects the topology by itself only where the launcher is local too; this is the same detection,
# done anew each time, because a container may have other cores than it had yesterday.
processor = cpuinfo()
# Where /sys has no topology, as in some containers, each CPU counts as a core.
physical_cores = (processor.get("num_cpus") or os.cpu_count()) // (
    processor.get("num_cpus_per_core") or 1
)

# Wheels, unless another stack is asked for; what Spack builds is built with the same MPIs.
suffix = {None: "", "wheels": "", "spack": "-spack"}.get(selected_stack())
environs = [] if suffix is None else [f"{mpi}{suffix}" for mpi in selected_mpis()]
# Nothing is set up, and nothing was asked for: whoever has an MPI at hand can have it measured.
is_bare = not any(map(installed.is_found, WHEEL_MPIS))
if is_bare and not any(name in os.environ for name in ("FABRIC_MPI", "FABRIC_STACK")):
    environs = (
        ["on-path"] if shutil.which("mpicc") and shutil.which("mpirun") else environs
    )

systems = [
    {
        "name": "local",
        "descr": "Any one machine",
        "hostnames": [".*"],
        "partitions": [
            {
                "name": "node",
                "descr": "This host",
                "scheduler": "fabric-local",
                "launcher": "mpirun",
                "environs": environs,
                # On one host no remote shell and no batch system is to be asked, by MPICH or Intel MPI.
                "env_vars": [
                    ["HYDRA_LAUNCHER", "fork"],
                    ["I_MPI_HYDRA_BOOTSTRAP", "fork"],
                ],
                # One job at a time. The lock keeps builds and your other sessions apart from it, those of
                # other users not: what they could lock too, they could lock for ever.
                "max_jobs": 1,
                "prepare_cmds": [lock_in_job(host_lock())],
                "processor": processor,
                "extras": {
                    "host_lock": str(host_lock()),
                    "nodes": 1,
                    # On one node the launcher needs to know the number of processes only, and ReFrame passes
                    # that.
                    "launch_options": [],
                    # A container or a batch system may allow fewer cores than the machine has.
                    "cores": min(physical_cores, len(os.sched_getaffinity(0))),
                },
            }
        ],
    }
]
