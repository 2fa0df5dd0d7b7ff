# SPDX-License-Identifier: BSD-3-Clause
"""The Intel MPI Benchmarks."""

from __future__ import annotations

from fabric_checks.software.suite import VIEW, Package, Program, Suite

#: The programs in addition to IMB-MPI1.
_PROGRAMS = ("nbc", "rma")


def installed(
    prefix: str,
    version: str,
    programs: tuple[str, ...] = _PROGRAMS,
    devices: tuple[str, ...] = (),
) -> Program:
    """Describe an installation: IMB-MPI1 and some of the other programs.

    :param prefix: the folder whose ``bin`` has them.
    :param devices: ``cuda`` if IMB-MPI1-GPU is among them, built for it (``make IMB-MPI1-GPU
        CUDA_INCLUDE_DIR=...``).
    """
    missing = [name for name in _PROGRAMS if name not in programs]
    return SUITE.program(
        f"{prefix}/bin/{{benchmark}}",
        version,
        features=tuple(f"imb_{name}" for name in (*programs, *devices)),
        without={
            f"imb_{name}": f"IMB was built without IMB-{name.upper()}"
            for name in missing
        },
    )


def _wanted(requirement: str) -> tuple[str, ...]:
    return tuple(name for name in _PROGRAMS if f"~{name}" not in requirement)


def _built(requirement: str, version: str) -> Program:
    return installed(VIEW, version, _wanted(requirement))


def _proof(requirement: str) -> list[str]:
    return [f"bin/IMB-{name.upper()}" for name in ("mpi1", *_wanted(requirement))]


SUITE = Suite(
    "imb",
    "Intel MPI Benchmarks",
    features={
        **{
            f"imb_{name}": f"IMB-{name.upper()} in addition to IMB-MPI1"
            for name in _PROGRAMS
        },
        "imb_cuda": "IMB-MPI1-GPU for CUDA memory, for partitions with the feature cuda",
    },
    package=Package("intel-mpi-benchmarks", _built, _proof),
)
