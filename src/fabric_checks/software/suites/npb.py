# SPDX-License-Identifier: BSD-3-Clause
"""The NAS Parallel Benchmarks IS and FT, one program for each class."""

from __future__ import annotations

import re

from fabric_checks.software.suite import VIEW, Package, Program, Suite

_KERNELS = ("is", "ft")


def installed(
    prefix: str, version: str, kernels: tuple[str, ...] = _KERNELS
) -> Program:
    """Describe an installation.

    :param prefix: the folder whose ``bin`` has is.A.x and the others, classes A to C.
    :param kernels: ``("is",)`` where FT, which is Fortran, was not built.
    """
    has_ft = "ft" in kernels
    return SUITE.program(
        f"{prefix}/bin/{{benchmark}}",
        version,
        features=("npb_ft",) if has_ft else (),
        without={}
        if has_ft
        else {"npb_ft": "NPB was built without FT, which needs an MPI with Fortran"},
    )


def _wanted(requirement: str) -> tuple[str, ...]:
    named = re.search(r"\bnames:?=(\S+)", requirement)
    names = named[1].split(",") if named else []
    return tuple(name for name in _KERNELS if name in names)


def _built(requirement: str, version: str) -> Program:
    return installed(VIEW, version, _wanted(requirement))


def _proof(requirement: str) -> list[str]:
    # The recipe's make continues after a failed program, so every one of them is required.
    return [
        f"bin/{kernel}.{size}.x" for kernel in _wanted(requirement) for size in "ABC"
    ]


SUITE = Suite(
    "npb",
    "NAS Parallel Benchmarks",
    features={"npb_ft": "FT, which needs an MPI with Fortran, in addition to IS"},
    package=Package("npb", _built, _proof),
)
