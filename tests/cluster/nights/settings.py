# SPDX-License-Identifier: BSD-3-Clause
"""The shipped configuration with one change: `rotate` moves less, so that a night takes seconds."""

import runpy
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
# Four turns of confirmation, for a burst of other work on this host must not last through all of them.
LESS = ["--size", "524288", "--messages", "6", "--tests", "2", "--confirm-repeats", "4"]
LESS += ["--confirm-pause", "0"]
site_configuration = runpy.run_path(str(ROOT / "config/settings.py"))[
    "site_configuration"
]
for system in site_configuration["systems"]:
    for partition in system["partitions"]:
        partition["extras"].setdefault("program_options", {})["rotate"] = LESS
