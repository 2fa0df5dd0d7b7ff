# SPDX-License-Identifier: BSD-3-Clause
"""One package, built through the stand-in: what came out, what fails how, and that nothing is built twice."""

import json
import os
import subprocess
import sys
from dataclasses import asdict
from types import SimpleNamespace

import pytest

from fabric_checks.core import locks
from fabric_checks.software import installed
from fabric_checks.software.spack import SpackError
from fabric_checks.software.spack.build import BUILT, VIEW, Times, build
from fabric_checks.software.spack.packages import PACKAGES
from fabric_checks.software.spack.scopes import Scopes
from tests.conftest import TESTS
from tests.guard import GUARD_S
from tests.software.spack.tape import FAILURES, LOCAL, Tape, cache

COMMON = TESTS.parent / "spack-envs" / "common"
OSU = PACKAGES["osu-micro-benchmarks"]
FIRST = ["decides", "concretize", "install", "installed"]


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
    assert f" target=x86_64_v4 /{built.hash[:7]} %gcc@12.2.0 ^{built.mpi}" in built.spec
    assert built.spack.startswith("1.1.0")
    assert set(built.seconds) == {"concretize", "install"}
    folder = tape.folder / "env"
    assert json.loads((folder / BUILT).read_text()) == asdict(built)
    for name in PACKAGES[package].files("@3.4.3 names:=is"):
        assert (folder / VIEW / name).exists()


def test_the_environment_is_a_copy_with_rendered_scopes(tape):
    tape.succeed()
    run(tape)
    folder = tape.folder / "env"
    text = (folder / "scopes/environ/packages.yaml").read_text()
    assert f"prefix: {installed.folder('mpich')}" in text and "${" not in text
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


def test_a_step_takes_what_has_passed_since_the_one_before(monkeypatch):
    clock = iter([100.0, 102.5, 106.004])
    stand_in = SimpleNamespace(monotonic=lambda: next(clock))
    monkeypatch.setattr("fabric_checks.software.spack.build.time", stand_in)
    times = Times()
    times.note("concretize")
    times.note("install")
    assert times.steps == {"concretize": 2.5, "install": 3.5}


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
    assert tape.calls == ["decides", "install", "installed"]  # what was concretized is kept


def test_a_second_run_asks_spack_what_decides_and_nothing_else(tape):
    tape.succeed()
    first = run(tape)
    tape.forget_calls()
    second = run(tape, "other")
    assert tape.calls == ["decides"]
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
    "the instance's own scope": lambda tape: put(tape.root / "etc/spack/packages.yaml", "packages: {}\n"),
    "a scope that the instance includes": lambda tape: put(tape.root / "etc/spack/site/all.yaml", "packages: {}\n"),
    "a recipe of the site's": lambda tape: put(tape.folder / "mine/packages/osu/package.py", "class Osu: x = 2\n"),
    "a new recipe of the site's": lambda tape: put(
        tape.folder / "mine/packages/gmake/package.py", "class Gmake: ...\n"
    ),
    "another repository": lambda tape: tape.write(
        "repositories", f"mine {tape.folder}/mine\n" + (tape.played / "repositories").read_text()
    ),
    "the release of Spack": lambda tape: tape.write("--version.txt", "1.2.0 (abc)\n"),
}


