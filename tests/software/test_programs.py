# SPDX-License-Identifier: BSD-3-Clause
"""The suites that an environment offers, and the reasons for the others."""

import pytest

from fabric_checks.software import programs
from fabric_checks.software.suites import SUITES, osu


def test_an_environment_has_its_suites_and_reasons_for_the_others():
    made = programs.environment(
        {"name": "ours", "cc": "cc", "modules": ["osu"], "features": ["blocking_wait"]},
        "modules",
        osu.installed("$OSU", "7.3"),
        why_not={"imb": "no licence"},
        extras={"blocking_wait": {"X": "1"}},
    )
    assert made["name"] == "ours" and made["modules"] == ["osu"]
    assert made["features"] == [
        "mpi",
        "mpicc",
        "blocking_wait",
        "osu",
        "osu_c",
        "osu_7_3",
    ]
    extras = made["extras"]
    assert extras["stack"] == "modules" and extras["blocking_wait"] == {"X": "1"}
    assert extras["programs"]["osu"]["stack"] == "modules"
    others = [
        name
        for name, suite in SUITES.items()
        if not suite.only_of_sites and name not in ("osu", "imb")
    ]
    assert {"lammps", "npb"} <= set(others)
    reasons = {"osu_7_4": "OSU 7.3 is older than 7.4", "imb": "no licence"}
    assert extras["without"] == reasons | dict.fromkeys(
        others, "the environment does not name it"
    )


def test_a_reason_is_for_a_suite_that_exists(monkeypatch):
    """Those in folders of checks come behind the others, whatever their names are."""
    of_checks = {"a_suite_of_checks": SUITES["npb"]}
    monkeypatch.setattr(programs, "SUITES", SUITES | of_checks)
    names = ", ".join(sorted([*SUITES, *of_checks]))
    with pytest.raises(
        ValueError, match=f"there is no suite nbp; the suites are {names}"
    ):
        programs.environment({"name": "ours"}, "modules", why_not={"nbp": "no licence"})
