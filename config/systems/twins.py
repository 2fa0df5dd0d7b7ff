# SPDX-License-Identifier: BSD-3-Clause
"""Simulated clusters: a system for each description in config/twins, and `twins`, which has them all as partitions.

    ci/run --system cbc             one of them
    ci/run --system twins           all, in one session

The checks are the same as on machines; what they measure is what SimGrid makes of the description. Simulations are
exact however busy the machine is, so they take no lock and run side by side, one a
processor. They are chosen by name only.

The collection's own programs are compiled with `smpicc`. OSU's and Intel's benchmarks run too where they were built
with it, by Spack (the scopes are in config/twins/spack), or by hand with config/twins/smpi/bin/mpicc; in the latter
case FABRIC_SIMGRID_OSU and FABRIC_SIMGRID_IMB name prefix and release:

    ci/run --stack spack --system cbc -n 'OsuLatency|OsuBandwidth|ImbPointToPoint|ImbParallel'
    FABRIC_SIMGRID_OSU=$HOME/osu-smpi@7.5 ci/run --system cbc -n 'OsuLatency|OsuBandwidth'

The large messages of their collectives take a simulation long, so say which benchmarks.
"""

import os
from pathlib import Path

from fabric_checks.core.errors import FabricError
from fabric_checks.core.paths import sound_name, sound_path
from fabric_checks.software.programs import environment
from fabric_checks.software.spack.environments import environments as built_by_spack
from fabric_checks.software.suites import imb, osu
from fabric_twins import (
    launcher,  # noqa: F401  (registers the launcher that the partitions name)
    smpirun,
)
from fabric_twins.model import description
from fabric_twins.model.topology import Dragonfly, FatTree, Star

ENVIRONMENT = "smpi"
ALL = "twins"


def found(variable, describe):
    """Return the program whose prefix and release an environment variable names, in a list; an empty one if none."""
    text = os.environ.get(variable)
    if not text:
        return []
    prefix, at, version = text.rpartition("@")
    if not (at and prefix.startswith("/") and version):
        raise FabricError(f"{variable} is {text!r}; write prefix and release, as in /opt/imb-smpi@2021.7")
    return [describe(str(sound_path(variable, prefix)), sound_name(f"the release in {variable}", version))]


def intel(prefix, version):
    """Describe an installation of IMB, which may lack all but IMB-MPI1."""
    programs = tuple(name for name in ("nbc", "rma", "p2p") if Path(prefix, "bin", f"IMB-{name.upper()}").exists())
    return imb.installed(prefix, version, programs=programs)


def layouts(twin):
    """Return the layouts of the documents: two processes, on one node and on two, and all nodes.

    On all nodes also two processes a node, which the documents compare; more than 64 ranks say nothing more.
    """
    found = ["1x1", "1x2", "2x1", f"{twin.nodes}x1"]
    return list(dict.fromkeys([*found, *([f"{twin.nodes}x2"] if 2 * twin.nodes <= 64 else [])]))


def about(twin):
    """Return what a simulated cluster is, in a line."""
    network = {Star: "one switch", FatTree: "a fat tree", Dragonfly: "a dragonfly"}[type(twin.topology)]
    return f"Simulated: {twin.about}; {network}, {twin.inter_node.rate_MBps:g} MB/s a node"


def partition(twin, name, max_jobs):
    """Return the partition that stands for a twin."""
    extras = {
        "references": twin.name,
        "nodes": twin.nodes,
        "cores": twin.cpus_per_node,
        "layouts": layouts(twin),
        # Simulations wait for a free processor, and have a limit of processor time.
        "launcher_bounds_time": True,
        # ReFrame passes the launcher all that it needs.
        "launch_options": [],
        # Work that reads the clock is slow to simulate, and all ranks share one process.
        "largest_work_B": 128 * 1024,
        "most_work_tasks": 2,
        "program_options": {name: list(options) for name, options in smpirun.PROGRAM_OPTIONS.items()},
    }
    if isinstance(twin.topology, FatTree):
        # Cables between switches may be faster than what one pair of nodes can do.
        extras["link_MBps"] = twin.topology.link_MBps
    return {
        "name": name,
        "descr": about(twin),
        "scheduler": "local",
        "launcher": "smpirun",
        "environs": [ENVIRONMENT, f"{ENVIRONMENT}-spack"],
        "max_jobs": max_jobs,
        "env_vars": [["FABRIC_TWIN", str(twin.file)]],
        "features": ["simulated"],
        "extras": extras,
    }


def system(name, descr, partitions):
    """Return a system that is chosen by name only."""
    return {"name": name, "descr": descr, "hostnames": ["(?!)"], "partitions": partitions}


cores = len(os.sched_getaffinity(0))
folder = Path(__file__).resolve().parent.parent / "twins"
twins = [description.load(file) for file in sorted(folder.glob("*.yaml"))]
systems = [system(twin.name, about(twin), [partition(twin, "twin", cores)]) for twin in twins]
systems.append(system(ALL, "All simulated clusters", [partition(twin, twin.name, 1) for twin in twins]))

simgrid = os.environ.get("SIMGRID_ROOT") and sound_path("SIMGRID_ROOT", os.environ["SIMGRID_ROOT"])
NOT_COMPILED = (
    "not compiled with smpicc; `--stack spack` does that (config/systems/twins.py says how to name one that is)"
)
names = [each["name"] for each in systems]
environments = [
    environment(
        {
            "name": ENVIRONMENT,
            "cc": f"{simgrid}/bin/smpicc" if simgrid else "smpicc",
            "features": ["replay"],
            "target_systems": names,
        },
        "simgrid",
        *found("FABRIC_SIMGRID_OSU", osu.installed),
        *found("FABRIC_SIMGRID_IMB", intel),
        why_not={
            "osu": NOT_COMPILED,
            "imb": NOT_COMPILED,
            "lammps": "computation takes no time in a simulation; LammpsReplay replays traces of it",
            "npb": "computation takes no time in a simulation",
        },
        # Of LAMMPS, for LammpsReplay.
        extras={"traces": str(folder / "traces")},
    ),
    *built_by_spack(folder / "spack", names),
]
