# SPDX-License-Identifier: BSD-3-Clause
"""Packages built through the stand-in, their failures, and mirrors."""

import json
import subprocess
from dataclasses import asdict

import pytest

from fabric_checks.software import installed
from fabric_checks.software.spack.build import BUILT, VIEW, Environment, write_mirror
from fabric_checks.software.spack.failure import SpackError
from fabric_checks.software.spack.scopes import Scopes
from fabric_checks.software.suites import PACKAGES
from tests.conftest import GOLDEN
from tests.software.spack.tape import COMMON, FAILURES, LOCAL, OSU, Tape, cache, put

CALLS = ["--version", "configured", "concretize", "install", "installed"]


@pytest.fixture
def tape(tmp_path, monkeypatch):
    found = Tape(tmp_path)
    monkeypatch.setenv("FABRIC_HOME", found.variables["FABRIC_HOME"])
    found.succeed()
    return found


def run(tape, folder="env", package=OSU, mpi="mpich", progress=lambda line: None, **variables):
    scopes = Scopes(LOCAL / mpi, tape.site, COMMON)
    return Environment.prepared(package, scopes, tape.folder / folder, tape.variables | variables, progress).build()


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
    assert "github.com/spack/spack-packages" in (folder / "scopes/common/repos.yaml").read_text()
    assert not (OSU.environment / "spack.lock").exists()


@pytest.mark.parametrize("failure", FAILURES, ids=lambda failure: failure.name)
def test_a_failure_has_cause_and_remedy_and_no_result(tape, failure):
    failure.play(tape)
    with pytest.raises(SpackError) as raised:
        run(tape)
    message = str(raised.value)
    for text in failure.says:
        assert text in message, message
    assert len(message.splitlines()) <= 9
    assert not (tape.folder / "env" / BUILT).exists()


def test_a_later_failure_leaves_no_result_of_an_earlier_build(tape):
    run(tape)
    tape.fail("install", "install.killed", -9)
    with pytest.raises(SpackError):
        run(tape)
    assert not (tape.folder / "env" / BUILT).exists()


def test_progress_names_the_logs(tape):
    stage = "gmake-4.4.1-akxei67c446vtxnvx5v4etsz67iwqpef"
    tape.write("install.txt", f"==> Installing {stage} [1/2]\n==> gmake: Executing phase: 'build'\n")
    lines = []
    run(tape, progress=lines.append)
    assert f"to follow it: tail -f {tape.folder}/env/install.txt" in lines[1]
    assert lines[2:4] == [
        f"{stage}: its log is /stage/spack-stage-{stage}/spack-build-out.txt",
        "gmake: Executing phase: 'build'",
    ]


def test_the_log_grows_during_a_build(tape):
    """The first line is in the log before the second is printed: the stand-in waits for it."""
    log = tape.folder / "env/install.txt"
    good = (tape.played / "install.sh").read_text()
    tape.write("install.sh", f"echo first\nuntil grep -q first {log}; do sleep 0.05; done\necho second\n{good}")
    run(tape)
    assert log.read_text().splitlines()[-2:] == ["first", "second"]


@pytest.mark.parametrize(("signed", "unverified"), [(False, [OSU.name]), (True, [])])
def test_a_package_from_an_unsigned_build_cache_is_named(tape, signed, unverified):
    cache(tape)
    tape.configure(mirrors={"site": {"url": "https://x", "signed": signed}, "public": "https://y"})
    lines = []
    assert run(tape, progress=lines.append).unverified == unverified
    assert (f"{OSU.name} is from a build cache; its signature was not checked" in lines) == bool(unverified)


def test_a_token_reaches_git_alone(tape):
    """Not the scopes, not Spack's output, not the variables that Spack writes into a file of every build."""
    url = "https://me:t0ken@example.invalid/spack-packages.git"
    for word in ("configured", "concretize", "install"):
        tape.write(f"{word}.txt", f"fatal: cannot access '{url}?private_token=t0ken'\n")
    for word in ("concretize", "install"):
        script = (tape.played / f"{word}.sh").read_text() if word == "install" else ""
        tape.write(f"{word}.sh", f"{script}env > {tape.folder}/{word}.env\n")
    urls = {"FABRIC_SPACK_PACKAGES_URL": url, "FABRIC_SPACK_URL": url}
    lines = []
    run(tape, progress=lines.append, **urls)
    written = [path for path in tape.folder.rglob("*") if path.is_file() and tape.played not in path.parents]
    assert {"concretize.txt", "install.txt", "install.env", "repos.yaml"} <= {path.name for path in written}
    assert [path for path in written if b"t0ken" in path.read_bytes()] == []
    assert "t0ken" not in "".join(lines)
    repositories = (tape.folder / "env/scopes/common/repos.yaml").read_text()
    assert "git: https://example.invalid/spack-packages.git" in repositories
    tape.write("configured.status", "1\n")
    with pytest.raises(SpackError) as raised:
        run(tape, **urls)
    assert "://***@example.invalid" in str(raised.value) and "t0ken" not in str(raised.value)


def test_nothing_of_an_external_can_be_damaged(tape):
    tape.write("installed.sh", "echo []\n")
    assert run(tape).unverified == []


