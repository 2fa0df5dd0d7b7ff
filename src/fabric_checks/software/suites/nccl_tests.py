# SPDX-License-Identifier: BSD-3-Clause
"""NVIDIA's nccl-tests; rccl-tests are in a module of their own, since a suite has one package."""

from __future__ import annotations

from fabric_checks.software.suite import VIEW, Package, Program, Suite


def installed(prefix: str, version: str, suffix: str = "") -> Program:
    """Describe an installation that was built with MPI.

    :param prefix: the folder whose ``bin`` has all_reduce_perf and the others. :param suffix: of their names, such as
        ``_mpi`` where builds with and without MPI are side by side.
    """
    return SUITE.program(f"{prefix}/bin/{{benchmark}}_perf{suffix}", version)


def _built(_requirement: str, version: str) -> Program:
    return installed(VIEW, version)


def _proof(_requirement: str) -> list[str]:
    return [f"bin/{name}_perf" for name in ("all_reduce", "all_gather", "reduce_scatter", "alltoall", "sendrecv")]


SUITE = Suite(
    "nccl_tests",
    "nccl-tests",
    called=("nccl-tests",),
    package=Package("nccl-tests", _built, _proof),
    only_of_sites=True,  # those with GPUs
)
