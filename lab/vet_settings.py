# SPDX-License-Identifier: BSD-3-Clause
"""The shipped configuration in which `Rotate` moves what links of the trials' rate do in an eighth of a
second."""

import runpy
from pathlib import Path

SHORT = Path(__file__).parents[1] / "tests/cluster/short.py"
site_configuration = runpy.run_path(str(SHORT))["site_configuration"]
LESS = [
    "--size",
    "262144",
    "--messages",
    "6",
    "--confirm-repeats",
    "2",
    "--confirm-pause",
    "0",
]
for system in site_configuration["systems"]:
    for partition in system["partitions"]:
        partition["extras"]["program_options"]["rotate"] = LESS
