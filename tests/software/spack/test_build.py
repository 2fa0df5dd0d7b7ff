# SPDX-License-Identifier: BSD-3-Clause
"""Packages built through the stand-in, their failures, and mirrors."""

import json
import re
import shutil
from dataclasses import asdict

import pytest

from fabric_checks.software import installed
from fabric_checks.software.spack.build import BUILT, VIEW, Environment, write_mirror
from fabric_checks.software.spack.failure import SpackError
from fabric_checks.software.spack.scopes import Scopes
from fabric_checks.software.suites import PACKAGES
from tests.calling import invoke
from tests.software.spack.tape import (
    COMMON,
    LOCAL,
    OSU,
    Tape,
    fail_to_compile,
    put,
)

CALLS = ["--version", "python", "concretize", "install"]


@pytest.mark.parametrize("named", [(), ("osu-micro-benchmarks",)])
def test_a_mirror_is_of_the_packages_named_or_of_all_but_those_for_gpus(
    tmp_path, monkeypatch, named
):
    asked = {}
    monkeypatch.setattr(
        "fabric_checks.cli.spack.write_mirror",
        lambda folder, **kept: asked.update(kept),
    )
    assert (
        invoke(
            "spack", "mirror", tmp_path, *(f"--package={name}" for name in named)
        ).exit_code
        == 0
    )
    everywhere = {"osu-micro-benchmarks", "intel-mpi-benchmarks", "lammps"}
    names = {name for name, package in PACKAGES.items() if package in asked["packages"]}
    assert (
        names == set(named)
        if named
        else names >= everywhere and "nccl-tests" not in names
    )


@pytest.fixture
def tape(tmp_path, monkeypatch):
    found = Tape(tmp_path)
    monkeypatch.setenv("FABRIC_HOME", found.variables["FABRIC_HOME"])
    found.succeed()
    return found


def run(
    tape,
    folder="env",
    package=OSU,
    mpi="mpich",
    progress=lambda line: None,
    **variables,
):
    scopes = Scopes(LOCAL / mpi, tape.site, COMMON)
    return Environment.prepared(
        package, scopes, tape.folder / folder, tape.variables | variables, progress
    ).build()


@pytest.mark.parametrize(
    "package, mpi",
    [
        ("osu-micro-benchmarks", "mpich"),
        ("intel-mpi-benchmarks", "impi"),
        ("lammps", "mpich"),
        ("npb", "openmpi"),
    ],
)
def test_the_result_of_a_build_is_described_in_full(tape, package, mpi, monkeypatch):
    monkeypatch.setenv("FABRIC_LAMMPS_INPUTS", "/bench")  # this old release has none
    tape.succeed(package, mpi)
    built = run(tape, package=PACKAGES[package], mpi=mpi)
    assert tape.calls == CALLS
    assert len(built.hash) == 32 and built.spack.startswith("1.1.0")
    assert built.spec.startswith(f"{package}@{built.version}")
    assert f" target=x86_64_v4 /{built.hash[:7]} %gcc@12.2.0 ^{built.mpi}" in built.spec
    folder = tape.folder / "env"
    assert json.loads((folder / BUILT).read_text()) == asdict(built)
    for name in PACKAGES[package].files("@3.4.3 names:=is"):
        assert (folder / VIEW / name).exists()


def test_an_environment_is_a_copy_with_rendered_scopes(tape):
    run(tape)
    folder = tape.folder / "env"
    text = (folder / "scopes/environ/packages.yaml").read_text()
    assert f"prefix: {installed.folder('mpich')}" in text and "${" not in text
    assert (
        "github.com/spack/spack-packages"
        in (folder / "scopes/common/repos.yaml").read_text()
    )
    assert not (OSU.environment / "spack.lock").exists()


def without_init(tape):
    """Install everything but one program, and succeed, as the recipe of NPB does."""
    script = (tape.played / "install.sh").read_text()
    tape.write(
        "install.sh",
        script.replace("libexec/osu-micro-benchmarks/mpi/startup/osu_init", ""),
    )


