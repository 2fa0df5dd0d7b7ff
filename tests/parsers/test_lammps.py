# SPDX-License-Identifier: BSD-3-Clause
"""The parser of LAMMPS outputs."""

import re

import pytest

from fabric_checks.parsers import lammps
from tests.breakages import refused

PROBLEMS = ("lj", "chain", "eam", "chute", "rhodo")


@pytest.mark.parametrize("problem", PROBLEMS)
def test_every_input(golden, problem):
    output = lammps.parse(golden(f"lammps/22Jul2025/{problem}.2.txt"), 2, 100, 32000)
    assert output.processes == 2
    assert output.steps == 100
    assert output.atoms == 32000
    assert output.version == "22 Jul 2025 - Update 4"
    assert sum(output.share_percent.values()) == pytest.approx(100, abs=0.5)
    assert output.Matom_steps_per_s == pytest.approx(3.2 / output.loop_time_s)


def test_known_values(golden):
    output = lammps.parse(golden("lammps/22Jul2025/lj.2.txt"), 2, 100, 32000)
    # Known from the reference log that comes with the input.
    expected = {
        "Step": 100,
        "Temp": 0.7574531,
        "E_pair": -5.7585055,
        "E_mol": 0,
        "TotEng": -4.6223613,
        "Press": 0.20726105,
    }
    assert output.thermo == expected
    rhodo = lammps.parse(golden("lammps/22Jul2025/rhodo.2.txt"), 2, 100, 32000)
    assert rhodo.thermo["PotEng"] == pytest.approx(-46882.6453, abs=1e-3)


@pytest.mark.parametrize(
    "name, processes, message",
    [
        ("lammps/22Jul2025/lj.killed.txt", 2, "the run did not end normally"),
        (
            "lammps/22Jul2025/lj.2.txt",
            4,
            "LAMMPS ran with 2 procs instead of the 4 that were asked for",
        ),
        ("imb/2021.11/PingPong.txt", 2, r"no line 'LAMMPS \(version\)'"),
    ],
)
def test_another_run_or_program_is_refused(golden, name, processes, message):
    with refused(message):
        lammps.parse(golden(name), processes, 100, 32000)


@pytest.mark.parametrize("steps, atoms", [(50, 32000), (100, 64000)])
def test_another_problem_is_refused(golden, steps, atoms):
    with refused("LAMMPS ran with .* instead of the .* that were asked for"):
        lammps.parse(golden("lammps/22Jul2025/lj.2.txt"), 2, steps, atoms)


def test_wrong_physics(golden):
    output = lammps.parse(golden("lammps/22Jul2025/lj.2.txt"), 2, 100, 32000)
    lammps.require_thermo(output, {"Temp": 0.7574531}, 1e-5)
    words = (
        r"^wrong physics: Temp is 0.7574531 at the last step and 0.76 in the reference log \(allowed: 0.001"
        r" %\)$"
    )
    with refused(words):
        lammps.require_thermo(output, {"Temp": 0.76}, 1e-5)
    with refused("no column 'Temperature'"):
        lammps.require_thermo(output, {"Temperature": 1.0}, 1e-5)


def test_the_unit_of_the_rate_does_not_matter(golden):
    """LAMMPS prints katom-step/s for slow runs and Matom-step/s for fast ones."""
    slow = golden("lammps/22Jul2025/rhodo.2.txt")
    assert "katom-step/s" in slow
    printed = float(slow.split(" katom-step/s")[0].split()[-1])
    assert lammps.parse(slow, 2, 100, 32000).Matom_steps_per_s == pytest.approx(
        printed / 1000, rel=1e-3
    )


@pytest.mark.parametrize(
    "old, new, message",
    [
        (
            r"171\.561 timesteps",
            "171.661 timesteps",
            "171.661 timesteps/s do not fit the loop time",
        ),
        (r"5\.490 Matom", "5.590 Matom", "5.59 Matom-step/s do not fit the loop time"),
        (r"5\.490 Matom", "5.490 katom", "5.49 katom-step/s do not fit the loop time"),
        (r"\| 16\.32", "| 17.32", "the time of Pair is not 17.32 % of the loop time"),
        (
            "100 steps",
            f"{'1' * 5000} steps",
            "the line of the loop time is damaged: 'Loop time of 0.58",
        ),
        (
            "^LAMMPS",
            "Loop time of 9 on 2 procs for 100 st\nLAMMPS",
            "2 times the line 'Loop time of ...'",
        ),
        (
            "- Update 4\\)",
            "- Upd",
            r"no line 'LAMMPS \(version\)': the program did not start",
        ),
    ],
)
def test_values_that_contradict_each_other_are_refused(golden, old, new, message):
    text = golden("lammps/22Jul2025/chain.2.txt")
    broken = re.sub(old, new, text)
    assert broken != text
    with refused(message):
        lammps.parse(broken, 2, 100, 32000)
