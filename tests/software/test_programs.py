# SPDX-License-Identifier: BSD-3-Clause
"""What an environment offers, from where its programs are."""

import pytest

from fabric_checks.software import programs


def test_osu_by_release():
    new = programs.osu("/apps/osu", "7.5.2")
    assert new.features == ("osu", "osu_c", "osu_7_3", "osu_7_4") and not new.without
    assert new.description["smallest_message_B"] == 1 and new.description["takes_sizes"]
    command = new.description["command"].format(folder="pt2pt", benchmark="osu_latency")
    assert command == "/apps/osu/libexec/osu-micro-benchmarks/mpi/pt2pt/osu_latency"
    older = programs.osu("/apps/osu", "7.3")
    assert older.features == ("osu", "osu_c", "osu_7_3") and older.without == {"osu_7_4": "OSU 7.3 is older than 7.4"}
    assert set(programs.osu("/apps/osu", "7.2").without) == {"osu_7_3", "osu_7_4"}
    assert programs.osu("/apps/osu", "5.9").description["smallest_message_B"] == 0
    assert "osu_cuda" in programs.osu("/apps/osu", "7.5", ("cuda",)).features


def test_imb_by_program():
    assert programs.imb("/apps/imb", "2021.7").features == ("imb", "imb_nbc", "imb_rma", "imb_p2p")
    partly = programs.imb("/apps/imb", "2021.7", ("nbc",))
    assert partly.features == ("imb", "imb_nbc")
    assert partly.without["imb_rma"] == "IMB was built without IMB-RMA" and set(partly.without) == {
        "imb_rma",
        "imb_p2p",
    }


def test_lammps_inputs():
    assert programs.lammps("$LAMMPS", "2025").description["inputs"] == "$LAMMPS/share/lammps/bench"
    assert programs.lammps("/apps", "2025", "/data/bench").description["inputs"] == "/data/bench"


def test_npb_without_fortran():
    assert programs.npb("/apps", "3.4").features == ("npb", "npb_ft")
    only_is = programs.npb("/apps", "3.4", ("is",))
    assert only_is.features == ("npb",) and "Fortran" in only_is.without["npb_ft"]


def test_an_environment_says_what_it_has_and_why_not_the_rest():
    made = programs.environment(
        {"name": "ours", "cc": "cc", "modules": ["osu"], "features": ["blocking_wait"]},
        "modules",
        programs.osu("$OSU", "7.3"),
        why_not={"imb": "no licence"},
        extras={"blocking_wait": {"X": "1"}},
    )
    assert made["name"] == "ours" and made["modules"] == ["osu"]
    assert made["features"] == ["mpi", "mpicc", "blocking_wait", "osu", "osu_c", "osu_7_3"]
    extras = made["extras"]
    assert extras["stack"] == "modules" and extras["blocking_wait"] == {"X": "1"}
    assert extras["programs"]["osu"]["source"] == "modules"
    assert extras["without"] == {
        "osu_7_4": "OSU 7.3 is older than 7.4",
        "imb": "no licence",
        "lammps": "the environment does not name it",
        "npb": "the environment does not name it",
    }


@pytest.mark.parametrize(
    ("version", "numbers"), [("7.5.2", (7, 5, 2)), ("7.1-1", (7, 1, 1)), ("2021.7", (2021, 7)), ("main", ())]
)
def test_releases(version, numbers):
    assert programs.release_of(version) == numbers
