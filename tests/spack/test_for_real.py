# SPDX-License-Identifier: BSD-3-Clause
"""The same with a real Spack: opt in by FABRIC_TEST_SPACK=1.

The Spack is the one of SPACK_ROOT, of PATH, or the one that `ci/run --stack spack` brought. FABRIC_SPACK_SITE,
FABRIC_SPACK_MIRROR and FABRIC_SPACK_PACKAGES_URL mean what they mean there. What builds is kept below FABRIC_HOME, so a
second run is quick.
"""

import os
import shutil

import pytest

from fabric_checks.spack import SpackError, mirror
from fabric_checks.spack.build import VIEW, build
from fabric_checks.spack.environments import scopes_of
from fabric_checks.spack.packages import PACKAGES
from fabric_checks.spack.scopes import Scopes
from tests.spack.tape import LOCAL

pytestmark = pytest.mark.skipif(
    not os.environ.get("FABRIC_TEST_SPACK"), reason="with a real Spack only on request: FABRIC_TEST_SPACK=1"
)
OSU = PACKAGES["osu-micro-benchmarks"]


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


def test_an_mpi_that_is_not_there(tmp_path, scopes):
    text = (LOCAL / "mpich/packages.yaml").read_text().replace('"mpich@5.0.2"', '"mpich@4.1"')
    with pytest.raises(SpackError, match="cannot be concretized") as raised:
        build(OSU, scopes(environ=text), tmp_path / "env", os.environ)
    assert "mpich" in str(raised.value) and "To do: see what the scopes require" in str(raised.value)


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
