# SPDX-License-Identifier: BSD-3-Clause
"""Reading real lock files, and the ways they break."""

import json

import pytest

from fabric_checks.software.spack import SpackError
from fabric_checks.software.spack.lock import parse_lock, read_lock, require
from tests.conftest import GOLDEN

LOCKS = sorted((GOLDEN / "spack").glob("*.lock.json"))
MPI = {
    "mpich": ("mpich", "5.0.2"),
    "openmpi": ("openmpi", "5.0.11"),
    "impi": ("intel-oneapi-mpi", "2021.18.1"),
}


def changed(change, name="intel-mpi-benchmarks.mpich"):
    """Return the text of a real lock after a change to its data."""
    data = json.loads((GOLDEN / f"spack/{name}.lock.json").read_text())
    change(data)
    return json.dumps(data)


@pytest.fixture
def lock():
    """Read the lock of IMB with MPICH."""
    return read_lock(GOLDEN / "spack/intel-mpi-benchmarks.mpich.lock.json")


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.name)
def test_real_locks(path):
    package, mpi = path.name.removesuffix(".lock.json").split(".")
    name, version = MPI[mpi]
    found = require(read_lock(path), package=package, mpi=f"{name}@{version}", compiler="gcc@12.2.0")
    assert found.spack == "1.1.0"
    assert found.mpi.prefix.startswith("/home/user/fabric/stacks/") and found.package.prefix is None
    assert found.package.target.startswith("x86_64") and len(found.package.hash) == 32
    assert found.compiler.prefix == "/usr"


def test_both_mpis_are_there():
    assert {path.name.split(".")[1] for path in LOCKS} >= {"mpich", "openmpi"}


def test_a_spec_in_one_line(lock):
    found = lock.concrete("intel-mpi-benchmarks")
    assert str(found) == (
        "intel-mpi-benchmarks@2021.7~check+ext+io+mpi1+mt+nbc+p2p+rma build_system=makefile "
        f"target={found.package.target} /{found.package.hash[:7]} %gcc@12.2.0 ^mpich@5.0.2"
    )


def test_flags_of_the_compiler_are_one_word():
    def flag(data):
        data["concrete_specs"][data["roots"][0]["hash"]]["parameters"].update(cflags=["-O3", "-g"], names=["is", "ft"])

    spec = str(parse_lock(changed(flag)).concrete("intel-mpi-benchmarks"))
    assert " cflags='-O3 -g' " in spec and " names=is,ft " in spec


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"version": "2021.7"},
        {"version": "2021"},
        {"version": "=2021.7"},
        {"mpi": "mpich"},
        {"mpi": "mpich@5.0.2"},
        {"mpi": "mpich@5"},
        {"mpi": "mpich@=5.0.2 ~fortran"},
        {"mpi": "mpich+slurm"},
        {"mpi": "mpich@4:"},
        {"compiler": "gcc"},
        {"compiler": "gcc@12.2"},
    ],
)
def test_what_was_asked_for_came_out(lock, asked):
    assert require(lock, package="intel-mpi-benchmarks", **asked).package.version == "2021.7"


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (
            {"version": "2021.8"},
            "intel-mpi-benchmarks@2021.8 was asked for, but the result is intel-mpi-benchmarks@2021.7",
        ),
        ({"version": "202"}, "intel-mpi-benchmarks@202 was asked for"),
        ({"mpi": "openmpi"}, "MPI openmpi was asked for, but the result is mpich@5.0.2"),
        ({"mpi": "mpich@4.1"}, "MPI mpich@4.1 was asked for, but the result is mpich@5.0.2"),
        ({"compiler": "llvm"}, "compiler llvm was asked for, but the result is gcc@12.2.0"),
        (
            {"mpi": "openmpi@5", "compiler": "gcc@13"},
            "but the result is mpich@5.0.2; compiler gcc@13 was asked for, but the result is gcc@12.2.0",
        ),
    ],
)
def test_what_was_not_asked_for_is_refused(lock, asked, message):
    with pytest.raises(SpackError, match=message) as caught:
        require(lock, package="intel-mpi-benchmarks", **asked)
    assert "delete spack.lock and concretize again" in str(caught.value) and "\n" not in str(caught.value)