@pytest.mark.parametrize(
    "play, message",
    [
        (
            lambda tape: tape.fail("concretize", "concretize.unsatisfiable", 1),
            "Cannot build mpich.*When Spack fails",
        ),
        (
            lambda tape: tape.fail("python", "concretize.no-repository", 1),
            "No repo.yaml found.*When Spack fails",
        ),
        (fail_to_compile, "error:.*spack-build-out.txt.*When Spack fails"),
        (
            lambda tape: tape.fail("install", "install.killed", -9),
            "ended with exit status -9.*Executing phase",
        ),
        (without_init, "installed without libexec/.*/startup/osu_init.*build log"),
        (
            lambda tape: tape.commit(),
            "where release v2026.06.0 of spack-packages, commit d4f7c711a6a4, is needed",
        ),
        (
            lambda tape: shutil.rmtree(tape.repository / ".git"),
            "no Git clone, where release v2026.06.0",
        ),
    ],
)
def test_a_failure_has_cause_and_remedy_and_no_result(tape, play, message):
    """The texts are in `test_failure.py`; here is one for each call that can fail, and all else."""
    play(tape)
    with pytest.raises(SpackError) as raised:
        run(tape)
    assert re.search(message, str(raised.value), re.DOTALL), raised.value
    assert len(str(raised.value).splitlines()) <= 10
    assert not (tape.folder / "env" / BUILT).exists()


def test_a_later_failure_leaves_no_result_of_an_earlier_build(tape):
    run(tape)
    tape.fail("install", "install.killed", -9)
    with pytest.raises(SpackError):
        run(tape)
    assert not (tape.folder / "env" / BUILT).exists()


URL = "https://me:t0ken@example.invalid/spack-packages.git"


def test_a_token_reaches_git_alone(tape):
    """Neither Spack's output nor the variables that Spack writes into a file of every build hold it."""
    for word in ("python", "concretize", "install"):
        tape.write(f"{word}.txt", f"fatal: cannot access '{URL}?private_token=t0ken'\n")
    script = (tape.played / "install.sh").read_text()
    tape.write("install.sh", f"{script}env > {tape.folder}/install.env\n")
    run(tape, FABRIC_SPACK_URL=URL)
    written = [
        path
        for path in tape.folder.rglob("*")
        if path.is_file() and tape.played not in path.parents
    ]
    assert {"concretize.txt", "install.txt", "install.env", "repos.yaml"} <= {
        path.name for path in written
    }
    assert [path for path in written if b"t0ken" in path.read_bytes()] == []
    tape.write("python.status", "1\n")
    with pytest.raises(SpackError) as raised:
        run(tape)
    assert "://***@example.invalid" in str(raised.value) and "t0ken" not in str(
        raised.value
    )


def test_credentials_of_the_package_repository_are_refused(tape):
    with pytest.raises(
        SpackError,
        match="FABRIC_SPACK_PACKAGES_URL holds credentials.*credential helper of Git",
    ) as raised:
        run(tape, FABRIC_SPACK_PACKAGES_URL=URL)
    assert "t0ken" not in str(raised.value) and not (tape.folder / "env").exists()
    run(tape, FABRIC_SPACK_PACKAGES_URL="ssh://git@host/spack-packages.git")


def test_half_a_clone_of_the_repository_is_named(tape):
    """Spack only warns, and knows no package afterwards."""
    tape.write("python.json", "\n")
    tape.write(
        "python.txt",
        "fatal: unable to access 'https://host/x.git/'\n==> Warning: Error constructing repository '/half':"
        " no\n",
    )
    with pytest.raises(SpackError) as raised:
        run(tape)
    message = str(raised.value)
    assert message.startswith("Spack ended with exit status 0")
    assert "repository '/half'" in message


# Mirrors


def mirror(tape, names=(OSU.name,)):
    lines = []
    write_mirror(
        tape.folder / "mirror",
        packages=[PACKAGES[name] for name in names],
        scopes={"mpich": Scopes(LOCAL / "mpich", tape.site, COMMON)},
        work=tape.folder / "work",
        variables=tape.variables,
        progress=lines.append,
    )
    return lines


def test_a_mirror_gets_the_sources_of_the_lock(tape):
    lines = mirror(tape)
    assert tape.calls == ["--version", "python", "concretize", "mirror"]
    assert (
        tape.calls_file.read_text()
        .splitlines()[-1]
        .endswith(f"mirror create --directory {tape.folder}/mirror --all")
    )
    assert (
        lines[-1]
        == f"osu-micro-benchmarks for mpich: sources are in {tape.folder}/mirror"
    )


def test_a_package_that_the_site_excludes_is_left_out(tape):
    put(tape.site / "more.yaml", "packages: {npb: {buildable: false}}\n")
    lines = mirror(tape, names=("npb",))
    assert tape.calls == [] and "npb for mpich is left out" in lines[0]


def test_a_missing_source_is_named_with_the_package(tape):
    tape.fail("mirror", "install.no-source", 1)
    with pytest.raises(
        SpackError,
        match=r"(?s)mirror is not complete: osu\S+ for mpich: Spack .*All fetchers failed",
    ):
        mirror(tape)
