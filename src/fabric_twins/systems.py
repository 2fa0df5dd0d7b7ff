# SPDX-License-Identifier: BSD-3-Clause
"""The ReFrame systems and environments of simulated clusters: data for ``config/systems/twins.py``.

Simulations are exact however busy the machine is, so they take no lock and run side by side, one a processor.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from fabric_checks.core.errors import FabricError
from fabric_checks.core.paths import sound_name, sound_path
from fabric_checks.records.record import SIMULATED
from fabric_checks.software.programs import environment
from fabric_checks.software.spack.environments import environments as built_by_spack
from fabric_checks.software.suite import Program
from fabric_checks.software.suites import imb, osu
from fabric_twins import (
    launcher,  # noqa: F401  (registers the launcher that the partitions name)
    smpirun,
)
from fabric_twins.model.description import Twin
from fabric_twins.model.topology import Dragonfly, FatTree, Star

ENVIRONMENT = "smpi"

Data = dict[str, Any]


def systems(twins: Sequence[Twin], together: str) -> list[Data]:
    """Return a system for each cluster, and one that has them all as partitions; they are chosen by name
    only.

    :param together: the name of the last.
    """
    cores = len(os.sched_getaffinity(0))
    each = [
        _system(twin.name, _descr(twin), [_partition(twin, "twin", cores)])
        for twin in twins
    ]
    return [
        *each,
        _system(
            together,
            "All simulated clusters",
            [_partition(twin, twin.name, 1) for twin in twins],
        ),
    ]


def environments(folder: Path, names: Sequence[str]) -> list[Data]:
    """Return the environments of SimGrid: programs named by variables, and those that Spack builds.

    :param folder: with the scopes of Spack.
    :param names: the systems.
    """
    simgrid = os.environ.get("SIMGRID_ROOT") and sound_path(
        "SIMGRID_ROOT", os.environ["SIMGRID_ROOT"]
    )
    not_compiled = (
        "not compiled with smpicc; `--stack spack` does that (config/systems/twins.py explains how to name"
        " one that is)"
    )
    base = {
        "name": ENVIRONMENT,
        "cc": f"{simgrid}/bin/smpicc" if simgrid else "smpicc",
        "target_systems": list(names),
    }
    own = environment(
        base,
        "simgrid",
        *_named("FABRIC_SIMGRID_OSU", osu.installed),
        *_named("FABRIC_SIMGRID_IMB", _intel),
        why_not={
            "osu": not_compiled,
            "imb": not_compiled,
            "lammps": "computation takes no time in a simulation; `replay` predicts it from a trace",
            "npb": "computation takes no time in a simulation",
        },
    )
    return [own, *built_by_spack(folder / "spack", names)]


def _named(variable: str, describe: Callable[[str, str], Program]) -> list[Program]:
    """Return the program whose prefix and release an environment variable names, in a list; an empty one if
    none."""
    text = os.environ.get(variable)
    if not text:
        return []
    prefix, at, version = text.rpartition("@")
    if not (at and prefix.startswith("/") and version):
        raise FabricError(
            f"{variable} is {text!r}; write prefix and release, as in /opt/imb-smpi@2021.7"
        )
    return [
        describe(
            str(sound_path(variable, prefix)),
            sound_name(f"the release in {variable}", version),
        )
    ]


def _intel(prefix: str, version: str) -> Program:
    """Describe an installation of IMB, which may lack all but IMB-MPI1."""
    programs = tuple(
        name
        for name in ("nbc", "rma")
        if Path(prefix, "bin", f"IMB-{name.upper()}").exists()
    )
    return imb.installed(prefix, version, programs=programs)


def _layouts(twin: Twin) -> list[str]:
    """Return the layouts of the documents: two processes, on one node and on two, and all nodes.

    On all nodes also two processes a node, which the documents compare; more than 64 ranks add no
    information.
    """
    found = ["1x1", "1x2", "2x1", f"{twin.nodes}x1"]
    return list(
        dict.fromkeys([*found, *([f"{twin.nodes}x2"] if 2 * twin.nodes <= 64 else [])])
    )


def _descr(twin: Twin) -> str:
    network = {Star: "one switch", FatTree: "a fat tree", Dragonfly: "a dragonfly"}[
        type(twin.topology)
    ]
    return (
        f"Simulated: {twin.about}; {network}, {twin.inter_node.rate_MBps:g} MB/s a node"
    )


def _partition(twin: Twin, name: str, max_jobs: int) -> Data:
    extras: Data = {
        "references": twin.name,
        "nodes": twin.nodes,
        "cores": twin.cpus_per_node,
        "layouts": _layouts(twin),
        # Simulations wait for a free processor, and have a limit of processor time.
        "launcher_bounds_time": True,
        # ReFrame passes the launcher all that it needs.
        "launch_options": [],
        # Work that reads the clock is slow to simulate, and all ranks share one process.
        "largest_work_B": 128 * 1024,
        "most_work_tasks": 2,
        "program_options": {
            name: list(options) for name, options in smpirun.PROGRAM_OPTIONS.items()
        },
    }
    if isinstance(twin.topology, FatTree):
        # Cables between switches may be faster than what one pair of nodes can do.
        extras["link_MBps"] = twin.topology.link_MBps
    return {
        "name": name,
        "descr": _descr(twin),
        "scheduler": "local",
        "launcher": "smpirun",
        "environs": [ENVIRONMENT, f"{ENVIRONMENT}-spack"],
        "max_jobs": max_jobs,
        "env_vars": [["FABRIC_TWIN", str(twin.file)]],
        "features": [SIMULATED],
        "extras": extras,
    }


def _system(name: str, descr: str, partitions: list[Data]) -> Data:
    return {
        "name": name,
        "descr": descr,
        "hostnames": ["(?!)"],
        "partitions": partitions,
    }
