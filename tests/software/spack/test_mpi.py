# SPDX-License-Identifier: BSD-3-Clause
"""Whether the MPI library that runs is the one of the spec."""

import pytest

from fabric_checks.software.spack.mpi import contradiction

MPICH = "MPICH Version:      5.0.2"
OPEN_MPI = "Open MPI v5.0.11, package: Open MPI user@host Distribution, ident: 5.0.11, repo rev: v5.0.11, Oct 02, 2025"
INTEL = "Intel(R) MPI Library 2021.18 for Linux* OS"
CRAY = "MPI VERSION    : CRAY MPICH version 8.1.28.15 (ANL base 3.4a2)"
SMPI = "SMPI Version 3.32. Copyright The SimGrid Team 2007-2022"


@pytest.mark.parametrize(
    ("spec", "reported"),
    [
        ("mpich@5.0.2", MPICH),
        ("mpich@5", MPICH),
        ("openmpi@5.0.11", OPEN_MPI),
        ("openmpi@4.1.7", "Open MPI v4.1.7a1, package: Open MPI root@host"),
        ("intel-oneapi-mpi@2021.18.1", INTEL),
        ("cray-mpich@8.1.28", CRAY),
        ("mvapich2@2.3.7", "MVAPICH2 Version      :\t2.3.7"),
        ("mvapich@3.0", "MVAPICH Version       : 3.0"),
        ("smpi@3.32", SMPI),
        ("hpcx-mpi@2.17", OPEN_MPI),  # counts releases of its own, so nothing is known
    ],
)
def test_the_same(spec, reported):
    assert contradiction(spec, reported) is None


@pytest.mark.parametrize(
    ("spec", "reported"),
    [
        ("mpich@5.0.1", MPICH),  # upgraded in place
        ("mpich@5.0.20", MPICH),
        ("mpich@5.0", "MPICH Version: 5.01"),
        ("mpich@5.0.2", "MPICH Version: 5.0"),
        ("mpich@5.0.2", INTEL),
        ("mpich@3.4", CRAY),
        ("openmpi@5.0.1", OPEN_MPI),
        ("openmpi@5.0.11", MPICH),
        ("intel-oneapi-mpi@2021.17.1", INTEL),
        ("intel-oneapi-mpi@2021.1", INTEL),
        ("cray-mpich@8.1.2", CRAY),
        ("smpi@3.3", SMPI),
        ("mpich@5.0.2", ""),
    ],
)
def test_another(spec, reported):
    said = contradiction(spec, reported)
    assert said.startswith(f"MPI: the program was built for {spec}, but the library that runs says '{reported[:70]}")
    assert "the MPI's scope (packages.yaml" in said and len(said.splitlines()) == 1
