# SPDX-License-Identifier: BSD-3-Clause
"""The shipped configuration with one change: the suites' programs play back the file PLAYBACK instead of
measuring.

The launcher, the MPI and the placement probe stay real. With PLAYBACK_OSU the environments have OSU's own
programs of that release; with PLAYBACK_CORES the nodes have so many cores.
"""

import os
import runpy
from pathlib import Path

from fabric_checks.software.suites import osu

HERE = Path(__file__).resolve().parent
site_configuration = runpy.run_path(str(HERE.parent / "settings.py"))[
    "site_configuration"
]
for environment in site_configuration["environments"]:
    if version := os.environ.get("PLAYBACK_OSU"):
        own = osu.installed("/nonexistent", version)
        environment["extras"]["programs"]["osu"] = dict(own.description)
        environment["features"] += own.features
    for program in environment["extras"]["programs"].values():
        program["command"] = os.environ.get(
            "PLAYBACK_COMMAND", f"sh {HERE}/play.sh {os.environ.get('PLAYBACK')}"
        )
        program["stack"] = "playback"
for system in site_configuration["systems"]:
    for partition in system["partitions"]:
        if cores := os.environ.get("PLAYBACK_CORES"):
            partition["extras"]["cores"] = int(cores)
            partition["processor"] = {"num_cpus": int(cores), "num_cpus_per_core": 1}
        partition["launcher"] = os.environ.get("PLAYBACK_LAUNCHER", "mpirun")
