# SPDX-License-Identifier: BSD-3-Clause
"""Describe the suites that an environment offers, and their programs, for the checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fabric_checks.core.paths import ROOT, home
from fabric_checks.software.suite import Program
from fabric_checks.software.suites import SUITES

#: The sources of the collection's own MPI programs.
OWN_SOURCES = ROOT / "checks" / "fabric" / "src"


def build_own(cc: str, *, profiler: bool = False) -> list[str]:
    """Return the command that builds the collection's own programs, or reuses those of the same sources.

    :param cc: the compiler wrapper of the MPI. The command is for a copy of :data:`OWN_SOURCES`.
    :param profiler: whether to build the library that profiles, too.
    """
    return ["sh", "build.sh", str(home() / "programs"), cc, *(["profile.so"] if profiler else [])]


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
        for each suite the name of its program in results (``program``), ``version``, ``stack``, ``command`` and the
        suite's own keys.
    ``without``
        for each suite that it does not offer, and each feature that its program of a suite lacks, the reason.

    :param base: the rest of it: ``name``, ``cc``, ``modules``, ``env_vars``, further ``features``.
    :param stack: one of :data:`fabric_checks.software.suite.STACKS`; `ci/run --stack` selects by it.
    :param why_not: for suites without a program, the reason in the summary of a run.
    :param extras: further ``extras``.
    :raises ValueError: for a reason for an unknown suite.
    """
    expected = [name for name, suite in SUITES.items() if not suite.only_of_sites]
    reasons = dict.fromkeys(expected, "the environment does not name it") | dict(why_not or {})
    if unknown := reasons.keys() - SUITES.keys():
        raise ValueError(f"there is no suite {', '.join(sorted(unknown))}; the suites are {', '.join(SUITES)}")
    offers = {program.suite: program for program in programs}
    without = {name: why for program in programs for name, why in program.without.items()}
    without |= {suite: why for suite, why in reasons.items() if suite not in offers and suite in expected}
    features = [feature for program in programs for feature in program.features]
    described = {suite: {**program.description, "stack": stack} for suite, program in offers.items()}
    return {
        **base,
        "features": ["mpi", "mpicc", *base.get("features", []), *features],
        "extras": {"stack": stack, "programs": described, "without": without, **(extras or {})},
    }


def search_paths(prefix: object) -> list[list[str]]:
    """Return the variables that put the prefix of an MPI first on the search paths; none without a prefix."""
    if not prefix:
        return []
    return [
        ["PATH", f"{prefix}/bin:$PATH"],
        ["LD_LIBRARY_PATH", f"{prefix}/lib${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}"],
    ]
