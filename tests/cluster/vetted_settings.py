# SPDX-License-Identifier: BSD-3-Clause
"""The shipped configuration in which `Rotate` moves what links of the trials' rate do in an eighth of a second."""

import runpy
from pathlib import Path

site_configuration = runpy.run_path(str(Path(__file__).with_name("short.py")))["site_configuration"]
LESS = ["--size", "262144", "--messages", "6", "--confirm-repeats", "2", "--confirm-pause", "0"]
for system in site_configuration["systems"]:
    for partition in system["partitions"]:
        partition["extras"]["program_options"]["rotate"] = LESS
