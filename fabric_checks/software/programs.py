# SPDX-License-Identifier: BSD-3-Clause
"""Describe to the checks what an environment offers: which suites, and where their programs are.

The configuration calls these functions; `config/environments/wheels.py` lists the features and keys that come out.
Prefixes go into job scripts as they are, so they may hold shell variables that a module sets (``$OSU_ROOT``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

#: Where programs come from.
SOURCES = ("wheels", "spack", "modules", "simgrid")


@dataclass(frozen=True)
class Program:
    """What an environment offers of one suite.

    :param suite: ``osu``, ``imb``, ``lammps`` or ``npb``.
    :param features: what checks may ask for.
    :param description: for ``extras['programs']``.
    :param without: what of the suite it does not have, and why.
    """

    suite: str
    features: tuple[str, ...]
    description: Mapping[str, Any]
    without: Mapping[str, str] = field(default_factory=dict)


def osu(prefix: str, version: str, devices: tuple[str, ...] = ()) -> Program:
    """Describe an installation of OSU's own programs, release 5.9 or later.

    :param prefix: what it was configured with; the programs are in ``libexec/osu-micro-benchmarks/mpi`` below it.
    :param version: its release, such as ``7.5.2``.
    :param devices: ``cuda`` or ``rocm`` if it was built for buffers in device memory.
    """
    release = release_of(version)
    later = {"osu_7_3": (7, 3), "osu_7_4": (7, 4)}
    newer = [feature for feature, first in later.items() if release >= first]
    without = {
        feature: f"OSU {version} is older than {'.'.join(map(str, first))}"
        for feature, first in later.items()
        if feature not in newer
    }
    features = ("osu", "osu_c", *newer, *(f"osu_{device}" for device in devices))
    description = {
        "program": "osu",
        "version": version,
        "command": f"{prefix}/libexec/osu-micro-benchmarks/mpi/{{folder}}/{{benchmark}}",
        "takes_sizes": True,
        "smallest_message_B": 1 if release >= (7,) else 0,
    }
    return Program("osu", features, description, without)


def imb(prefix: str, version: str, programs: tuple[str, ...] = ("nbc", "rma", "p2p")) -> Program:
    """Describe an installation of the Intel MPI Benchmarks: IMB-MPI1, and those of the others that it has.

    :param prefix: the folder whose ``bin`` has them.
    """
    without = {f"imb_{name}": f"IMB was built without IMB-{name.upper()}" for name in ("nbc", "rma", "p2p")}
    features = tuple(f"imb_{name}" for name in programs)
    description = {"program": "imb", "version": version, "command": f"{prefix}/bin/{{benchmark}}"}
    return Program("imb", ("imb", *features), description, {k: v for k, v in without.items() if k not in features})


def lammps(prefix: str, version: str, inputs: str = "") -> Program:
    """Describe an installation of LAMMPS.

    :param prefix: the folder whose ``bin`` has ``lmp``.
    :param inputs: LAMMPS's bench folder, with in.lj and the others; releases since 2023 install it below the prefix.
    """
    bench = inputs or f"{prefix}/share/lammps/bench"
    description = {"program": "lammps", "version": version, "command": f"{prefix}/bin/{{benchmark}}", "inputs": bench}
    return Program("lammps", ("lammps",), description)


def npb(prefix: str, version: str, kernels: tuple[str, ...] = ("is", "ft")) -> Program:
    """Describe an installation of the NAS Parallel Benchmarks.

    :param prefix: the folder whose ``bin`` has is.A.x and the others, classes A to C.
    :param kernels: ``("is",)`` where FT, which is Fortran, was not built.
    """
    has_ft = "ft" in kernels
    description = {"program": "npb", "version": version, "command": f"{prefix}/bin/{{benchmark}}"}
    without = {} if has_ft else {"npb_ft": "NPB was built without FT, which needs an MPI with Fortran"}
    return Program("npb", ("npb", *(["npb_ft"] if has_ft else [])), description, without)


def environment(
    base: Mapping[str, Any],
    source: str,
    *programs: Program,
    why_not: Mapping[str, str] | None = None,
    extras: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return an environment of ReFrame's configuration that offers these programs.

    :param base: the rest of it: ``name``, ``cc``, ``modules``, ``env_vars``, further ``features``.
    :param source: one of :data:`SOURCES`; `ci/run --stack` selects by it.
    :param why_not: for suites without a program here, the reason that the summary of a run gives.
    :param extras: further ``extras``.
    """
    features = ["mpi", "mpicc", *base.get("features", [])]
    without: dict[str, str] = {}
    for program in programs:
        features += program.features
        without |= program.without
    offered = {program.suite for program in programs}
    for suite in ("osu", "imb", "lammps", "npb"):
        if suite not in offered:
            without[suite] = (why_not or {}).get(suite, "the environment does not name it")
    described = {program.suite: {**program.description, "source": source} for program in programs}
    return {
        **base,
        "features": features,
        "extras": {"stack": source, "programs": described, "without": without, **(extras or {})},
    }


def release_of(version: str) -> tuple[int, ...]:
    """Return the numbers of a release; what is no number ends it.

    >>> release_of("7.1-1")
    (7, 1, 1)
    """
    leading = re.match(r"\d+(?:[.-]\d+)*", version)
    return tuple(int(number) for number in re.split(r"[.-]", leading[0])) if leading else ()
