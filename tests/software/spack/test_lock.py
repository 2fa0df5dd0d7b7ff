# SPDX-License-Identifier: BSD-3-Clause
"""Real lock files and damaged ones; and the MPI library that runs."""

import json

import pytest

from fabric_checks.software.spack.failure import SpackError
from fabric_checks.software.spack.lock import contradiction, read_lock, require
from fabric_checks.software.spack.scopes import Asked
from tests.conftest import GOLDEN

LOCKS = sorted((GOLDEN / "spack").glob("*.lock.json"))
IMB = "intel-mpi-benchmarks"
LOCK = GOLDEN / f"spack/{IMB}.mpich.lock.json"
MPI = {
    "mpich": "mpich@5.0.2",
    "openmpi": "openmpi@5.0.11",
    "impi": "intel-oneapi-mpi@2021.18.1",
}


@pytest.fixture
def changed(tmp_path):
    """Return a function that writes a real lock with its data changed, and returns its path."""

    def write(change):
        data = json.loads(LOCK.read_text())
        change(data)
        (tmp_path / "spack.lock").write_text(json.dumps(data))
        return tmp_path / "spack.lock"

    return write


def root(data):
    return data["concrete_specs"][data["roots"][0]["hash"]]


def asked(version="2021.7", mpi="mpich", compiler=None):
    return Asked("", version, mpi, compiler)


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.name)
def test_a_real_lock_has_package_mpi_and_compiler(path):
    mpi = path.name.split(".")[1]
    found = read_lock(path)
    assert require(path, asked(found.package.version, MPI[mpi], "gcc@12.2.0")) == found
    assert found.package.target.startswith("x86_64") and len(found.package.hash) == 32


def test_a_spec_is_one_line():
    found = read_lock(LOCK)
    assert (
        str(found)
        == "intel-mpi-benchmarks@2021.7~check+ext+io+mpi1+mt+nbc+p2p+rma build_system=makefile "
        f"target={found.package.target} /{found.package.hash[:7]} %gcc@12.2.0 ^mpich@5.0.2"
    )


def test_flags_and_targets_without_a_generic_name_are_in_the_spec(changed):
    def change(data):
        root(data)["parameters"].update(cflags=["-O3", "-g"], names=["is", "ft"])
        root(data)["arch"].update(target={"name": "zen5", "vendor": "AuthenticAMD"})

    spec = str(read_lock(changed(change)))
    assert " cflags='-O3 -g' " in spec
    assert " names=is,ft " in spec
    assert " target=zen5 " in spec


@pytest.mark.parametrize(
    "wanted",
    [
        *(asked(version) for version in ("2021.7", "2021")),
        *(
            asked(mpi=mpi)
            for mpi in (
                "mpich@5.0.2",
                "mpich@5",
                "mpich@=5.0.2 ~fortran",
                "mpich+slurm",
                "mpich@4:",
            )
        ),
        *(asked(compiler=compiler) for compiler in ("gcc", "gcc@12.2")),
    ],
)
def test_a_result_that_was_asked_for_is_accepted(wanted):
    assert require(LOCK, wanted).package.version == "2021.7"


@pytest.mark.parametrize(
    "wanted, message",
    [
        (
            asked("2021.8"),
            f"release 2021.8 was asked for, but the result is {IMB}@2021.7",
        ),
        (asked("202"), "release 202 was asked for"),
        (
            asked(mpi="openmpi"),
            "MPI openmpi was asked for, but the result is mpich@5.0.2",
        ),
        (
            asked(mpi="mpich@4.1"),
            "MPI mpich@4.1 was asked for, but the result is mpich@5.0.2",
        ),
        (
            asked(compiler="llvm"),
            "compiler llvm was asked for, but the result is gcc@12.2.0",
        ),
        (
            asked(mpi="openmpi@5", compiler="gcc@13"),
            "but the result is mpich@5.0.2; compiler gcc@13 was asked for, but the result is gcc@12.2.0",
        ),
    ],
)
def test_another_result_is_refused(wanted, message):
    with pytest.raises(SpackError, match=message) as caught:
        require(LOCK, wanted)
    assert "delete it and concretize again" in str(caught.value) and "\n" not in str(
        caught.value
    )


def test_a_package_may_have_no_mpi_and_no_compiler(changed):
    path = changed(lambda data: root(data).update(dependencies=[]))
    assert read_lock(path).mpi is None
    assert read_lock(path).compiler is None
    message = (
        "MPI mpich was asked for, but the result is none; compiler gcc was asked "
        "for, but the result is none"
    )
    with pytest.raises(SpackError, match=message):
        require(path, asked(compiler="gcc"))


@pytest.mark.parametrize("version", [5, 7])
def test_another_format_is_refused(changed, version):
    path = changed(lambda data: data["_meta"].update({"lockfile-version": version}))
    with pytest.raises(
        SpackError,
        match=rf"format {version!r}, written by another Spack \(1\.1 writes 6\)",
    ):
        read_lock(path)


MPICH = "MPICH Version:      5.0.2"
OPEN_MPI = (
    "Open MPI v5.0.11, package: Open MPI user@host Distribution, ident: 5.0.11, repo rev: v5.0.11, Oct 02,"
    " 2025"
)
INTEL = "Intel(R) MPI Library 2021.18 for Linux* OS"
CRAY = "MPI VERSION    : CRAY MPICH version 8.1.28.15 (ANL base 3.4a2)"
SMPI = "SMPI Version 3.32. Copyright The SimGrid Team 2007-2022"


@pytest.mark.parametrize(
    "spec, reported",
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
def test_the_library_of_the_spec_does_not_contradict_it(spec, reported):
    assert contradiction(spec, reported) is None


@pytest.mark.parametrize(
    "spec, reported",
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
def test_another_library_contradicts_the_spec(spec, reported):
    message = contradiction(spec, reported)
    assert message.startswith(
        f"MPI: the program was built for {spec}, but the library at run time is '{reported[:30]}"
    )
    assert "the MPI's scope (packages.yaml" in message
    assert len(message.splitlines()) == 1