def put(path, text):
    """Write a file and the folders it needs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.parametrize("change", CHANGES)
def test_what_has_changed_is_concretized_again(tape, change):
    tape.succeed()
    put(tape.folder / "mine/packages/osu/package.py", "class Osu: x = 1\n")
    tape.write("repositories", f"mine {tape.folder}/mine\nbuiltin {tape.repository}\n")
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


@pytest.mark.parametrize("name", ["edited recipe", "added recipe", "moved tag"])
def test_what_was_built_is_not_taken_over_with_another_builtin_repository(tape, name):
    tape.succeed()
    run(tape)
    (failure,) = [each for each in FAILURES if each.name == name]
    failure.also(tape)
    with pytest.raises(SpackError, match="is needed; that tag was moved there|differs from release"):
        run(tape, "other")


def test_where_sources_come_from_decides_nothing(tape):
    tape.succeed()
    run(tape)
    tape.write("mirrors", '{"fabric-checks": {"url": "file:///media", "signed": false}}')
    assert not run(tape, "other").rebuilt


def test_what_python_leaves_in_a_repository_is_no_change(tape):
    tape.succeed()
    tape.write("repositories", f"mine {tape.folder}/mine\nbuiltin {tape.repository}\n")
    put(tape.folder / "mine/packages/osu/package.py", "class Osu: x = 1\n")
    run(tape)
    put(tape.folder / "mine/packages/osu/__pycache__/package.cpython-311.pyc", "x")
    assert not run(tape, "other").rebuilt


def test_a_build_says_how_far_it_is_and_where_its_words_go(tape):
    tape.succeed()
    stage = "gmake-4.4.1-akxei67c446vtxnvx5v4etsz67iwqpef"
    tape.write("install.txt", f"==> Installing {stage} [1/2]\n==> gmake: Executing phase: 'build'\n")
    said = []
    build(OSU, Scopes(LOCAL / "mpich", tape.site, COMMON), tape.folder / "env", tape.variables, said.append)
    assert f"to follow it: tail -f {tape.folder}/env/install.txt" in said[1]
    assert said[2:4] == [
        f"{stage}: its log is /stage/spack-stage-{stage}/spack-build-out.txt",
        "gmake: Executing phase: 'build'",
    ]


def test_the_log_grows_while_it_is_built(tape):
    """The first line is in the log before the second is printed: the stand-in waits for it."""
    tape.succeed()
    log = tape.folder / "env/install.txt"
    good = (tape.played / "install.sh").read_text()
    tape.write("install.sh", f"echo first\nuntil grep -q first {log}; do sleep 0.05; done\necho second\n{good}")
    run(tape)
    assert log.read_text().splitlines()[-2:] == ["first", "second"]


def test_what_came_from_a_build_cache_without_a_signature_is_named(tape):
    tape.succeed()
    cache(tape)
    said = []
    scopes = Scopes(LOCAL / "mpich", tape.site, COMMON)
    variables = tape.variables | {"FABRIC_SPACK_MIRROR": str(tape.folder)}
    built = build(OSU, scopes, tape.folder / "env", variables, said.append)
    assert built.unverified == [OSU.name]
    assert f"{OSU.name} is from a build cache; its signature was not checked" in said
    assert build(OSU, scopes, tape.folder / "other", variables, said.append).unverified == [OSU.name]
    assert json.loads((tape.folder / "other" / BUILT).read_text())["unverified"] == [OSU.name]


@pytest.mark.parametrize(("signed", "unverified"), [("false", [OSU.name]), ("true", [])])
def test_a_mirror_of_the_site_may_be_signed(tape, signed, unverified):
    tape.succeed()
    tape.write("mirrors", f'{{"site": {{"url": "https://x", "signed": {signed}}}, "public": "https://y"}}')
    cache(tape)
    assert run(tape).unverified == unverified


def test_a_build_waits_for_no_other_for_ever(tape, monkeypatch):
    tape.succeed()
    run(tape)
    (lock,) = tape.folder.rglob(".lock")
    monkeypatch.setattr(locks, "WRITER_WAIT_S", 0)
    with locks.exclusive(lock, 0), pytest.raises(locks.LockedError, match="locked by process"):
        run(tape)


def test_a_token_reaches_git_alone(tape):
    """Not the scopes, not Spack's output, not what Spack writes down of its variables beside every build."""
    tape.succeed()
    url = "https://me:t0ken@example.invalid/spack-packages.git"
    for word in ("decides", "concretize", "install"):
        tape.write(f"{word}.txt", f"fatal: cannot access '{url}?private_token=t0ken'\n")
    for word in ("concretize", "install"):
        script = (tape.played / f"{word}.sh").read_text() if word == "install" else ""
        tape.write(f"{word}.sh", f"{script}env > {tape.folder}/{word}.env\n")
    variables = tape.variables | {"FABRIC_SPACK_PACKAGES_URL": url, "FABRIC_SPACK_URL": url}
    scopes = Scopes(LOCAL / "mpich", tape.site, COMMON)
    said = []
    build(OSU, scopes, tape.folder / "env", variables, said.append)
    seen = [path for path in tape.folder.rglob("*") if path.is_file() and tape.played not in path.parents]
    assert {"concretize.txt", "install.txt", "install.env", "repos.yaml"} <= {path.name for path in seen}
    assert [path for path in seen if b"t0ken" in path.read_bytes()] == []
    assert "t0ken" not in "".join(said)
    assert (
        "git: https://example.invalid/spack-packages.git" in (tape.folder / "env/scopes/common/repos.yaml").read_text()
    )
    tape.write("decides.status", "1\n")
    with pytest.raises(SpackError) as raised:
        build(OSU, scopes, tape.folder / "env", variables, said.append)
    assert "://***@example.invalid" in str(raised.value) and "t0ken" not in str(raised.value)


def test_a_package_that_the_site_has_as_an_external(tape):
    """Nothing of it is Spack's, so nothing can be lost of it."""
    tape.succeed()
    lock = json.loads((tape.played / "concretize.lock").read_text())
    lock["concrete_specs"][lock["roots"][0]["hash"]]["external"] = {"path": "/apps/osu"}
    tape.write("concretize.lock", json.dumps(lock))
    tape.write("installed.sh", "echo []\n")
    assert run(tape).prefix == "/apps/osu"


