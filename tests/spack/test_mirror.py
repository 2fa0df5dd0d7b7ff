# SPDX-License-Identifier: BSD-3-Clause
"""The mirror: what Spack is told to do for each package and MPI, and what ends it."""

import pytest

from fabric_checks.spack import SpackError, mirror
from fabric_checks.spack.packages import PACKAGES
from fabric_checks.spack.scopes import Scopes
from tests.conftest import TESTS
from tests.spack.tape import LOCAL, Tape

COMMON = TESTS.parent / "spack-envs" / "common"


@pytest.fixture
def tape(tmp_path, monkeypatch):
    found = Tape(tmp_path)
    monkeypatch.setenv("FABRIC_HOME", found.variables["FABRIC_HOME"])
    found.succeed()
    return found


def write(tape, names=("osu-micro-benchmarks",), build_cache=False):
    said = []
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
    assert tape.calls == ["--version", "--repo", "concretize", "mirror"]
    (line,) = [line for line in tape.calls_file.read_text().splitlines() if " mirror " in line]
    assert line.endswith(f"mirror create --directory {tape.folder}/mirror --all")
    assert said[-1] == f"osu-micro-benchmarks for mpich: sources are in {tape.folder}/mirror"


def test_a_build_cache_is_built_first_and_pushed_last(tape):
    write(tape, build_cache=True)
    assert [word for word in tape.calls if word not in ("--version", "--repo")] == [
        "concretize",
        "install",
        "location",
        "mirror",
        "buildcache",
    ]
    last = tape.calls_file.read_text().splitlines()[-1]
    assert last.endswith(f"buildcache push --unsigned --update-index file://{tape.folder}/mirror")


def test_what_the_site_does_not_want_is_left_out_and_said(tape):
    (tape.site / "more.yaml").write_text("packages: {npb: {buildable: false}}\n")
    said = write(tape, names=("npb",))
    assert tape.calls == [] and "npb for mpich is left out" in said[0]


@pytest.mark.parametrize(("word", "transcript"), [("mirror", "install.checksum"), ("mirror", "install.no-source")])
def test_a_failure_ends_it(tape, word, transcript):
    tape.fail(word, transcript, 1)
    with pytest.raises(SpackError, match="To do: "):
        write(tape)
