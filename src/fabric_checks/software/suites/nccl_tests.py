# SPDX-License-Identifier: BSD-3-Clause
"""NVIDIA's nccl-tests."""

from __future__ import annotations

from fabric_checks.software.suite import VIEW, Package, Program, Suite


def installed(prefix: str, version: str, suffix: str = "") -> Program:
    """Describe an installation that was built with MPI.

    :param prefix: the folder whose ``bin`` has all_reduce_perf and the others. :param suffix: of their names,
        such as ``_mpi`` where builds with and without MPI are side by side.
    """
    return SUITE.program(command(prefix, suffix), version)


def command(prefix: str, suffix: str = "") -> str:
    """Return the command line of a benchmark of nccl-tests, or of rccl-tests, which are installed alike."""
    return f"{prefix}/bin/{{benchmark}}_perf{suffix}"


def proof(_requirement: str) -> list[str]:
    """Return the files of a complete build, of either."""
    return [
        f"bin/{name}_perf"
        for name in (
            "all_reduce",
            "all_gather",
            "reduce_scatter",
            "alltoall",
            "sendrecv",
        )
    ]


SUITE = Suite(
    "nccl_tests",
    "nccl-tests",
    called=("nccl-tests",),
    package=Package("nccl-tests", lambda _, version: installed(VIEW, version), proof),
    only_of_sites=True,  # those with GPUs
)
