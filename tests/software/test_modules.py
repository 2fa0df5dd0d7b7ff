# SPDX-License-Identifier: BSD-3-Clause
"""Modules: their names, and the prefixes of their programs."""

import pytest

from fabric_checks.software import modules
from fabric_checks.software.modules import Module


def test_a_terse_listing_has_modules_and_defaults():
    found, refused = modules.available(
        "/apps/all:\nfoo/\nfoo/1.2\nfoo/1.3(default)\nbar/2(D:b)\nplain\n\na b/1\n-x/1\n../x\n"
    )
    assert [(module.name, module.is_default) for module in found] == [
        ("foo/1.2", False), ("foo/1.3", True), ("bar/2", True), ("plain", False),
    ]  # fmt: skip
    assert refused == ["a b/1", "-x/1", "../x"]


@pytest.mark.parametrize(
    ("name", "software", "version", "toolchain"),
    [
        ("OpenMPI/4.1.5-GCC-12.3.0", "OpenMPI", "4.1.5", ""), ("mpi/openmpi/5.0.3", "openmpi", "5.0.3", ""),
        ("LAMMPS/2Aug2023_update2-foss-2023a-kokkos", "LAMMPS", "2 Aug 2023", "2023a"), ("openmpi", "openmpi", "", ""),
        ("IMB/2021.3-gompi-2022b", "IMB", "2021.3", "2022b"), ("mpi/openmpi-x86_64", "openmpi", "", ""),
    ],
)  # fmt: skip
def test_a_name_has_software_version_and_toolchain(name, software, version, toolchain):
    module = Module(name)
    assert (module.software, module.version, module.toolchain) == (software, version, toolchain)


def test_the_best_is_the_default_or_the_newest():
    names = ["openmpi/4.1.10", "openmpi/4.1.9", "OpenMPI/3.0", "openmpi-debug/9"]
    assert modules.best(map(Module, names), modules.FAMILIES["openmpi"]).name == "openmpi/4.1.10"
    listed = [*map(Module, names), Module("openmpi/2.0", True)]
    assert modules.best(listed, modules.FAMILIES["openmpi"]).name == "openmpi/2.0"
    assert modules.best(listed, modules.FAMILIES["mpich"]) is None


@pytest.mark.parametrize(
    ("name", "family", "shown"),
    [
        ("IMB/2021.3-iimpi-2022b", "intel-oneapi-mpi", True), ("IMB/2021.3-iimpi-2022b", "openmpi", False),
        ("osu/7.4-mvapich2-2.3.7", "mvapich2", True), ("osu/7.4-mvapich2-2.3.7", "mpich", False),
        ("osu/7.4", "openmpi", None), ("LAMMPS/1Jan2024-foss-2023b", "openmpi", True),
    ],
)  # fmt: skip
def test_a_name_shows_the_mpi_of_the_build(name, family, shown):
    assert modules.built_with(Module(name), family) is shown


@pytest.mark.parametrize(
    ("suite", "text", "prefix"),
    [
        ("imb", 'prepend_path("PATH","/a/bin")', "/a"), ("imb", "prepend-path\tPATH\t/a/bin", "/a"),
        ("imb", "prepend-path --delim : PATH {/a/bin}", "/a"), ("imb", 'prepend_path{"PATH","/a/bin",delim=":"}', "/a"),
        ("imb", 'prepend_path("LD_LIBRARY_PATH","/a/lib")', None), ("imb", 'prepend_path("MANPATH","/a/bin")', None),
        ("imb", "", None), ("osu", 'prepend_path("PATH","/a/bin")', None),
        ("osu", 'prepend_path("PATH","/a/libexec/osu-micro-benchmarks/mpi/pt2pt")', "/a"),
        ("osu", 'setenv("EBROOTOSUMINMICROMINBENCHMARKS","/e")', "/e"),
    ],
)  # fmt: skip
def test_module_show_gives_the_prefix_of_a_suite(suite, text, prefix):
    assert modules.prefix(f"-----\n{text}\n-----\n", suite) == prefix
