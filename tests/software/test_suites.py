# SPDX-License-Identifier: BSD-3-Clause
"""The features of each suite by the release and the parts that are installed."""

from fabric_checks.core.paths import ROOT
from fabric_checks.software.programs import environment
from fabric_checks.software.suites import PACKAGES, imb, nccl_tests, osu


def test_features_of_osu_follow_from_its_release():
    new = osu.installed("/apps/osu", "7.5.2")
    assert new.features == ("osu", "osu_c", "osu_7_3", "osu_7_4") and not new.without
    assert new.description["smallest_message_B"] == 1 and new.description["takes_sizes"]
    command = new.description["command"].format(folder="pt2pt", benchmark="osu_latency")
    assert command == "/apps/osu/libexec/osu-micro-benchmarks/mpi/pt2pt/osu_latency"
    older = osu.installed("/apps/osu", "7.3")
    assert older.features == ("osu", "osu_c", "osu_7_3") and older.without == {
        "osu_7_4": "OSU 7.3 is older than 7.4"
    }
    assert set(osu.installed("/apps/osu", "7.2").without) == {"osu_7_3", "osu_7_4"}
    assert osu.installed("/apps/osu", "5.9").description["smallest_message_B"] == 0


def test_what_osu_verifies_wrongly_is_known_of_its_release_alone():
    assert not osu.can_verify("7.4.1", "allreduce_persistent")
    assert osu.can_verify("7.5", "allreduce_persistent") and osu.can_verify(
        "7.4", "allreduce"
    )


def test_the_page_names_what_is_not_verified():
    page = (ROOT / "docs/software.md").read_text()
    for release, benchmark in osu.WRONG_VALIDATION:
        assert f"{release}, `{benchmark}`" in page
    assert "osu_cuda" in osu.installed("/apps/osu", "7.5", ("cuda",)).features


def test_features_of_imb_follow_from_its_programs():
    assert imb.installed("/apps/imb", "2021.7").features == (
        "imb",
        "imb_nbc",
        "imb_rma",
    )
    partly = imb.installed("/apps/imb", "2021.7", ("nbc",))
    assert partly.features == ("imb", "imb_nbc")
    assert partly.without == {"imb_rma": "IMB was built without IMB-RMA"}


def test_unbuilt_parts_are_neither_offered_nor_required():
    package = PACKAGES["intel-mpi-benchmarks"]
    assert package.describe("@2021.7 ~rma", "2021.7").features == (
        "imb",
        "imb_nbc",
    )
    assert package.files("@2021.7 ~rma") == [
        "bin/IMB-MPI1",
        "bin/IMB-NBC",
    ]
    package = PACKAGES["npb"]
    assert package.files("@3.4.3 names:=is") == [
        "bin/is.A.x",
        "bin/is.B.x",
        "bin/is.C.x",
    ]
    assert (
        "npb_ft"
        in package.describe("@3.4.3 names:=is,ft classes:=A,B,C", "3.4.3").features
    )


def test_lammps_of_spack_has_its_inputs_unless_the_user_names_them(monkeypatch):
    package = PACKAGES["lammps"]
    assert package.files("@2025") == ["bin/lmp", "share/lammps/bench/in.lj"]
    assert (
        package.describe("@2025", "2025").description["inputs"]
        == "{view}/share/lammps/bench"
    )
    monkeypatch.setenv("FABRIC_LAMMPS_INPUTS", "/data")
    assert package.files("@2022") == ["bin/lmp"]
    assert package.describe("@2022", "2022").description["inputs"] == "/data"


def test_a_missing_suite_that_only_sites_with_gpus_have_is_not_reported():
    named = environment(
        {"name": "x", "cc": "mpicc"}, "modules", nccl_tests.installed("/nccl", "2.19")
    )
    assert named["features"] == ["mpi", "mpicc", "nccl_tests"]
    without = environment({"name": "x", "cc": "mpicc"}, "modules")["extras"]["without"]
    assert "npb" in without and "nccl_tests" not in without
    reasons = {"npb": "not here", "nccl_tests": "not here"}
    stated = environment({"name": "x", "cc": "mpicc"}, "spack", why_not=reasons)[
        "extras"
    ]["without"]
    assert stated["npb"] == "not here" and "nccl_tests" not in stated
