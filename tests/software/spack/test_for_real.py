# SPDX-License-Identifier: BSD-3-Clause
"""The same with a real Spack: opt in by FABRIC_TEST_SPACK=1.

The Spack is the one of SPACK_ROOT, of PATH, or the one that `ci/run --stack spack` brought. FABRIC_SPACK_SITE,
FABRIC_SPACK_MIRROR and FABRIC_SPACK_PACKAGES_URL mean what they mean there. What builds is kept below FABRIC_HOME, so a
second run is quick.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from fabric_checks.software.spack import SpackError, mirror
from fabric_checks.software.spack.build import VIEW, Environment, build
from fabric_checks.software.spack.environments import scopes_of
from fabric_checks.software.spack.packages import PACKAGES
from fabric_checks.software.spack.scopes import Scopes
from fabric_checks.software.spack.tool import git
from fabric_checks.software.spack.version import PINNED_PACKAGES_COMMIT
from tests.conftest import TESTS
from tests.software.spack.tape import LOCAL

pytestmark = pytest.mark.skipif(
    not os.environ.get("FABRIC_TEST_SPACK"), reason="with a real Spack only on request: FABRIC_TEST_SPACK=1"
)
OSU = PACKAGES["osu-micro-benchmarks"]
IMB = PACKAGES["intel-mpi-benchmarks"]
COMMON = TESTS.parent / "spack-envs" / "common"
MINE = TESTS.parent / "config/twins/spack_repo/fabric_twins"


@pytest.fixture
def scopes(tmp_path):
    """Return a function that copies the scopes of an MPI, for a test to change."""

    def copied(mpi="mpich", **texts):
        found = scopes_of(LOCAL, os.environ)[mpi]
        for name in ("environ", "site"):
            shutil.copytree(getattr(found, name), tmp_path / name)
            if name in texts:
                (tmp_path / name / "packages.yaml").write_text(texts[name])
        return Scopes(tmp_path / "environ", tmp_path / "site", found.common)

    return copied


@pytest.mark.parametrize("mpi", ["mpich", "openmpi"])
@pytest.mark.parametrize("package", ["osu-micro-benchmarks", "intel-mpi-benchmarks"])
def test_a_package_is_built_and_not_built_twice(tmp_path, package, mpi):
    scopes = scopes_of(LOCAL, os.environ)[mpi]
    built = build(PACKAGES[package], scopes, tmp_path / "one", os.environ)
    assert f"^{mpi}@" in built.spec and "%gcc@" in built.spec
    again = build(PACKAGES[package], scopes, tmp_path / "two", os.environ)
    assert not again.rebuilt and again.hash == built.hash
    for name in PACKAGES[package].files(""):
        assert (tmp_path / "two" / VIEW / name).resolve().is_file()


@pytest.fixture
def instance(tmp_path):
    """Return the variables of a Spack and a package repository that a test may change, and its site scope."""
    site = tmp_path / "changed"
    shutil.copytree(LOCAL / "site", site)
    scopes = Scopes(LOCAL / "mpich", site, COMMON)
    before = Environment.prepared(IMB, scopes, tmp_path / "before", os.environ)
    root = before.spack.program.resolve().parent.parent
    (builtin,) = [place for name, place in before.known.repositories if name == "builtin"]
    top = Path(git(builtin, "rev-parse", "--show-toplevel"))
    for source, copy in ((root, "spack"), (top, "packages")):
        subprocess.run(
            [
                "git",
                "-c",
                "advice.detachedHead=false",
                "clone",
                "--quiet",
                "--shared",
                str(source),
                str(tmp_path / copy),
            ],
            check=True,
        )
    subprocess.run(
        ["git", "-C", str(tmp_path / "packages"), "checkout", "--quiet", "--detach", PINNED_PACKAGES_COMMIT], check=True
    )
    mine = tmp_path / "spack_repo/fabric_twins"
    place = tmp_path / "packages" / builtin.relative_to(top)
    (site / "repos.yaml").write_text(f"repos:\n  fabric_twins: {mine}\n  builtin: {place}\n")
    shutil.copytree(MINE, mine)
    variables = os.environ | {"SPACK_ROOT": str(tmp_path / "spack")}

    def memory():
        return Environment.prepared(IMB, scopes, tmp_path / "env", variables).memory

    return memory, tmp_path / "spack/etc/spack", place, mine / "packages/smpi/package.py"


def test_everything_that_decides_a_build_counts(instance):
    memory, etc, builtin, recipe = instance
    seen = [memory()]
    assert memory() == seen[0]
    (etc / "packages.yaml").write_text("packages: {all: {target: [x86_64]}}\n")
    seen.append(memory())
    (etc / "more").mkdir()
    (etc / "include.yaml").write_text("include: [{path: $spack/etc/spack/more, when: 'True'}]\n")
    (etc / "more/packages.yaml").write_text("packages: {all: {target: [x86_64_v2]}}\n")
    seen.append(memory())
    (etc / "more/concretizer.yaml").write_text("concretizer: {targets: {granularity: generic}}\n")
    seen.append(memory())
    recipe.write_text(recipe.read_text() + "# changed\n")
    seen.append(memory())
    assert len(set(seen)) == len(seen)
    recipe = builtin / "packages/zlib/package.py"
    recipe.write_text(recipe.read_text() + "# changed\n")
    with pytest.raises(SpackError, match=r"packages/zlib/package\.py' differs from release"):
        memory()


def test_a_damaged_prefix_is_installed_again_and_its_spec_is_found(tmp_path):
    scopes = scopes_of(LOCAL, os.environ)["mpich"]
    built = build(IMB, scopes, tmp_path / "one", os.environ)
    # What is prepared anew has no lock, and so nothing to find.
    spack = Environment.prepared(IMB, scopes, tmp_path / "other", os.environ).spack
    assert "[+] intel-mpi-benchmarks" in spack.run("find", built.spec, environment=tmp_path / "one")
    program = Path(built.prefix) / "bin/IMB-MPI1"
    program.write_text("")
    said = []
    again = build(IMB, scopes, tmp_path / "two", os.environ, said.append)
    assert again.rebuilt and program.stat().st_size > 0
    assert any("bin/IMB-MPI1 differs from what was installed: installing it again" in line for line in said)


def test_an_mpi_that_is_not_there(tmp_path, scopes):
    text = (LOCAL / "mpich/packages.yaml").read_text().replace('"mpich@5.0.2"', '"mpich@4.1"')
    with pytest.raises(SpackError, match="cannot be concretized") as raised:
        build(OSU, scopes(environ=text), tmp_path / "env", os.environ)
    assert "mpich" in str(raised.value) and "To do: check what the scopes require" in str(raised.value)


def test_a_release_that_is_not_known(tmp_path, scopes):
    text = 'packages: {osu-micro-benchmarks: {require: "@99.9"}}\n'
    with pytest.raises(SpackError, match="another release"):
        build(OSU, scopes(site=text), tmp_path / "env", os.environ)


def test_another_compiler_than_asked_for_cannot_be_had(tmp_path, scopes):
    with pytest.raises(SpackError) as raised:
        build(OSU, scopes(site='packages: {c: {require: ["gcc@1.2"]}}\n'), tmp_path / "env", os.environ)
    assert "To do: " in str(raised.value)


def test_a_mirror_holds_the_sources(tmp_path):
    mirror.write(
        tmp_path / "mirror",
        packages=[OSU],
        scopes={"mpich": scopes_of(LOCAL, os.environ)["mpich"]},
        work=tmp_path / "work",
        variables=os.environ,
        build_cache=False,
        say=print,
    )
    assert list((tmp_path / "mirror/osu-micro-benchmarks").glob("osu-micro-benchmarks-*.tar.gz"))
