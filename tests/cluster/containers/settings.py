# SPDX-License-Identifier: BSD-3-Clause
"""The shipped configuration, whose MPICH is inside the image that INSIDE describes, as JSON, if it describes
one."""

import json
import os
import runpy
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
site_configuration = runpy.run_path(str(ROOT / "config/settings.py"))[
    "site_configuration"
]

from fabric_checks.software.installed import found  # noqa: E402  (now it is found)

for environment in site_configuration["environments"]:
    if environment["name"] == "mpich":
        environment["cc"] = str(found("mpich") / "bin/mpicc")
        environment["extras"] = environment["extras"] | {
            "container": json.loads(os.environ["INSIDE"])
        }
