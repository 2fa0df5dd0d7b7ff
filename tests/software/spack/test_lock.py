# SPDX-License-Identifier: BSD-3-Clause
"""Real lock files and damaged ones; and the MPI library that runs."""

import json

import pytest

from fabric_checks.software.spack.failure import SpackError
from fabric_checks.software.spack.lock import contradiction, read_lock
from tests.conftest import GOLDEN

LOCKS = sorted((GOLDEN / "spack").glob("*.lock.json"))
LOCK = GOLDEN / "spack/intel-mpi-benchmarks.mpich.lock.json"
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


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.name)
def test_a_real_lock_has_package_mpi_and_compiler(path):
    package, mpi, *_ = path.name.split(".")
    found = read_lock(path, "1.1.0")
    assert found.mpi == MPI[mpi] and found.spack == "1.1.0" and len(found.hash) == 32
    assert found.spec.startswith(f"{package}@{found.version} target=x86_64")
    assert found.spec.endswith(f" /{found.hash[:7]} %gcc@12.2.0 ^{found.mpi}")


def test_a_target_without_a_generic_name_is_in_the_spec(changed):
    def change(data):
        root(data)["arch"].update(target={"name": "zen5", "vendor": "AuthenticAMD"})

    assert " target=zen5 " in read_lock(changed(change), "1.1.0").spec


def test_a_package_may_have_no_mpi_and_no_compiler(changed):
    path = changed(lambda data: root(data).update(dependencies=[]))
    found = read_lock(path, "1.1.0")
    assert found.mpi == "" and "%" not in found.spec and "^" not in found.spec


@pytest.mark.parametrize("version", [5, 7])
def test_another_format_is_refused(changed, version):
    path = changed(lambda data: data["_meta"].update({"lockfile-version": version}))
    with pytest.raises(
        SpackError,
        match=rf"format {version!r}, written by another Spack \(1\.1 writes 6\)",
    ):
        read_lock(path, "1.1.0")


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
