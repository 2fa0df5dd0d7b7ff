# SPDX-License-Identifier: BSD-3-Clause
"""The checks of a system that offers everything, and its configuration.

The configuration has one system, `rich`, whose environment offers whatever there is a check of. Nothing of it is
installed: its checks are loaded and set up, never run.
"""

import os

OSU = {
    "program": "osu",
    "version": "7.4",
    "stack": "spack",
    "command": "/osu/{folder}/{benchmark}",
    "takes_sizes": True,
    "smallest_message_B": 1,
}
IMB = {"program": "imb", "version": "2021.11", "stack": "wheels", "command": "/imb/{benchmark}"}
LAMMPS = {
    "program": "lammps",
    "version": "22 Jul 2025 - Update 4",
    "stack": "spack",
    "command": "/lammps/{benchmark}",
    "inputs": "/lammps/bench",
}
NPB = {"program": "npb", "version": "3.4", "stack": "spack", "command": "/npb/{benchmark}"}
DYNA = {
    "program": "ls_dyna",
    "version": "R13",
    "stack": "modules",
    "command": "/dyna/mppdyna memory=200m",
    "deck": "/dyna/deck.k",
    "pfile": "/dyna/pfile",
}

FEATURES = """
mpi mpicc osu osu_c osu_7_3 osu_7_4 osu_cuda imb imb_nbc imb_rma imb_p2p lammps npb npb_ft ls_dyna ls_dyna_pfile replay
"""

site_configuration = {
    "systems": [
        {
            "name": "rich",
            "hostnames": ["rich"],
            "prefix": os.environ.get("FABRIC_RESULTS", "."),
            "partitions": [
                {
                    "name": name,
                    "scheduler": "local",
                    "launcher": "mpirun",
                    "environs": ["full"],
                    "features": features,
                    "extras": {"nodes": nodes, "cores": 2, "launch_options": ["-ppn", "{ppn}"]},
                }
                for name, features, nodes in (("cpu", [], 2), ("gpu", ["cuda"], 1))
            ],
        }
    ],
    "environments": [
        {
            "name": "full",
            "cc": "mpicc",
            "features": FEATURES.split(),
            "extras": {
                "programs": {"osu": OSU, "imb": IMB, "lammps": LAMMPS, "npb": NPB, "ls_dyna": DYNA},
                "traces": "/traces",
            },
        }
    ],
    "logging": [{"handlers": [{"type": "stream", "name": "stdout", "level": "info"}], "handlers_perflog": []}],
}
