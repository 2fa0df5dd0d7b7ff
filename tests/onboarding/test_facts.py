# SPDX-License-Identifier: BSD-3-Clause
"""Facts have names that stay."""

from fabric_checks.onboarding.facts import Mpi


def test_an_environment_keeps_its_name_when_its_mpi_is_updated():
    assert Mpi("openmpi", "4.1.5", "a", "mpicc").name == Mpi("openmpi", "5.0.8", "b", "mpicc").name == "openmpi-site"
