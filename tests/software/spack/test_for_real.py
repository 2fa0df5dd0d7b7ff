# SPDX-License-Identifier: BSD-3-Clause
"""The same with a real Spack: opt in by FABRIC_TEST_SPACK=1.

The Spack is the one of SPACK_ROOT, of PATH, or the one that `ci/run --stack spack` installs.
FABRIC_SPACK_SITE, FABRIC_SPACK_MIRROR and FABRIC_SPACK_PACKAGES_URL have the same effect as there. The
install tree is below FABRIC_HOME.
"""

import os

import pytest

from fabric_checks.software.spack.build import VIEW, Environment
from fabric_checks.software.spack.environments import scopes_of
from fabric_checks.software.suites import PACKAGES
from tests.software.spack.tape import LOCAL

pytestmark = pytest.mark.skipif(
    not os.environ.get("FABRIC_TEST_SPACK"),
    reason="with a real Spack only on request: FABRIC_TEST_SPACK=1",
)
IMB = PACKAGES["intel-mpi-benchmarks"]


def build(package, scopes, folder):
    return Environment.prepared(package, scopes, folder, os.environ).build()


@pytest.mark.parametrize("mpi", ["mpich", "openmpi"])
@pytest.mark.parametrize("package", ["osu-micro-benchmarks", "intel-mpi-benchmarks"])
def test_a_package_is_built_and_not_built_twice(tmp_path, package, mpi):
    scopes = scopes_of(LOCAL, os.environ)[mpi]
    built = build(PACKAGES[package], scopes, tmp_path / "one")
    assert f"^{mpi}@" in built.spec and "%gcc@" in built.spec
    again = build(PACKAGES[package], scopes, tmp_path / "two")
    assert again == built
    assert "Executing phase" not in (tmp_path / "two/install.txt").read_text()
    for name in PACKAGES[package].files(""):
        assert (tmp_path / "two" / VIEW / name).resolve().is_file()


def test_the_recorded_spec_is_found_by_spack(tmp_path):
    scopes = scopes_of(LOCAL, os.environ)["mpich"]
    built = build(IMB, scopes, tmp_path / "one")
    spack = Environment.prepared(IMB, scopes, tmp_path / "other", os.environ).spack
    assert "[+] intel-mpi-benchmarks" in spack.run(
        "find", built.spec, environment=tmp_path / "one"
    )
