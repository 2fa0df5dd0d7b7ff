# SPDX-License-Identifier: BSD-3-Clause
"""The parser of our programs overlap and collective_overlap."""

import pytest

from fabric_checks.parsers import overlap
from tests import breakages
from tests.breakages import refused
from tests.own_outputs import changed

NAMES = [
    "nominal_us",
    "overhead_us",
    "overhead_ci_low_us",
    "overhead_ci_high_us",
    "availability_percent",
]
NAMES += ["work_us", "steps", "stop"]
SIZES = {
    "overlap": [0, *(2**power for power in range(23))],
    "collective_overlap": [2**power for power in range(3, 21)],
}
PARSE = {"overlap": overlap.parse, "collective_overlap": overlap.parse_collectives}


@pytest.fixture(params=SIZES)
def real(request, golden):
    """Return the parser of a program, the sizes, and a real output."""
    return (
        PARSE[request.param],
        SIZES[request.param],
        golden(f"{request.param}/mpich-5.0.2.txt"),
    )


def test_a_real_output(real):
    parse, sizes, text = real
    output = parse(text, sizes)
    rows = [line.split() for line in text.splitlines() if breakages.is_row(line)]
    kinds = {"size_B": int, "steps": int, "stop": str}
    for number, column in enumerate(output.columns):
        kind = kinds.get(column.rpartition("_")[2], kinds.get(column, float))
        assert output.values(column) == {int(row[0]): kind(row[number]) for row in rows}
    endings = NAMES if parse is overlap.parse else [*NAMES, "osu_overlap_percent"]
    transfers = overlap.TRANSFERS if parse is overlap.parse else overlap.COLLECTIVES
    assert list(output.columns) == [
        "size_B",
        *(f"{each}_{ending}" for each in transfers for ending in endings),
    ]


@pytest.mark.parametrize(
    "column, cell",
    [
        *((4 + 1, cell) for cell in ("-0.01", "100.01", "nan", "inf", "-", "1e999")),
        *((column, "0") for column in (1, 2, 6, 7)),
        (8, "kneel"),
    ],
)
def test_what_cannot_be_is_refused(real, column, cell):
    parse, sizes, text = real
    row = next(line for line in text.splitlines() if line.startswith("1024 "))
    with refused(r"line \d+: "):
        parse(changed(text, row, breakages.with_cell(row, column, cell)), sizes)
