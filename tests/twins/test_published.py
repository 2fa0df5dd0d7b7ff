# SPDX-License-Identifier: BSD-3-Clause
"""Every figure of the documents against what the programs measure on its twin, and every run twice."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from fabric_twins import published_table
from tests.twins.simulation import TWINS, shipped, simgrid

pytestmark = simgrid

NAMES = sorted(file.stem for file in TWINS.glob("*.yaml"))


def cases():
    for name in NAMES:
        for benchmark, figures in shipped(name).figures.items():
            for figure, published in figures.items():
                marks = [pytest.mark.xfail(reason=published.why_not, strict=True)] if published.why_not else []
                yield pytest.param(name, benchmark, figure, marks=marks, id=f"{name}-{benchmark}-{figure}")


def measured_twice(name):
    """Return what is measured on a twin, the outputs of two runs of everything, and the seconds of one."""
    begin = time.monotonic()
    found, outputs = published_table.simulated(shipped(name))
    seconds = time.monotonic() - begin
    return found, outputs, published_table.simulated(shipped(name))[1], seconds


@pytest.fixture(scope="module")
def measured():
    """Measure all twins, each twice, two at a time."""
    with ThreadPoolExecutor(2) as pool:
        return dict(zip(NAMES, pool.map(measured_twice, NAMES), strict=True))


@pytest.mark.parametrize(("name", "benchmark", "figure"), list(cases()))
def test_the_twin_has_the_figure(measured, name, benchmark, figure):
    published = shipped(name).figures[benchmark][figure]
    value = measured[name][0][benchmark, figure.rpartition("_")[0]]
    assert value == pytest.approx(published.value, rel=published.tolerance_percent / 100)


@pytest.mark.parametrize("name", [name for name in NAMES if shipped(name).figures])
def test_a_second_run_is_the_same_to_the_byte(measured, name):
    _, first, second, _ = measured[name]
    assert first == second and all(first)


def test_the_readme_is_what_the_twins_give(measured, report_table):
    lines = [f"{name:<14} {seconds:6.1f} s" for name, (_, _, _, seconds) in measured.items()]
    report_table("Twins: seconds for all published figures", lines)
    found = {name: figures for name, (figures, _, _, _) in measured.items()}
    text = published_table.text([shipped(name) for name in NAMES], found)
    assert published_table.README.read_text() == text, "stale; write it anew with fabric-checks twins-table --write"
