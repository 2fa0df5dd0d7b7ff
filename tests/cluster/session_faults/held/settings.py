# SPDX-License-Identifier: BSD-3-Clause
"""The shipped configuration with one change: a benchmark of OSU waits at its start as long as a file is
there.

HOLD is a folder; the benchmark waits for the file of its name in it to go, and notes there that it has
started. So a fault can be had in mid-job, whatever the machine's speed. Scheduler, launcher, MPI and
placement probe stay real.
"""

import os
import runpy
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[3]
site_configuration = runpy.run_path(str(ROOT / "config/settings.py"))[
    "site_configuration"
]
for environment in site_configuration["environments"]:
    program = environment["extras"]["programs"].get("osu")
    if program:
        program["command"] = (
            f"sh {HERE}/hold.sh {os.environ['HOLD']} {{benchmark}} {program['command']}"
        )
