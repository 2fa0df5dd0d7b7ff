# SPDX-License-Identifier: BSD-3-Clause
"""The shipped configuration with three changes: `rotate` moves less, and two that a trial asks for.

FABRIC_TRIAL_PORTS: the ports that have to carry the traffic, with blanks between; FABRIC_TRIAL_VARIABLES: variables of
the job, NAME=VALUE with blanks between.
"""

import os
import runpy
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
LESS = ["--size", "1048576", "--messages", "8", "--confirm-repeats", "2", "--confirm-pause", "0"]
site_configuration = runpy.run_path(str(ROOT / "config" / "settings.py"))["site_configuration"]
for system in site_configuration["systems"]:
    for partition in system["partitions"]:
        partition["extras"].setdefault("program_options", {})["rotate"] = LESS
        if ports := os.environ.get("FABRIC_TRIAL_PORTS"):
            partition["extras"]["fabric"] = ports.split()
        more = [each.split("=", 1) for each in os.environ.get("FABRIC_TRIAL_VARIABLES", "").split()]
        partition["env_vars"] = [*partition.get("env_vars", []), *more]
