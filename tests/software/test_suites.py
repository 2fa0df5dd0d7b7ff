# SPDX-License-Identifier: BSD-3-Clause
"""The features of each suite by the release and the parts that are installed."""

from fabric_checks.core.paths import ROOT
from fabric_checks.software.programs import environment
from fabric_checks.software.suites import PACKAGES, imb, ls_dyna, osu


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


def test_a_fault_of_osu_is_known_of_its_release_alone():
    assert osu.known_fault("osu", "7.4.1", "bw_fan_in").endswith(
        "that does not exist (MPI_ERR_RANK)"
    )
    for other in (
        ("osu", "7.5.2", "bw_fan_in"),
        ("osu", "7.4", "bw"),
        ("osu-py", "7.4", "bw_fan_in"),
    ):
        assert osu.known_fault(*other) == ""
    assert not osu.can_verify("7.4.1", "allreduce_persistent")
    assert osu.can_verify("7.5", "allreduce_persistent") and osu.can_verify(
        "7.4", "allreduce"
    )


def test_the_page_names_each_known_fault():
    page = (ROOT / "docs/software.md").read_text()
    for release, benchmark in (*osu.KNOWN_FAULTS, *osu.WRONG_VALIDATION):
        assert f"{release}, `{benchmark}`" in page
    assert "osu_cuda" in osu.installed("/apps/osu", "7.5", ("cuda",)).features


def test_features_of_imb_follow_from_its_programs():
    assert imb.installed("/apps/imb", "2021.7").features == (
        "imb",
        "imb_nbc",
        "imb_rma",
        "imb_p2p",
    )
    partly = imb.installed("/apps/imb", "2021.7", ("nbc",))
    assert partly.features == ("imb", "imb_nbc")
    assert partly.without["imb_rma"] == "IMB was built without IMB-RMA" and set(
        partly.without
    ) == {
        "imb_rma",
        "imb_p2p",
    }


def test_unbuilt_parts_are_neither_offered_nor_required():
    package = PACKAGES["intel-mpi-benchmarks"]
    assert package.describe("@2021.7 ~rma", "2021.7").features == (
        "imb",
        "imb_nbc",
        "imb_p2p",
    )
    assert package.files("@2021.7 ~rma") == [
        "bin/IMB-MPI1",
        "bin/IMB-NBC",
        "bin/IMB-P2P",
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


def test_a_missing_commercial_code_is_not_reported():
    named = environment(
        {"name": "x", "cc": "mpicc"},
        "modules",
        ls_dyna.installed("/dyna", "R13", "/deck.k"),
    )
    assert named["features"] == ["mpi", "mpicc", "ls_dyna"]
    assert named["extras"]["programs"]["ls_dyna"]["deck"] == "/deck.k"
    assert "ls_dyna_pfile" in named["extras"]["without"]
    without = environment({"name": "x", "cc": "mpicc"}, "modules")["extras"]["without"]
    assert "npb" in without and "ls_dyna" not in without
    reasons = {"npb": "not here", "ls_dyna": "not here"}
    stated = environment({"name": "x", "cc": "mpicc"}, "spack", why_not=reasons)[
        "extras"
    ]["without"]
    assert stated["npb"] == "not here" and "ls_dyna" not in stated
    both = ls_dyna.installed("/dyna", "R13", "/deck.k", "/pfile", ("memory=200m",))
    assert both.features == ("ls_dyna", "ls_dyna_pfile")
    assert both.description["command"] == "/dyna memory=200m"
