# SPDX-License-Identifier: BSD-3-Clause
"""What the packages offer follows from what the scopes require of them."""

import pytest

from fabric_checks.software.spack import SpackError
from fabric_checks.software.spack.packages import PACKAGES, asked, package_called, why_not
from fabric_checks.software.spack.scopes import Scopes
from tests.conftest import TESTS

COMMON = TESTS.parent / "spack-envs" / "common"
LOCAL = TESTS.parent / "config/systems/local/spack"


def scopes(tmp_path, text="packages: {}\n", mpi="mpich"):
    (tmp_path / "site").mkdir(exist_ok=True)
    (tmp_path / "site/packages.yaml").write_text(text)
    return Scopes(LOCAL / mpi, tmp_path / "site", COMMON)


def test_every_folder_of_spack_envs_is_a_package():
    folders = {path.parent.name for path in (TESTS.parent / "spack-envs").glob("*/spack.yaml")}
    assert folders == set(PACKAGES)
    for package in PACKAGES.values():
        assert [path.name for path in package.environment.iterdir()] == ["spack.yaml"]


def test_the_pinned_releases_are_asked_for(tmp_path):
    found = {name: asked(package, scopes(tmp_path)) for name, package in PACKAGES.items()}
    assert {name: each.version for name, each in found.items()} == {
        "osu-micro-benchmarks": "7.5.2",
        "intel-mpi-benchmarks": "2021.7",
        "lammps": "20250722.3",
        "npb": "3.4.3",
    }
    assert {each.mpi for each in found.values()} == {"mpich@5.0.2"}


def test_a_site_can_ask_for_other_releases_and_a_compiler(tmp_path):
    text = "packages: {osu-micro-benchmarks: {require: '@6.2 +cuda'}, c: {require: [gcc@13]}}\n"
    found = asked(PACKAGES["osu-micro-benchmarks"], scopes(tmp_path, text))
    assert (found.version, found.compiler) == ("6.2", "gcc@13")
    offered = PACKAGES["osu-micro-benchmarks"].describe(found.requirement, found.version)
    assert "osu_cuda" in offered.features and "osu_7_4" in offered.without
    assert offered.description["smallest_message_B"] == 0


def test_parts_that_are_not_built_are_neither_offered_nor_looked_for():
    imb = PACKAGES["intel-mpi-benchmarks"]
    assert imb.describe("@2021.7 ~rma", "2021.7").features == ("imb", "imb_nbc", "imb_p2p")
    assert imb.files("@2021.7 ~rma") == ["bin/IMB-MPI1", "bin/IMB-NBC", "bin/IMB-P2P"]
    npb = PACKAGES["npb"]
    assert npb.files("@3.4.3 names:=is") == ["bin/is.A.x", "bin/is.B.x", "bin/is.C.x"]
    assert "npb_ft" in npb.describe("@3.4.3 names:=is,ft classes:=A,B,C", "3.4.3").features


def test_lammps_has_its_inputs_unless_the_user_has(monkeypatch):
    lammps = PACKAGES["lammps"]
    assert lammps.files("@2025") == ["bin/lmp", "share/lammps/bench/in.lj"]
    assert lammps.describe("@2025", "2025").description["inputs"] == "{view}/share/lammps/bench"
    monkeypatch.setenv("FABRIC_LAMMPS_INPUTS", "/data")
    assert lammps.files("@2022") == ["bin/lmp"]
    assert lammps.describe("@2022", "2022").description["inputs"] == "/data"


def test_a_site_can_leave_a_package_out(tmp_path):
    npb = PACKAGES["npb"]
    assert why_not(npb, scopes(tmp_path)) is None
    reason = why_not(npb, scopes(tmp_path, "packages: {npb: {buildable: false}}\n"))
    assert reason == f"{tmp_path}/site/packages.yaml says `buildable: false` of npb"
    text = "packages: {npb: {buildable: false, externals: [{spec: npb@3.4.3, prefix: /apps/npb}]}}\n"
    assert why_not(npb, scopes(tmp_path, text)) is None


def test_no_mpi_is_an_error(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty/packages.yaml").write_text("packages: {}\n")
    with pytest.raises(SpackError, match=r"empty: requires no MPI, so Spack would choose one; write"):
        asked(PACKAGES["npb"], Scopes(tmp_path / "empty", scopes(tmp_path).site, COMMON))


def test_an_unknown_package():
    with pytest.raises(SpackError, match=r"no package 'hpl'; choose from intel-mpi-benchmarks, lammps, "):
        package_called("hpl")
