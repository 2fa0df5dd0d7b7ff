# SPDX-License-Identifier: BSD-3-Clause
"""AMD's rccl-tests, which are installed and print as nccl-tests."""

from __future__ import annotations

from fabric_checks.software.suite import VIEW, Package, Program, Suite
from fabric_checks.software.suites.nccl_tests import command, proof


def installed(prefix: str, version: str, suffix: str = "") -> Program:
    """Describe an installation that was built with MPI, as :func:`.nccl_tests.installed` does."""
    return SUITE.program(command(prefix, suffix), version)


SUITE = Suite(
    "rccl_tests",
    "rccl-tests",
    called=("rccl-tests",),
    package=Package("rccl-tests", lambda _, version: installed(VIEW, version), proof),
    only_of_sites=True,  # those with GPUs
)
