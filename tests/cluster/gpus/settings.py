# SPDX-License-Identifier: BSD-3-Clause
"""The shipped configuration, whose cluster has nodes of eight GPUs with a rail each: its nccl-tests are a
stand-in."""

import os
import runpy
from pathlib import Path

HERE = Path(__file__).resolve().parent
GPUS = 8
OUTPUTS = os.environ["GPU_OUTPUTS"]
NCCL = {
    "program": "nccl-tests",
    "version": "2.19.6",
    "stack": "modules",
    "command": f"{OUTPUTS}/{{benchmark}}_perf",
}
site_configuration = runpy.run_path(str(HERE.parents[2] / "config/settings.py"))[
    "site_configuration"
]
for system in site_configuration["systems"]:
    if system["name"] == "minicluster":
        for partition in system["partitions"]:
            partition["features"] = [*partition.get("features", []), "cuda"]
            partition["devices"] = [
                {"type": "gpu", "arch": "sm_90", "num_devices": GPUS}
            ]
            partition["extras"] |= {
                "cores": GPUS,
                "oversubscribed": True,
                "fabric": ["mlx5_*", "eth0"],
            }
            partition["env_vars"] = [
                *partition.get("env_vars", []),
                ["GPU_OUTPUTS", OUTPUTS],
            ]
for environment in site_configuration["environments"]:
    if "mpi" in environment.get("features", []):
        environment["features"] = [*environment["features"], "nccl_tests"]
        environment["extras"] = environment["extras"] | {
            "programs": environment["extras"].get("programs", {}) | {"nccl_tests": NCCL}
        }
