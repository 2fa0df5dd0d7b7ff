# SPDX-License-Identifier: BSD-3-Clause
"""One package, built through the stand-in: what came out, what fails how, and that nothing is built twice."""

import json
import os
import subprocess
import sys
from dataclasses import asdict

import pytest

from fabric_checks.spack import SpackError
from fabric_checks.spack.build import BUILT, VIEW, build
from fabric_checks.spack.packages import PACKAGES
from fabric_checks.spack.scopes import Scopes
from tests.conftest import TESTS
from tests.spack.tape import FAILURES, LOCAL, Tape

COMMON = TESTS.parent / "spack-envs" / "common"
OSU = PACKAGES["osu-micro-benchmarks"]
FIRST = ["--version", "--repo", "concretize", "install", "location"]


@pytest.fixture
def tape(tmp_path, monkeypatch):
    found = Tape(tmp_path)
    monkeypatch.setenv("FABRIC_HOME", found.variables["FABRIC_HOME"])
    return found


def run(tape, folder="env", package="osu-micro-benchmarks", mpi="mpich"):
    """Build as the fixture does."""
    scopes = Scopes(LOCAL / mpi, tape.site, COMMON)
    return build(PACKAGES[package], scopes, tape.folder / folder, tape.variables, lambda line: None)


@pytest.mark.parametrize(
    ("package", "mpi"),
    [
        ("osu-micro-benchmarks", "mpich"),
        ("osu-micro-benchmarks", "openmpi"),
        ("intel-mpi-benchmarks", "impi"),
        ("lammps", "mpich"),
        ("npb", "openmpi"),
    ],
)
def test_what_was_built_is_said_in_full(tape, package, mpi, monkeypatch):
    monkeypatch.setenv("FABRIC_LAMMPS_INPUTS", "/bench")  # this old release has none
    tape.succeed(package, mpi)
    built = run(tape, package=package, mpi=mpi)
    assert tape.calls == FIRST
    assert built.rebuilt and built.package == package and len(built.hash) == 32
    assert built.spec.startswith(f"{package}@{built.version}")
    assert f"/{built.hash[:7]} %gcc@12.2.0 ^" in built.spec and built.spec.endswith("target=x86_64_v4")
    assert built.spack.startswith("1.1.0")
    assert set(built.seconds) == {"release", "concretize", "install"}
    folder = tape.folder / "env"
    assert json.loads((folder / BUILT).read_text()) == asdict(built)
    for name in PACKAGES[package].files("@3.4.3 names:=is"):
        assert (folder / VIEW / name).exists()


def test_the_environment_is_a_copy_with_rendered_scopes(tape):
    tape.succeed()
    run(tape)
    folder = tape.folder / "env"
    text = (folder / "scopes/environ/packages.yaml").read_text()
    assert f"prefix: {tape.folder}/home/stacks/mpich" in text and "${" not in text
    assert "github.com/spack/spack-packages" in (folder / "scopes/common/repos.yaml").read_text()
    assert not (OSU.environment / "spack.lock").exists()


def test_spack_sees_the_rendered_scopes_and_nothing_of_the_user(tape):
    tape.succeed()
    tape.write("install.sh", (tape.played / "install.sh").read_text() + f"env > {tape.folder}/seen\n")
    run(tape)
    seen = dict(line.split("=", 1) for line in (tape.folder / "seen").read_text().splitlines() if "=" in line)
    for name in ("environ", "site", "common"):
        assert seen[f"FABRIC_SPACK_{name.upper()}"] == str(tape.folder / "env/scopes" / name)
    assert seen["SPACK_DISABLE_LOCAL_CONFIG"] == "1"
    assert seen["SPACK_USER_CACHE_PATH"] == f"{tape.folder}/home/spack/user"


def test_all_cores_build(tape):
    tape.succeed()
    run(tape)
    (line,) = [line for line in tape.calls_file.read_text().splitlines() if " install " in line]
    assert line.split()[-2:] == ["-j", str(len(os.sched_getaffinity(0)))]


@pytest.mark.parametrize("failure", FAILURES, ids=lambda failure: failure.name)
def test_a_failure_says_what_and_what_to_do_and_leaves_nothing_that_looks_built(tape, failure):
    tape.succeed()
    if failure.word:
        tape.fail(failure.word, failure.transcript, failure.status)
    if failure.also:
        failure.also(tape)
    with pytest.raises(SpackError) as raised:
        run(tape)
    message = str(raised.value)
    for words in failure.says:
        assert words in message, message
    assert len(message.splitlines()) <= 9
    assert not (tape.folder / "env" / BUILT).exists()
    assert not list((tape.folder / "home").rglob(BUILT))


def test_after_a_failure_the_next_run_takes_up_where_it_stopped(tape):
    tape.succeed()
    tape.fail("install", "install.killed", -9)
    good = (tape.played / "install.sh").read_text()
    with pytest.raises(SpackError):
        run(tape)
    tape.succeed()
    tape.forget_calls()
    assert good != (tape.played / "install.sh").read_text()
    assert run(tape, "again").rebuilt
    assert tape.calls == ["--version", "--repo", "install", "location"]  # what was concretized is kept


