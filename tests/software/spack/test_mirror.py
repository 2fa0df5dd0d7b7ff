# SPDX-License-Identifier: BSD-3-Clause
"""The mirror: what Spack is told to do for each package and MPI, and what ends it."""

import pytest

from fabric_checks.software.spack import SpackError, mirror
from fabric_checks.software.spack.packages import PACKAGES
from fabric_checks.software.spack.scopes import Scopes
from tests.conftest import GOLDEN, TESTS
from tests.software.spack.tape import LOCAL, Tape

COMMON = TESTS.parent / "spack-envs" / "common"


@pytest.fixture
def tape(tmp_path, monkeypatch):
    found = Tape(tmp_path)
    monkeypatch.setenv("FABRIC_HOME", found.variables["FABRIC_HOME"])
    found.succeed()
    return found


CONCRETIZE = """case $1 in
*osu*) cp {golden}/osu-micro-benchmarks.mpich.lock.json "$1/spack.lock" ;;
*intel*) cp {golden}/intel-mpi-benchmarks.mpich.lock.json "$1/spack.lock" ;;
esac
"""


def write(tape, names=("osu-micro-benchmarks",), build_cache=False, said=None):
    said = [] if said is None else said
    mirror.write(
        tape.folder / "mirror",
        packages=[PACKAGES[name] for name in names],
        scopes={"mpich": Scopes(LOCAL / "mpich", tape.site, COMMON)},
        work=tape.folder / "work",
        variables=tape.variables,
        build_cache=build_cache,
        say=said.append,
    )
    return said


def test_sources_of_everything_that_was_concretized(tape):
    said = write(tape)
    assert tape.calls == ["decides", "concretize", "mirror"]
    (line,) = [line for line in tape.calls_file.read_text().splitlines() if " mirror " in line]
    assert line.endswith(f"mirror create --directory {tape.folder}/mirror --all")
    assert said[-1] == f"osu-micro-benchmarks for mpich: sources are in {tape.folder}/mirror"


def test_a_build_cache_comes_behind_the_sources(tape):
    write(tape, build_cache=True)
    assert [word for word in tape.calls if word != "decides"] == [
        "concretize",
        "mirror",
        "install",
        "installed",
        "buildcache",
    ]
    last = tape.calls_file.read_text().splitlines()[-1]
    assert last.endswith(f"buildcache push --unsigned --update-index file://{tape.folder}/mirror")


def test_what_the_site_does_not_want_is_left_out_and_said(tape):
    (tape.site / "more.yaml").write_text("packages: {npb: {buildable: false}}\n")
    said = write(tape, names=("npb",))
    assert tape.calls == [] and "npb for mpich is left out" in said[0]


@pytest.mark.parametrize("transcript", ["install.checksum", "install.no-source"])
def test_what_cannot_be_had_does_not_stop_the_rest_and_is_named_at_the_end(tape, transcript):
    """The first of two packages fails; the other one's sources are brought."""
    tape.fail("mirror", transcript, 1)
    tape.write(
        "mirror.sh", f'case $1 in *intel*) touch {tape.folder}/brought; rm "$SPACK_PLAYBACK/mirror.status" ;; esac\n'
    )
    tape.write("concretize.sh", CONCRETIZE.format(golden=GOLDEN / "spack"))
    said = []
    with pytest.raises(SpackError) as raised:
        write(tape, ("osu-micro-benchmarks", "intel-mpi-benchmarks"), said=said)
    lines = str(raised.value).splitlines()
    assert lines[0] == f"{tape.folder}/mirror: 1 of 2 are missing or incomplete; the others are there"
    assert lines[1].startswith("osu-micro-benchmarks for mpich: Spack: ") and lines[-2].startswith("To do: ")
    assert (tape.folder / "brought").exists() and said[-1].startswith("intel-mpi-benchmarks for mpich: sources are in")
    assert f"osu-micro-benchmarks for mpich is NOT complete in {tape.folder}/mirror" in said


def test_a_build_that_fails_leaves_its_sources_in_the_mirror(tape):
    tape.fail("install", "install.checksum", 1)
    with pytest.raises(SpackError, match="1 of 1 are missing or incomplete"):
        write(tape, build_cache=True)
    assert "mirror" in tape.calls and "buildcache" not in tape.calls
