# SPDX-License-Identifier: BSD-3-Clause
"""The system `local`: what it takes the machine for."""

import os
import runpy

import pytest
from reframe.utility import cpuinfo

from fabric_checks.core.paths import ROOT

CPUS = len(os.sched_getaffinity(0))


@pytest.mark.parametrize(
    "told, cores",
    [
        ({"num_cpus": 2 * CPUS, "num_cpus_per_core": 2}, CPUS),
        (
            {"num_cpus": 64 * CPUS, "num_cpus_per_core": 2},
            CPUS,
        ),  # of which a container may use some
        ({"num_cpus": 2, "num_cpus_per_core": 2}, 1),
        # A container without /sys/devices/system/cpu, and one without /sys.
        ({"num_cpus": 0, "num_cpus_per_core": 0, "num_sockets": 0}, CPUS),
        ({}, CPUS),
    ],
)
def test_cores(monkeypatch, told, cores):
    monkeypatch.setattr(cpuinfo, "cpuinfo", lambda: told)
    (system,) = runpy.run_path(str(ROOT / "config/systems/local.py"))["systems"]
    assert system["partitions"][0]["extras"]["cores"] == cores
