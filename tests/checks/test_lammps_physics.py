# SPDX-License-Identifier: BSD-3-Clause
"""The physics of LAMMPS's inputs, as they are and scaled: right ones pass, and each wrong value is named."""

from dataclasses import replace

import pytest

from checks.lammps import physics
from fabric_checks.parsers import lammps
from tests.breakages import refused
from tests.parsers.corpus import lammps_asked

SCALED = {"2": None, "scaled2.2": 2}


def output_of(golden, problem, name):
    text = golden(f"lammps/22Jul2025/{problem}.{name}.txt")
    return lammps.parse(text, **lammps_asked(name))


@pytest.mark.parametrize("problem", physics.REFERENCE)
@pytest.mark.parametrize("name", SCALED)
def test_what_lammps_printed_is_right(golden, problem, name):
    physics.require(output_of(golden, problem, name), problem, SCALED[name])


@pytest.mark.parametrize("problem", physics.REFERENCE)
@pytest.mark.parametrize("name", SCALED)
def test_each_item_is_held(golden, problem, name):
    output = output_of(golden, problem, name)
    tolerance = (
        physics.SCALED_TOLERANCE[problem]
        if SCALED[name]
        else physics.REFERENCE[problem][1]
    )
    for item in physics.REFERENCE[problem][0]:
        for factor in (1 - 2 * tolerance, 1 + 2 * tolerance):
            wrong = replace(
                output, thermo={**output.thermo, item: factor * output.thermo[item]}
            )
            with refused(f"^wrong physics: {item} is "):
                physics.require(wrong, problem, SCALED[name])


def test_another_machine_starts_with_other_velocities(golden):
    """What is printed on aarch64 is right there, and no other energy is."""
    output = lammps.parse(golden("lammps/22Jul2025/lj.aarch64.1.txt"), 1, 100, 32000)
    physics.require(output, "lj", None, "aarch64")
    with refused(
        r"^wrong physics: Temp is 0\.76087792 at the last step and 0\.7574531 in the"
    ):
        physics.require(output, "lj", None, "x86_64")
    hot = replace(
        output, thermo={**output.thermo, "TotEng": 0.99 * output.thermo["TotEng"]}
    )
    with refused(r"^wrong physics: TotEng changes by .* in the reference log "):
        physics.require(hot, "lj", None, "aarch64")


@pytest.mark.parametrize("problem", physics.DRIFT)
def test_an_energy_that_drifts_is_wrong(golden, problem):
    """Within the bound of the last value, which has to leave room for other velocities."""
    output = output_of(golden, problem, "scaled2.2")
    item = physics.DRIFT[problem][0]
    drift = output.thermo[item] - output.thermo_at_start[item]
    for times in (0, 0.5, 1.5):
        start = output.thermo[item] - times * drift
        wrong = replace(output, thermo_at_start={**output.thermo_at_start, item: start})
        with refused(
            f"^wrong physics: {item} changes by .* over the run and by .* in 2 times"
        ):
            physics.require(wrong, problem, 2)


@pytest.mark.parametrize("problem", ["eam", "chute", "rhodo"])
def test_another_number_of_copies_is_wrong(golden, problem):
    output = output_of(golden, problem, "scaled2.2")
    for copies in (1, 3, None):
        with refused("^wrong physics: "):
            physics.require(output, problem, copies)


def test_the_first_output_is_read_in_both_styles(golden):
    assert output_of(golden, "lj", "2").thermo_at_start["TotEng"] == -4.6134356
    assert output_of(golden, "eam", "2").thermo_at_start["TotEng"] == -106662.09
    assert output_of(golden, "rhodo", "2").thermo_at_start["TotEng"] == -25356.2057
