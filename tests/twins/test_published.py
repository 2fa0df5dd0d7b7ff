# SPDX-License-Identifier: BSD-3-Clause
"""Every figure of the documents against what the programs measure on its twin, and every run twice."""

import time

import pytest

from tests.conftest import TABLES
from tests.twins import measured
from tests.twins.simulation import TWINS, shipped, simgrid

pytestmark = simgrid

NAMES = sorted(file.stem for file in TWINS.glob("*.yaml"))


def cases():
    for name in NAMES:
        for benchmark, figures in shipped(name).figures.items():
            for figure, published in figures.items():
                marks = [pytest.mark.xfail(reason=published.why_not, strict=True)] if published.why_not else []
                yield pytest.param(name, benchmark, figure, marks=marks, id=f"{name}-{benchmark}-{figure}")


@pytest.fixture(scope="module")
def measure(simulator, request):
    """Return a function that measures a twin once."""
    done = {}

    def of(name):
        if name not in done:
            begin = time.monotonic()
            done[name] = (*measured.figures(simulator, shipped(name)), time.monotonic() - begin)
        return done[name]

    yield of
    lines = [f"{'twin':<14} {'figure':<52} {'published':>9} {'simulated':>9} {'':>7}"]
    for name, (found, _, seconds) in sorted(done.items()):
        for benchmark, figures in shipped(name).figures.items():
            for figure, published in figures.items():
                value = found[benchmark, figure.rpartition("_")[0]]
                how = f"not reproduced: {published.why_not}" if published.why_not else published.twin
                change = f"{100 * (value / published.value - 1):+.2f}%"
                what = f"{benchmark}.{figure}"
                lines.append(f"{name:<14} {what:<52} {published.value:>9g} {value:>9.4g} {change:>7} {how}")
        lines.append(f"{name:<14} took {seconds:.1f} s")
    request.config.stash.setdefault(TABLES, []).append(("Twins: published and simulated", lines))


@pytest.mark.parametrize(("name", "benchmark", "figure"), list(cases()))
def test_the_twin_has_the_figure(measure, name, benchmark, figure):
    published = shipped(name).figures[benchmark][figure]
    found, _, _ = measure(name)
    value = found[benchmark, figure.rpartition("_")[0]]
    assert value == pytest.approx(published.value, rel=published.tolerance_percent / 100)


@pytest.mark.parametrize("name", [name for name in NAMES if shipped(name).figures])
def test_a_second_run_is_the_same_to_the_byte(measure, simulator, name):
    _, outputs, _ = measure(name)
    assert measured.figures(simulator, shipped(name))[1] == outputs
