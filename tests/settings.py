# SPDX-License-Identifier: BSD-3-Clause
"""The shipped configuration on a machine of two cores, whatever this one has, with all environments.

Simulated systems keep their own.
"""

import os
import runpy
from pathlib import Path

os.environ.setdefault("FABRIC_MPI", "all")
site_configuration = runpy.run_path(
    str(Path(__file__).resolve().parent.parent / "config/settings.py")
)["site_configuration"]
for system in site_configuration["systems"]:
    for partition in system["partitions"]:
        if "simulated" not in partition.get("features", []):
            partition["extras"]["cores"] = 2