def test_half_a_clone_of_the_repository_is_named(tape):
    """Spack only warns, and knows no package afterwards."""
    tape.configure(repositories={})
    tape.write(
        "configured.txt",
        "fatal: unable to access 'https://host/x.git/'\n==> Warning: Error constructing repository '/half': no\n",
    )
    with pytest.raises(SpackError) as raised:
        run(tape)
    lines = str(raised.value).splitlines()
    assert lines[:2] == ["Spack: no package repository", "  fatal: unable to access 'https://host/x.git/'"]
    assert "'/half'" in lines[2] and "delete the folder named" in lines[3]


def test_a_missing_repository_of_the_site_is_an_error(tape):
    tape.write("configured.txt", "==> Warning: Error constructing repository '/mine': No repo.yaml found in '/mine'\n")
    with pytest.raises(SpackError, match="no package repository\n  ==> Warning: Error constructing repository '/mine'"):
        run(tape)


def test_git_is_needed(tape):
    (tape.folder / "bin").mkdir()
    with pytest.raises(SpackError, match=r"^Spack: git is missing\nTo do: install git, or load its module"):
        run(tape, PATH=f"{tape.program.parent}:{tape.folder}/bin")


@pytest.mark.parametrize(
    "damage",
    [
        lambda tape: (tape.prefix / OSU.files("")[1]).unlink(),
        lambda tape: (tape.prefix / "libexec/osu-micro-benchmarks/mpi/pt2pt/osu_multi_lat").unlink(),
        lambda tape: subprocess.run(["rm", "-r", str(tape.prefix)], check=True),
        lambda tape: (tape.prefix / OSU.files("")[1]).write_text(""),
    ],
    ids=["a program", "a program that is not required", "the prefix", "the content of a program"],
)
def test_a_damaged_package_is_installed_again(tape, damage):
    run(tape)
    tape.forget_calls()
    damage(tape)
    built = run(tape, "other")
    assert tape.calls == [*CALLS, "install", "installed"]
    (overwritten,) = [line for line in tape.calls_file.read_text().splitlines() if "--overwrite --yes-to-all" in line]
    assert overwritten.endswith(f" /{built.hash}")
    assert (tape.folder / "other" / VIEW / OSU.files("")[1]).resolve().is_file()


# Mirrors

CONCRETIZE = """case $1 in
*osu*) cp {golden}/osu-micro-benchmarks.mpich.lock.json "$1/spack.lock" ;;
*intel*) cp {golden}/intel-mpi-benchmarks.mpich.lock.json "$1/spack.lock" ;;
esac
"""


def mirror(tape, names=(OSU.name,), build_cache=False, lines=None):
    lines = [] if lines is None else lines
    write_mirror(
        tape.folder / "mirror",
        packages=[PACKAGES[name] for name in names],
        scopes={"mpich": Scopes(LOCAL / "mpich", tape.site, COMMON)},
        work=tape.folder / "work",
        variables=tape.variables,
        build_cache=build_cache,
        progress=lines.append,
    )
    return lines


def test_a_mirror_gets_the_sources_of_the_lock(tape):
    lines = mirror(tape)
    assert tape.calls == ["--version", "configured", "concretize", "mirror"]
    assert (
        tape.calls_file.read_text().splitlines()[-1].endswith(f"mirror create --directory {tape.folder}/mirror --all")
    )
    assert lines[-1] == f"osu-micro-benchmarks for mpich: sources are in {tape.folder}/mirror"


def test_a_build_cache_follows_the_sources(tape):
    mirror(tape, build_cache=True)
    assert [word for word in tape.calls if word in ("mirror", "install", "buildcache")] == [
        "mirror",
        "install",
        "buildcache",
    ]
    last = tape.calls_file.read_text().splitlines()[-1]
    assert last.endswith(f"buildcache push --unsigned --update-index file://{tape.folder}/mirror")


def test_a_package_that_the_site_excludes_is_left_out(tape):
    put(tape.site / "more.yaml", "packages: {npb: {buildable: false}}\n")
    lines = mirror(tape, names=("npb",))
    assert tape.calls == [] and "npb for mpich is left out" in lines[0]


def test_a_missing_source_does_not_stop_the_other_packages(tape):
    """The first of two packages fails; the sources of the other one are fetched."""
    tape.fail("mirror", "install.no-source", 1)
    fetched = tape.folder / "fetched"
    tape.write("mirror.sh", f'case $1 in *intel*) touch {fetched}; rm "$SPACK_PLAYBACK/mirror.status" ;; esac\n')
    tape.write("concretize.sh", CONCRETIZE.format(golden=GOLDEN / "spack"))
    lines = []
    with pytest.raises(SpackError) as raised:
        mirror(tape, (OSU.name, "intel-mpi-benchmarks"), lines=lines)
    message = str(raised.value).splitlines()
    assert message[0] == f"{tape.folder}/mirror: 1 of 2 are missing or incomplete; the others are complete"
    assert message[1].startswith("osu-micro-benchmarks for mpich: Spack: ") and message[-2].startswith("To do: ")
    assert fetched.exists() and lines[-1].startswith("intel-mpi-benchmarks for mpich: sources are in")
    assert f"osu-micro-benchmarks for mpich is NOT complete in {tape.folder}/mirror" in lines


def test_a_failed_build_leaves_its_sources_in_the_mirror(tape):
    tape.fail("install", "install.checksum", 1)
    with pytest.raises(SpackError, match="1 of 1 are missing or incomplete"):
        mirror(tape, build_cache=True)
    assert "mirror" in tape.calls and "buildcache" not in tape.calls