def test_a_repository_that_cannot_be_cloned(tape):
    """Spack only warns, and knows no package afterwards; half a clone stays."""
    tape.write("repositories", "")
    said = "fatal: unable to access 'https://host/x.git/'\n==> Warning: Error constructing repository '/half': no\n"
    tape.write("decides.txt", said)
    with pytest.raises(SpackError) as raised:
        run(tape)
    lines = str(raised.value).splitlines()
    assert lines[:2] == ["Spack: no package repository", "  fatal: unable to access 'https://host/x.git/'"]
    assert "'/half'" in lines[2] and "delete the folder named" in lines[3]


def test_a_repository_of_the_site_that_spack_does_without(tape):
    tape.write("decides.txt", "==> Warning: Error constructing repository '/mine': No repo.yaml found in '/mine'\n")
    with pytest.raises(SpackError, match="no package repository\n  ==> Warning: Error constructing repository '/mine'"):
        run(tape)


def test_no_git(tape):
    (tape.folder / "bin").mkdir()
    variables = tape.variables | {"PATH": f"{tape.root}/bin:{tape.folder}/bin"}
    with pytest.raises(SpackError, match=r"^Spack: git is missing\nTo do: install git, or load its module"):
        build(OSU, Scopes(LOCAL / "mpich", tape.site, COMMON), tape.folder / "env", variables)


def test_the_spack_that_was_brought_is_the_pinned_commit(tape):
    tape.succeed()
    brought = tape.folder / "home/parts" / installed.folder("spack").name
    brought.parent.mkdir(parents=True)
    tape.root.rename(brought)
    tape.write("--version.txt", "1.1.0 (0000007202bcc8209a6a62243aab50c179b524cc)\n")
    with pytest.raises(SpackError, match=r"commit '0000007202bcc\w+' instead of 2e907202bcc\w+.*the tag was moved"):
        run(tape)
    tape.write("--version.txt", "1.1.0 (2e907202bcc8209a6a62243aab50c179b524cc3b)\n")
    assert run(tape).rebuilt


LOSSES = {
    "an installed program": lambda tape: (tape.prefix / OSU.files("")[1]).unlink(),
    "a program that is not asked for by name": lambda tape: (
        tape.prefix / "libexec/osu-micro-benchmarks/mpi/pt2pt/osu_multi_lat"
    ).unlink(),
    "the installed package": lambda tape: subprocess.run(["rm", "-r", str(tape.prefix)], check=True),
    "the end of a program": lambda tape: (tape.prefix / OSU.files("")[1]).write_text(""),
    "the list of installed files": lambda tape: (tape.prefix / ".spack/install_manifest.json").unlink(),
    "half of the list of installed files": lambda tape: (tape.prefix / ".spack/install_manifest.json").write_text("{"),
    "the view": lambda tape: subprocess.run(["sh", "-c", f"rm -r {tape.folder}/home/spack/builds/*/.spack-env"]),
    "half of what is remembered": lambda tape: [
        path.write_text("{") for path in (tape.folder / "home/spack/builds").glob(f"*/{BUILT}")
    ],
    "the kept lock": lambda tape: [
        path.write_text("{}") for path in (tape.folder / "home/spack/builds").glob("*/spack.lock")
    ],
}

#: These Spack takes for installed.
IN_PREFIX = [loss for loss in LOSSES if "program" in loss or "package" in loss]


@pytest.mark.parametrize("loss", LOSSES)
def test_what_is_lost_is_installed_again(tape, loss):
    tape.succeed()
    run(tape)
    tape.forget_calls()
    LOSSES[loss](tape)
    built = run(tape, "other")
    assert built.rebuilt and "install" in tape.calls
    overwritten = [line for line in tape.calls_file.read_text().splitlines() if "--overwrite --yes-to-all" in line]
    assert [line.split()[-1] for line in overwritten] == ([f"/{built.hash}"] if loss in IN_PREFIX else [])
    assert (tape.folder / "other" / VIEW / OSU.files("")[1]).resolve().is_file()


def test_a_kept_lock_that_was_tampered_with_is_not_used(tape):
    tape.succeed()
    run(tape)
    (kept,) = (tape.folder / "home/spack/builds").glob("*/concretized.lock")
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
            output, _ = process.communicate(timeout=GUARD_S)
            assert process.returncode == 0, output
        for folder in folders:
            assert (folder / VIEW / OSU.files("")[0]).resolve().is_file()
        assert not run(tape, f"env{number}c").rebuilt


def test_no_spack_at_all(tape):
    variables = tape.variables | {"PATH": "/usr/bin:/bin"}
    with pytest.raises(SpackError, match=r"Spack is missing: neither below SPACK_ROOT, on PATH nor at .*ci/run"):
        build(OSU, Scopes(LOCAL / "mpich", tape.site, COMMON), tape.folder / "env", variables)


def test_no_release_asked_for(tape):
    (tape.site / "more.yaml").write_text("packages: {osu-micro-benchmarks: {require: '+papi'}}\n")
    (tape.site / "packages.yaml").unlink()
    tape.succeed()
    with pytest.raises(SpackError, match="no scope requires a release of osu-micro-benchmarks; write"):
        run(tape)
