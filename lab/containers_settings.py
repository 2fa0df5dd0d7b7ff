# SPDX-License-Identifier: BSD-3-Clause
"""The configuration with an image in which `Streaming` measures for an instant."""

import runpy

from tests.cluster.test_containers import SETTINGS

site_configuration = runpy.run_path(str(SETTINGS))["site_configuration"]
for system in site_configuration["systems"]:
    for partition in system["partitions"]:
        partition["extras"]["program_options"] = {
            "streaming": ["--max-seconds-per-point", "0.01"]
        }
