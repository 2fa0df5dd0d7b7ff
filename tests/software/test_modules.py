# SPDX-License-Identifier: BSD-3-Clause
"""Modules: their names."""

import pytest

from fabric_checks.software import modules
from fabric_checks.software.modules import Module


def test_a_terse_listing_has_modules_and_defaults():
    found = modules.available(
        "/apps/all:\nfoo/\nfoo/1.2\nfoo/1.3(default)\nbar/2(D:b)\nplain\n\na b/1\n-x/1\n../x\n"
    )
    assert [(module.name, module.is_default) for module in found] == [
        ("foo/1.2", False), ("foo/1.3", True), ("bar/2", True), ("plain", False),
    ]  # fmt: skip


#: Names as sites have them; those of field-cases first, then what public listings and job scripts have:
#: Azure's images, Sheffield's Iceberg, OpenHPC, CINECA, Bright's, Spack's, Fedora's, Intel's and
#: bwUniCluster's.
_MPIS = [
    ("openmpi5/5.0.7", "openmpi", "5.0.7"), ("mpi/2021.11", "intel-oneapi-mpi", "2021.11"),
    ("mpi/openmpi/4.1.1/gnu-4.9.2", "openmpi", "4.1.1"), ("openmpi/gcc.9/3.1.5", "openmpi", "3.1.5"),
    ("hpcx-mpi/2.25.1s-le4f", "hpcx-mpi", "2.25.1"), ("mpi/hpcx-v2.5.0", "hpcx-mpi", "2.5.0"),
    ("mpi/impi_2018.4.274", "intel-oneapi-mpi", "2018.4.274"), ("mpi/mvapich2-2.3.2", "mvapich2", "2.3.2"),
    ("mpi/gcc/openmpi/1.10.1", "openmpi", "1.10.1"), ("mpich/3.4.3-ofi", "mpich", "3.4.3"),
    ("openmpi/4.1.6--gcc--12.2.0", "openmpi", "4.1.6"), ("openmpi/gcc/64/4.1.0-ucx", "openmpi", "4.1.0"),
    ("openmpi-3.1.6-gcc-9.1.0-omffmfv", "openmpi", "3.1.6"), ("mpi/openmpi_3.1.6_gcc", "openmpi", "3.1.6"),
    ("mpi/openmpi-x86_64", "openmpi", ""), ("openmpi", "openmpi", ""),
    ("openmpi/2.0.2/gcc", "openmpi", "2.0.2"),
    ("oneapi/mpi/latest", "intel-oneapi-mpi", ""), ("intel/mpi-2021.2.0", "intel-oneapi-mpi", "2021.2.0"),
    ("intel/mpi/64/2020/2.54", "intel-oneapi-mpi", "2020"), ("intel/mpi/2017-4", "intel-oneapi-mpi", "2017"),
    ("openmpi/gcc/9.3.0/4.1.5", "openmpi", "4.1.5"), ("mvapich2-gdr/2.3.7", "mvapich2", "2.3.7"),
    ("stack-openmpi/4.1.6", "openmpi", "4.1.6"),
    ("stack-intel-oneapi-mpi/2021.10.0", "intel-oneapi-mpi", "2021.10.0"),
    ("mpi/intel/2019.5", "intel-oneapi-mpi", "2019.5"),
]  # fmt: skip
_SUITES = [
    ("LAMMPS/2Aug2023_update2-foss-2023a-kokkos", "lammps", "2 Aug 2023"), ("omb/7.3", "osu", "7.3"),
    ("osu-micro-benchmarks-5.6.3-gcc-9.1.0-nsxydkj", "osu", "5.6.3"),
    ("IMB/2021.3-gompi-2022b", "imb", "2021.3"),
    ("osu-micro-benchmarks/gcc/5.6.2", "osu", "5.6.2"), ("benchmarks/imb/2021.7", "imb", "2021.7"),
    ("gcc/openmpi/lammps/2023", "lammps", "2023"), ("NPB3.4-MPI", "npb", "3.4"),
    ("intel-mpi-benchmarks/2021.7", "imb", "2021.7"),
]  # fmt: skip
_NEITHER = [
    "fftw2/openmpi/gcc/64/double/2.1.5",
    "hdf5-openmpi/1.12",
    "hmmer-mpi/3.3.2",
    "mpi4py/3.1",
    "intel/2023",
    "netcdf-fortran/4.6.1--hpcx-mpi--2.19--nvhpc--24.5",
    "gompi/2023a",
    "psmpi/5.9",
    "compiler/gcc/12.2.0",
    "stack-gcc/13.3.0",
]


@pytest.mark.parametrize(
    "name, software, version",
    [*_MPIS, *_SUITES, *((name, "", "") for name in _NEITHER)],
)
def test_a_name_has_software_and_version(name, software, version):
    module = Module(name)
    assert (module.software, module.version if software else "", module.is_variant) == (
        software,
        version,
        False,
    )


def test_the_best_is_the_default_or_the_newest():
    names = [
        "openmpi/4.1.10",
        "openmpi/4.1.9",
        "OpenMPI/3.0",
        "openmpi-debug/9",
        "openmpi_eth/8",
    ]
    assert modules.best(map(Module, names), "openmpi").name == "openmpi/4.1.10"
    listed = [*map(Module, names), Module("openmpi/2.0", True)]
    assert modules.best(listed, "openmpi").name == "openmpi/2.0"
    assert modules.best(listed, "mpich") is None
    # A variant is better than nothing.
    assert modules.best(map(Module, names[3:4]), "openmpi").name == "openmpi-debug/9"
