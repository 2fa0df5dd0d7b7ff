# SPDX-License-Identifier: BSD-3-Clause
"""The checks of a system that offers everything, and its configuration.

The configuration has one system, `rich`, whose environment offers whatever there is a check of. Nothing of it
is installed: its checks are loaded and set up, never run.
"""

import os

OSU = {
    "program": "osu",
    "version": "7.4",
    "stack": "spack",
    "command": "/osu/{folder}/{benchmark}",
}
OSU |= {"takes_sizes": True, "smallest_message_B": 1}
IMB = {
    "program": "imb",
    "version": "2021.11",
    "stack": "wheels",
    "command": "/imb/{benchmark}",
}
LAMMPS = {
    "program": "lammps",
    "version": "22 Jul 2025 - Update 4",
    "stack": "spack",
    "command": "/lammps/{benchmark}",
}
LAMMPS |= {"inputs": "/lammps/bench"}
NPB = {
    "program": "npb",
    "version": "3.4",
    "stack": "spack",
    "command": "/npb/{benchmark}",
}
NCCL = {
    "program": "nccl-tests",
    "version": "2.19.6",
    "stack": "modules",
    "command": "/nccl/{benchmark}_perf",
}
RCCL = {
    "program": "rccl-tests",
    "version": "develop",
    "stack": "modules",
    "command": "/rccl/{benchmark}_perf",
}

FEATURES = """
mpi mpicc osu osu_c osu_7_3 osu_7_4 osu_cuda imb imb_nbc imb_rma lammps npb npb_ft
nccl_tests rccl_tests osu_xccl imb_cuda mpi_cuda
"""


def site(name, partitions, environment):
    """Return the configuration of one system with one environment, whose partitions run jobs on this host."""
    of_all = {
        "scheduler": "local",
        "launcher": "mpirun",
        "environs": [environment["name"]],
    }
    system = {
        "name": name,
        "hostnames": [name],
        "prefix": os.environ.get("FABRIC_RESULTS", "."),
    }
    stdout = {"type": "stream", "name": "stdout", "level": "info"}
    return {
        "systems": [system | {"partitions": [of_all | each for each in partitions]}],
        "environments": [{"cc": "mpicc"} | environment],
        "logging": [{"handlers": [stdout], "handlers_perflog": []}],
    }


SIZES = {"cores": 2, "launch_options": ["-ppn", "{ppn}"]}
PROGRAMS = {"osu": OSU, "imb": IMB, "lammps": LAMMPS, "npb": NPB}
PROGRAMS |= {"nccl_tests": NCCL, "rccl_tests": RCCL}
site_configuration = site(
    "rich",
    [
        {"name": "cpu", "features": [], "extras": {"nodes": 2} | SIZES},
        {
            "name": "gpu",
            "features": ["cuda"],
            "extras": {"nodes": 1, "gpus": 2} | SIZES,
        },
    ],
    {
        "name": "full",
        "features": FEATURES.split(),
        "extras": {"programs": PROGRAMS},
    },
)
