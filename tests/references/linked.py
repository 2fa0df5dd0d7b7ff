# SPDX-License-Identifier: BSD-3-Clause
"""A system whose partition gives the rate of its links; its checks are set up, never run.

LINKED_REFERENCES names its file of references, without ``.yaml``.
"""

import os

from tests.checks.rich import OSU, site

EXTRAS = {
    "nodes": 2,
    "cores": 2,
    "link_MBps": 1000.0,
    "nics": 2,
    "references": os.environ["LINKED_REFERENCES"],
}
site_configuration = site(
    "linked",
    [{"name": "compute", "extras": EXTRAS}],
    {
        "name": "some",
        "features": ["mpi", "mpicc", "osu"],
        "extras": {"programs": {"osu": OSU}},
    },
)
