# SPDX-License-Identifier: BSD-3-Clause
"""The configuration in which programs measure for a moment, with two settings of a trial.

FABRIC_TRIAL_PORTS: the ports that have to carry the traffic, separated by blanks; FABRIC_TRIAL_VARIABLES:
variables of the job, NAME=VALUE, separated by blanks.
"""

import os
import runpy
from pathlib import Path

SHORT = Path(__file__).resolve().parents[2] / "tests/cluster/short.py"
site_configuration = runpy.run_path(str(SHORT))["site_configuration"]
for system in site_configuration["systems"]:
    for partition in system["partitions"]:
        if ports := os.environ.get("FABRIC_TRIAL_PORTS"):
            partition["extras"]["fabric"] = ports.split()
        # At 1 % some 45 packets are lost each way: 8 messages lose 11, which now and then are too few to be
        # detected.
        options = partition["extras"]["program_options"]
        options["rotate"] = [*options["rotate"], "--messages", "32"]
        more = [
            each.split("=", 1)
            for each in os.environ.get("FABRIC_TRIAL_VARIABLES", "").split()
        ]
        partition["env_vars"] = [*partition.get("env_vars", []), *more]
