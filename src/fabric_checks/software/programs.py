# SPDX-License-Identifier: BSD-3-Clause
"""Describe the suites that an environment offers, and their programs, for the checks."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from fabric_checks.core.paths import ROOT, home
from fabric_checks.software.suite import Program
from fabric_checks.software.suites import SUITES

#: Variables without which Open MPI refuses to start as root, as in most containers.
OPEN_MPI_AS_ROOT = (
    [["OMPI_ALLOW_RUN_AS_ROOT", "1"], ["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"]]
    if os.geteuid() == 0
    else []
)
#: The sources of the collection's own MPI programs.
OWN_SOURCES = ROOT / "checks" / "fabric" / "src"


def build_own(cc: str, *, profiler: bool = False) -> list[str]:
    """Return the command that builds the collection's own programs, or reuses those of the same sources.

    :param cc: the compiler wrapper of the MPI. The command is for a copy of :data:`OWN_SOURCES`.
    :param profiler: whether to build the library that profiles, too.
    """
    return [
        "sh",
        "build.sh",
        str(home() / "programs"),
        cc,
        *(["profile.so"] if profiler else []),
    ]


def environment(
    base: Mapping[str, Any],
    stack: str,
    *programs: Program,
    why_not: Mapping[str, str] | None = None,
    extras: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return an environment of ReFrame's configuration that offers these programs.

    Its ``extras`` have, in addition to those given:

    ``programs``
        for each suite the name of its program in results (``program``), ``version``, ``stack``, ``command``
        and the suite's own keys.
    ``without``
        for each suite that it does not offer, and each feature that its program of a suite lacks, the reason.

    :param base: the rest of it: ``name``, ``cc``, ``modules``, ``env_vars``, further ``features``.
    :param stack: one of :data:`fabric_checks.software.suite.STACKS`; `ci/run --stack` selects by it.
    :param why_not: for suites without a program, the reason in the summary of a run.
    :param extras: further ``extras``.
    :raises ValueError: for a reason for an unknown suite.
    """
    reasons = why_not or {}
    if unknown := reasons.keys() - SUITES.keys():
        raise ValueError(
            f"there is no suite {', '.join(sorted(unknown))}; the suites are {', '.join(sorted(SUITES))}"
        )
    features = [feature for program in programs for feature in program.features]
    described = {
        program.suite: {**program.description, "stack": stack} for program in programs
    }
    return {
        **base,
        "features": ["mpi", "mpicc", *base.get("features", []), *features],
        "extras": {
            "stack": stack,
            "programs": described,
            "without": _without(programs, reasons),
            **(extras or {}),
        },
    }


def _without(programs: Iterable[Program], reasons: Mapping[str, str]) -> dict[str, str]:
    """Return the reasons for what is not offered: features of the programs' suites, and whole suites."""
    found = {
        suite.name: "the environment does not name it"
        for suite in SUITES.values()
        if not suite.only_of_sites
    }
    found |= {name: why for name, why in reasons.items() if name in found}
    for program in programs:
        found.pop(program.suite, None)
        found |= program.without
    return found


def search_paths(prefix: object) -> list[list[str]]:
    """Return the variables that put the prefix of an MPI first on the search paths; none without a prefix."""
    if not prefix:
        return []
    return [
        ["PATH", f"{prefix}/bin:$PATH"],
        ["LD_LIBRARY_PATH", f"{prefix}/lib${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}"],
    ]
