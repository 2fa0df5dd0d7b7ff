# SPDX-License-Identifier: BSD-3-Clause
"""The parser of our program collective_overlap; what it shares with that of overlap is tested there."""

import pytest

from fabric_checks.core.errors import OutputError
from fabric_checks.parsers import overlap
from tests import breakages
from tests.parsers.test_overlap import AVAILABILITY, NOMINAL, OVERHEAD, STEPS, STOP, WORK, with_row

SIZES = [2**power for power in range(3, 21)]
GOLDEN = "collective_overlap/mpich-5.0.2.txt"
OSU = STOP + 1
FIRST = {"iallreduce": 0, "ialltoall": OSU, "ibcast": 2 * OSU}


def test_a_real_output(golden):
    text = golden(GOLDEN)
    output = overlap.parse_collectives(text, SIZES)
    rows = [line.split() for line in text.splitlines() if breakages.is_row(line)]
    for operation, first in FIRST.items():

        def column(number, kind=float, first=first):
            return {int(row[0]): kind(row[first + number]) for row in rows}

        assert output.nominal_us(operation) == column(NOMINAL)
        assert output.availability_percent(operation) == column(AVAILABILITY)
        assert output.osu_overlap_percent(operation) == column(OSU)
        assert output.stops[operation] == column(STOP, str)
    assert output.header["ranks"] == "2"


def test_broken_outputs_are_refused(golden):
    columns = [first + number for first in FIRST.values() for number in (NOMINAL, OVERHEAD, WORK, STEPS)]
    for name, broken in breakages.of_table(golden(GOLDEN), columns).items():
        with pytest.raises(OutputError):
            overlap.parse_collectives(broken, SIZES)
            pytest.fail(f"{name} passed")


@pytest.mark.parametrize("cell", ["-0.01", "100.01", "nan", "inf", "-"])
def test_an_overlap_is_from_0_to_100(golden, cell):
    for first in FIRST.values():
        with pytest.raises(OutputError):
            overlap.parse_collectives(with_row(golden(GOLDEN), 1024, first + OSU, cell), SIZES)


def test_only_the_operations_asked_for(golden):
    """A run of other operations than those asked for is not taken for it."""
    text = golden(GOLDEN)
    columns = next(line for line in text.splitlines() if line.startswith("# columns: "))
    rows = [line.split() for line in text.splitlines() if breakages.is_row(line)]
    titles = columns.split()[2:]
    chosen = [0, *range(OSU + 1, 2 * OSU + 1)]
    ialltoall = "".join(
        [
            "# fabric-checks collective_overlap 1\n",
            f"# columns: {' '.join(titles[index] for index in chosen)}\n",
            *(" ".join(row[index] for index in chosen) + "\n" for row in rows),
            f"# complete: {len(rows)} rows\n",
        ]
    )
    output = overlap.parse_collectives(ialltoall, SIZES, ["ialltoall"])
    assert output.osu_overlap_percent("ialltoall") == {int(row[0]): float(row[2 * OSU]) for row in rows}
    with pytest.raises(OutputError, match="the table has no column 'iallreduce_nominal_us'"):
        overlap.parse_collectives(ialltoall, SIZES)
    with pytest.raises(OutputError, match="the table has 28 columns instead of 10"):
        overlap.parse_collectives(text, SIZES, ["ialltoall"])