def test_a_changed_scope_that_spack_ignored():
    """The transcript is of an install with a scope that asks for MPICH and a lock that has Open MPI."""
    played = (GOLDEN / "spack/install.old-lock.txt").read_text()
    assert "Error" not in played and "openmpi-5.0.11" in played and "mpich" not in played
    lock = read_lock(GOLDEN / "spack/intel-mpi-benchmarks.openmpi.lock.json")
    with pytest.raises(SpackError, match=r"MPI mpich@5\.0\.2 was asked for, but the result is openmpi@5\.0\.11"):
        require(lock, package="intel-mpi-benchmarks", mpi="mpich@5.0.2")


def test_another_package(lock):
    with pytest.raises(SpackError, match="lammps is not in it, which holds intel-mpi-benchmarks"):
        require(lock, package="lammps")
    # mpich is in the lock, but nobody asked for it by name.
    with pytest.raises(SpackError, match="mpich is not in it"):
        require(lock, package="mpich")


def test_a_package_twice(lock):
    twice = parse_lock(changed(lambda data: data["roots"].append(data["roots"][0])))
    with pytest.raises(SpackError, match="is in it more than once"):
        twice.concrete("intel-mpi-benchmarks")


def test_without_mpi_and_compiler():
    def strip(data):
        data["concrete_specs"][data["roots"][0]["hash"]]["dependencies"] = []

    lock = parse_lock(changed(strip))
    assert (lock.concrete("intel-mpi-benchmarks").mpi, lock.concrete("intel-mpi-benchmarks").compiler) == (None, None)
    with pytest.raises(
        SpackError,
        match="MPI mpich was asked for, but the result is none; compiler gcc was asked for, but the result is none",
    ):
        require(lock, package="intel-mpi-benchmarks", mpi="mpich", compiler="gcc")


def test_a_missing_lock(tmp_path):
    with pytest.raises(SpackError, match=r"spack\.lock: there is no such lock, so Spack concretized nothing"):
        read_lock(tmp_path / "spack.lock")


def test_a_lock_that_is_no_text(tmp_path):
    (tmp_path / "spack.lock").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SpackError, match="cannot be read"):
        read_lock(tmp_path / "spack.lock")


@pytest.mark.parametrize("path", LOCKS[:2], ids=lambda path: path.name)
def test_every_truncation_is_refused(path):
    text = path.read_text()
    for size in range(0, len(text), 397):
        with pytest.raises(SpackError, match="incomplete"):
            parse_lock(text[:size])


@pytest.mark.parametrize(
    "text", ["[]", "null", "3", '"x"', "{}", '{"_meta": {}}', '{"_meta": {"lockfile-version": 6}}']
)
def test_what_is_no_lock(text):
    with pytest.raises(SpackError, match="not a Spack lock") as caught:
        parse_lock(text)
    assert "\n" not in str(caught.value)


def test_another_format():
    for version in (5, 7, "6"):
        text = changed(lambda data, version=version: data["_meta"].update({"lockfile-version": version}))
        with pytest.raises(SpackError, match=rf"format {version!r}, written by another Spack \(1\.1 writes 6\)"):
            parse_lock(text)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data["roots"][0].update(hash="x"), "its root 'x' is missing"),
        (lambda data: data.update(concrete_specs={}), "is missing"),
        (lambda data: [s.pop("name") for s in data["concrete_specs"].values()], "not a Spack lock"),
        (lambda data: [s.update(version=7) for s in data["concrete_specs"].values()], "where a name or a version"),
        (lambda data: [s.pop("arch") for s in data["concrete_specs"].values()], "not a Spack lock"),
        (lambda data: data["concrete_specs"].pop(list(data["concrete_specs"])[-1]), "which is missing"),
        (lambda data: data.update(roots=None), "not a Spack lock"),
        (lambda data: data.pop("spack"), "not a Spack lock"),
    ],
)
def test_inconsistent_locks(change, message):
    with pytest.raises(SpackError, match=message):
        parse_lock(changed(change))


def test_a_target_without_a_generic_name(lock):
    key = lock.roots[0]

    def detail(data):
        data["concrete_specs"][key]["arch"]["target"] = {"name": "zen5", "vendor": "AuthenticAMD"}

    assert parse_lock(changed(detail)).concrete("intel-mpi-benchmarks").package.target == "zen5"
