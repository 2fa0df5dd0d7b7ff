# SPDX-License-Identifier: BSD-3-Clause
"""Every value of the documents against what the programs measure on its twin, and that a second run is the
same."""

import pytest

from fabric_twins import published_table
from fabric_twins.simulate import Bounds, output
from fabric_twins.smpirun import PROGRAM_OPTIONS
from tests.twins.simulation import shipped, simgrid

pytestmark = simgrid


@pytest.mark.parametrize("twin", published_table.shipped(), ids=lambda twin: twin.name)
def test_a_twin_has_its_values_and_the_readme_has_them(twin):
    found = {twin.name: published_table.simulated(twin)[0]}
    for row in published_table.rows([twin], found):
        allowed = row.published.tolerance_percent / 100
        is_met = row.value == pytest.approx(row.published.value, rel=allowed)
        assert is_met != bool(row.published.why_not), row
    page = published_table.README.read_text().splitlines()
    own = [
        line
        for line in published_table.text([twin], found).splitlines()
        if f"| {twin.name} |" in line
    ]
    assert set(own) <= set(page), (
        "stale; write it anew with fabric-checks twin table --write"
    )


@pytest.mark.parametrize(
    "name, nodes, program, more",
    [
        # The sizes around the eager limits.
        (
            "cbc",
            2,
            "streaming",
            ("--directions", "both", "--min-size", "12K", "--max-size", "64K"),
        ),
        ("feynman", 8, "rotate", ()),
    ],
)
def test_a_second_run_is_the_same_to_the_byte(name, nodes, program, more):
    options = (*PROGRAM_OPTIONS[program], *more)
    first, second = (
        output(shipped(name), nodes, program, options, Bounds()) for _ in range(2)
    )
    assert [line for line in first.splitlines() if not line.startswith("#")] == [
        line for line in second.splitlines() if not line.startswith("#")
    ]
