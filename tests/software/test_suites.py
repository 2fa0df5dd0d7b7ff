# SPDX-License-Identifier: BSD-3-Clause
"""What environments offer of each suite, from where its programs are."""

from fabric_checks.software.programs import environment
from fabric_checks.software.suites import imb, lammps, ls_dyna, npb, osu


def test_osu_by_release():
    new = osu.installed("/apps/osu", "7.5.2")
    assert new.features == ("osu", "osu_c", "osu_7_3", "osu_7_4") and not new.without
    assert new.description["smallest_message_B"] == 1 and new.description["takes_sizes"]
    command = new.description["command"].format(folder="pt2pt", benchmark="osu_latency")
    assert command == "/apps/osu/libexec/osu-micro-benchmarks/mpi/pt2pt/osu_latency"
    older = osu.installed("/apps/osu", "7.3")
    assert older.features == ("osu", "osu_c", "osu_7_3") and older.without == {"osu_7_4": "OSU 7.3 is older than 7.4"}
    assert set(osu.installed("/apps/osu", "7.2").without) == {"osu_7_3", "osu_7_4"}
    assert osu.installed("/apps/osu", "5.9").description["smallest_message_B"] == 0
    assert "osu_cuda" in osu.installed("/apps/osu", "7.5", ("cuda",)).features


def test_imb_by_program():
    assert imb.installed("/apps/imb", "2021.7").features == ("imb", "imb_nbc", "imb_rma", "imb_p2p")
    partly = imb.installed("/apps/imb", "2021.7", ("nbc",))
    assert partly.features == ("imb", "imb_nbc")
    assert partly.without["imb_rma"] == "IMB was built without IMB-RMA" and set(partly.without) == {
        "imb_rma",
        "imb_p2p",
    }


def test_lammps_inputs():
    assert lammps.installed("$LAMMPS", "2025").description["inputs"] == "$LAMMPS/share/lammps/bench"
    assert lammps.installed("/apps", "2025", "/data/bench").description["inputs"] == "/data/bench"


def test_npb_without_fortran():
    assert npb.installed("/apps", "3.4").features == ("npb", "npb_ft")
    only_is = npb.installed("/apps", "3.4", ("is",))
    assert only_is.features == ("npb",) and "Fortran" in only_is.without["npb_ft"]


def test_a_commercial_code_is_missed_by_nobody():
    named = environment({"name": "x", "cc": "mpicc"}, "modules", ls_dyna.installed("/dyna", "R13", "/deck.k"))
    assert (
        named["features"] == ["mpi", "mpicc", "ls_dyna"] and named["extras"]["programs"]["ls_dyna"]["deck"] == "/deck.k"
    )
    assert "ls_dyna_pfile" in named["extras"]["without"]
    without = environment({"name": "x", "cc": "mpicc"}, "modules")["extras"]["without"]
    assert "npb" in without and "ls_dyna" not in without
    both = ls_dyna.installed("/dyna", "R13", "/deck.k", "/pfile", ("memory=200m",))
    assert both.features == ("ls_dyna", "ls_dyna_pfile") and both.description["command"] == "/dyna memory=200m"
