# SPDX-License-Identifier: BSD-3-Clause
"""Every value of the documents against what the programs measure on its twin, and that a second run is the
same."""

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import pytest

from fabric_twins import published_table
from fabric_twins.measured import values as measured_values
from fabric_twins.simulate import Bounds, output
from tests.twins.simulation import TWINS, shipped, simgrid

pytestmark = simgrid

NAMES = sorted(file.stem for file in TWINS.glob("*.yaml"))


def cases():
    for name in NAMES:
        for number, case in enumerate(shipped(name).cases):
            for published in case.values:
                marks = (
                    [pytest.mark.xfail(reason=published.why_not, strict=True)] if published.why_not else []
                )
                case_id = f"{name}-{case.check}-{case.layout}-{number}-{published.metric}"
                yield pytest.param(name, number, published, marks=marks, id=case_id)


@dataclass(frozen=True)
class Measured:
    """What a twin gives: values, the seconds they took, and for each run what was asked for and printed."""

    found: list
    seconds: float
    runs: list


def measure(name):
    twin, runs = shipped(name), []

    def run(nodes, ppn, program, arguments):
        asked = partial(output, twin, nodes, program, bounds=Bounds(), ppn=ppn)
        runs.append((asked, program, arguments, asked(arguments)))
        return runs[-1][-1]

    begin = time.monotonic()
    found, _ = measured_values(run, twin)
    return Measured(found, time.monotonic() - begin, runs)


@pytest.fixture(scope="module")
def measured():
    """Measure all twins, two at a time."""
    with ThreadPoolExecutor(2) as pool:
        return dict(zip(NAMES, pool.map(measure, NAMES), strict=True))


@pytest.mark.parametrize(("name", "number", "published"), list(cases()))
def test_the_twin_has_the_value(measured, name, number, published):
    value = measured[name].found[number][published.metric]
    assert value == pytest.approx(published.value, rel=published.tolerance_percent / 100)


@pytest.mark.parametrize("name", [name for name in NAMES if shipped(name).cases])
def test_a_second_run_is_the_same_to_the_byte(measured, name):
    """Of a sweep its sizes around the eager limits, which are the same whatever else is measured."""
    for asked, program, arguments, first in measured[name].runs:
        if program == "rotate":
            assert asked(arguments) == first
        else:
            again = rows(asked((*arguments, "--min-size", "12K", "--max-size", "64K")))
            assert len(again) == 6 and set(again) < set(rows(first))


def rows(text):
    return [line for line in text.splitlines() if not line.startswith("#")]


def test_the_readme_has_the_values_of_the_twins(measured, report_table):
    lines = [f"{name:<14} {each.seconds:6.1f} s" for name, each in measured.items()]
    report_table("Twins: seconds for all published values", lines)
    found = {name: each.found for name, each in measured.items()}
    text = published_table.text([shipped(name) for name in NAMES], found)
    assert published_table.README.read_text() == text, (
        "stale; write it anew with fabric-checks twin table --write"
    )
