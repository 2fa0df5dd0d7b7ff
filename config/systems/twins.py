# SPDX-License-Identifier: BSD-3-Clause
"""Simulated clusters: a system for each description in config/twins, and `twins`, which has them all as
partitions.

    ci/run --system cbc             one of them
    ci/run --system twins           all, in one session

The checks are the same as on machines; SimGrid simulates the description. Systems are chosen by name only.

The collection's own programs are compiled with `smpicc`. OSU's and Intel's benchmarks run too where they were
built with it, by Spack (the scopes are in config/twins/spack), or by hand with config/twins/smpi/bin/mpicc;
in the latter case FABRIC_SIMGRID_OSU and FABRIC_SIMGRID_IMB name prefix and release:

    ci/run --stack spack --system cbc -n 'OsuLatency|OsuBandwidth|ImbPointToPoint|ImbParallel'
    FABRIC_SIMGRID_OSU=$HOME/osu-smpi@7.5 ci/run --system cbc -n 'OsuLatency|OsuBandwidth'

The large messages of their collectives take a simulation long, so say which benchmarks.
"""

from pathlib import Path

from fabric_checks.reframe_ext.site_configuration import is_system_named

systems, environments = [], []
if is_system_named():
    from fabric_twins import systems as simulated
    from fabric_twins.model.description import load_all

    folder = Path(__file__).resolve().parent.parent / "twins"
    systems = simulated.systems(load_all(folder), "twins")
    environments = simulated.environments(
        folder, [system["name"] for system in systems]
    )
