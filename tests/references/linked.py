# SPDX-License-Identifier: BSD-3-Clause
"""A system whose partition gives the rate of its links; its checks are set up, never run.

LINKED_REFERENCES names its file of references, without ``.yaml``.
"""

import os

from tests.checks.rich import OSU

site_configuration = {
    "systems": [
        {
            "name": "linked",
            "hostnames": ["linked"],
            "prefix": os.environ.get("FABRIC_RESULTS", "."),
            "partitions": [
                {
                    "name": "compute",
                    "scheduler": "local",
                    "launcher": "mpirun",
                    "environs": ["some"],
                    "extras": {
                        "nodes": 2,
                        "cores": 2,
                        "link_MBps": 1000.0,
                        "nics": 2,
                        "references": os.environ["LINKED_REFERENCES"],
                    },
                }
            ],
        }
    ],
    "environments": [
        {"name": "some", "cc": "mpicc", "features": ["mpi", "mpicc", "osu"], "extras": {"programs": {"osu": OSU}}}
    ],
    "logging": [{"handlers": [{"type": "stream", "name": "stdout", "level": "info"}], "handlers_perflog": []}],
}
