# SPDX-License-Identifier: BSD-3-Clause
"""The shipped configuration in which programs measure for a moment: for tests of everything but the values.

A file of settings takes it as its own: ``site_configuration = runpy.run_path(...)["site_configuration"]``.
"""

import runpy
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MOMENT = [
    "--max-seconds-per-point",
    "0.001",
    "--min-samples",
    "8",
    "--warmup",
    "1",
    "--min-batch",
    "0.0001",
]
OPTIONS = {
    # Nothing is suspect: what differs on a machine with other work would be measured again, for minutes.
    "rotate": [
        "--size",
        "1048576",
        "--messages",
        "8",
        "--tests",
        "2",
        "--suspect-share",
        "0.9",
    ],
    "imb": ["-iter", "8,1"],
    "streaming": [*MOMENT, "--window", "4"],
    "buffer_reuse": [*MOMENT, "--iterations", "4"],
    **dict.fromkeys(("hot_spot", "notification", "overlap"), MOMENT),
}
site_configuration = runpy.run_path(str(ROOT / "config/settings.py"))[
    "site_configuration"
]
for system in site_configuration["systems"]:
    for partition in system["partitions"]:
        partition["extras"]["program_options"] = OPTIONS | partition["extras"].get(
            "program_options", {}
        )