def test_a_second_run_does_not_even_start_spack(tape):
    tape.succeed()
    first = run(tape)
    tape.forget_calls()
    second = run(tape, "other")
    assert tape.calls == []
    assert not second.rebuilt and (first.hash, first.spec) == (second.hash, second.spec)
    view = tape.folder / "other" / VIEW
    assert view.readlink().parent.parent.parent == tape.folder / "other"
    assert (view / OSU.files("")[0]).resolve().is_file()
    assert (tape.folder / "other/spack.lock").read_text() == (tape.folder / "env/spack.lock").read_text()


def test_the_same_folder_again(tape):
    tape.succeed()
    run(tape)
    assert not run(tape).rebuilt


CHANGES = {
    "the site's scope": lambda tape: (tape.site / "more.yaml").write_text("packages: {all: {target: [x86_64]}}\n"),
    "the package repository": lambda tape: (
        subprocess.run(["git", "-C", str(tape.repository), "tag", "-d", "v2026.06.0"], check=True, capture_output=True),
        tape.commit("v2026.06.0"),
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_has_changed_is_concretized_again(tape, change):
    tape.succeed()
    run(tape)
    tape.forget_calls()
    CHANGES[change](tape)
    assert run(tape, "other").rebuilt
    assert tape.calls == FIRST


def test_another_compiler_on_the_path_is_another_build(tape):
    tape.succeed()
    run(tape)
    tape.forget_calls()
    (tape.folder / "bin").mkdir()
    compiler = tape.folder / "bin/gcc"
    compiler.write_text("#!/bin/sh\necho gcc 99\n")
    compiler.chmod(0o755)
    variables = tape.variables | {"PATH": f"{tape.folder}/bin:{tape.variables['PATH']}"}
    build(OSU, Scopes(LOCAL / "mpich", tape.site, COMMON), tape.folder / "other", variables, lambda line: None)
    assert tape.calls == FIRST


LOSSES = {
    "an installed program": lambda tape: (tape.prefix / OSU.files("")[1]).unlink(),
    "a program that is not asked for by name": lambda tape: (
        tape.prefix / "libexec/osu-micro-benchmarks/mpi/pt2pt/osu_multi_lat"
    ).unlink(),
    "the installed package": lambda tape: subprocess.run(["rm", "-r", str(tape.prefix)], check=True),
    "the view": lambda tape: subprocess.run(["sh", "-c", f"rm -r {tape.folder}/home/spack/builds/*/.spack-env"]),
    "half of what is remembered": lambda tape: [
        path.write_text("{") for path in (tape.folder / "home/spack/builds").glob(f"*/{BUILT}")
    ],
    "the kept lock": lambda tape: [
        path.write_text("{}") for path in (tape.folder / "home/spack/builds").glob("*/spack.lock")
    ],
}


@pytest.mark.parametrize("loss", LOSSES)
def test_what_is_lost_is_installed_again(tape, loss):
    tape.succeed()
    run(tape)
    tape.forget_calls()
    LOSSES[loss](tape)
    built = run(tape, "other")
    assert built.rebuilt and "install" in tape.calls
    assert (tape.folder / "other" / VIEW / OSU.files("")[1]).resolve().is_file()


def test_a_kept_lock_that_was_tampered_with_is_not_used(tape):
    tape.succeed()
    run(tape)
    (kept,) = [path for path in (tape.folder / "home/spack/builds").glob("*/*.lock") if len(path.stem) == 40]
    kept.write_text((TESTS / "golden/spack/osu-micro-benchmarks.openmpi.lock.json").read_text())
    LOSSES["an installed program"](tape)
    tape.forget_calls()
    assert "^mpich" in run(tape, "other").spec
    assert "concretize" in tape.calls


def test_two_at_once_on_one_install_tree(tape):
    """Whole processes, several rounds: both are whole, whoever remembers last."""
    tape.succeed()
    script = (tape.played / "install.sh").read_text()
    tape.write("install.sh", f"sleep 0.2\nexec 9>{tape.folder}/lock && flock 9 || exit 1\n{script}")
    scopes = [f"--environ={LOCAL / 'mpich'}", f"--site={tape.site}"]
    command = [sys.executable, "-m", "fabric_checks", "spack", "build", OSU.name, *scopes]
    for number in range(3):
        subprocess.run(["sh", "-c", f"rm -rf {tape.folder}/home/spack"], check=True)
        folders = [tape.folder / f"env{number}{which}" for which in "ab"]
        both = [
            subprocess.Popen(
                [*command, str(folder)], env=tape.variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
            )
            for folder in folders
        ]
        for process in both:
            output, _ = process.communicate(timeout=60)
            assert process.returncode == 0, output
        for folder in folders:
            assert (folder / VIEW / OSU.files("")[0]).resolve().is_file()
        assert not run(tape, f"env{number}c").rebuilt


def test_no_spack_at_all(tape):
    variables = tape.variables | {"PATH": "/usr/bin:/bin"}
    with pytest.raises(SpackError, match=r"there is no Spack: neither below SPACK_ROOT, on PATH nor at .*ci/run"):
        build(OSU, Scopes(LOCAL / "mpich", tape.site, COMMON), tape.folder / "env", variables)


def test_no_release_asked_for(tape):
    (tape.site / "more.yaml").write_text("packages: {osu-micro-benchmarks: {require: '+papi'}}\n")
    (tape.site / "packages.yaml").unlink()
    tape.succeed()
    with pytest.raises(SpackError, match="no scope requires a release of osu-micro-benchmarks; write"):
        run(tape)
