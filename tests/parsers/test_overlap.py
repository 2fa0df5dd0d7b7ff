# SPDX-License-Identifier: BSD-3-Clause
"""The parser of our programs overlap and collective_overlap."""

import pytest

from fabric_checks.core.errors import OutputError
from fabric_checks.parsers import overlap
from tests import breakages

SIZES = [0, *(2**power for power in range(23))]
GOLDEN = "overlap/mpich-5.0.2.txt"
#: Columns of the first transfer, counted from 0; those of the next ones follow in the same order.
NOMINAL, OVERHEAD, LOW, HIGH, AVAILABILITY, WORK, STEPS, STOP = range(1, 9)
NAMES = ["nominal_us", "overhead_us", "overhead_ci_low_us", "overhead_ci_high_us", "availability_percent"]
NAMES += ["work_us", "steps", "stop"]
#: Of collectives one more.
OSU = 9
#: The parser of each program, its sizes, and the columns before each of its transfers.
PROGRAMS = {
    "overlap": (overlap.parse, SIZES, {"isend": 0, "irecv": 8}),
    "collective_overlap": (
        overlap.parse_collectives,
        [2**power for power in range(3, 21)],
        {"iallreduce": 0, "ialltoall": 9, "ibcast": 18},
    ),
}


def with_row(text, size_B, column, cell):
    """Return the output with one cell of a row replaced."""
    lines = text.splitlines(keepends=True)
    index = next(i for i, line in enumerate(lines) if line.startswith(f"{size_B} "))
    return breakages.replaced(lines, index, column, cell)


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_real_output(golden, program):
    parse, sizes, firsts = PROGRAMS[program]
    text = golden(f"{program}/mpich-5.0.2.txt")
    output = parse(text, sizes)
    rows = [line.split() for line in text.splitlines() if breakages.is_row(line)]
    for transfer, first in firsts.items():

        def column(number, kind=float, first=first):
            return {int(row[0]): kind(row[first + number]) for row in rows}

        for number, name in enumerate(NAMES if program == "overlap" else [*NAMES, "osu_overlap_percent"], NOMINAL):
            if name == "stop":
                assert output.stops[transfer] == column(number, str)
            else:
                assert output.by_size(f"{transfer}_{name}") == column(number)
    assert output.header["ranks"] == "2"


@pytest.mark.parametrize("cell", ["-0.01", "100.01", "nan", "inf", "-", "1e999"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_percentages_are_from_0_to_100(golden, program, cell):
    parse, sizes, firsts = PROGRAMS[program]
    for first in firsts.values():
        for column in (AVAILABILITY, *([OSU] if program == "collective_overlap" else [])):
            with pytest.raises(OutputError):
                parse(with_row(golden(f"{program}/mpich-5.0.2.txt"), 1024, first + column, cell), sizes)


ROW = "1024 {isend} 2 2 2 2 0 0.1 1 none"
HEAD = "# fabric-checks overlap 1\n# options: max-steps 12\n# columns: size_B {columns}\n"


def one_row(isend):
    """Return an output of one size with these cells for isend."""
    columns = " ".join(f"{transfer}_{name}" for transfer in overlap.TRANSFERS for name in NAMES)
    return HEAD.format(columns=columns) + ROW.format(isend=isend) + "\n# complete: 1 rows\n"


@pytest.mark.parametrize(
    "isend",
    [
        "2 0.5 0.4 0.6 75 1.6 12 knee",
        "2 1e-09 1e-09 1e-09 100 2.1 12 cap",  # rounded up to the whole
        "2 3 2 4 0 0.1 5 knee",  # an overhead above nominal leaves nothing
        "2 2 1.9 2.1 0 0.1 1 none",
    ],
)
def test_believable_rows(isend):
    output = overlap.parse(one_row(isend), [1024])
    cells = isend.split()
    assert output.by_size("isend_availability_percent") == {1024: float(cells[4])}
    assert output.stops["isend"] == {1024: cells[-1]}


@pytest.mark.parametrize(
    ("isend", "message"),
    [
        ("2 0.5 0.4 0.6 74.9 1.6 12 knee", "isend_availability_percent is 74.9 at 1024 B, which does not follow"),
        ("2 0.5 0.6 0.7 75 1.6 12 knee", "isend_overhead_us lies outside its confidence interval at 1024 B"),
        ("2 0 0 0 100 1.6 12 knee", "isend_overhead_us is 0 at 1024 B"),
        ("0 0.5 0.4 0.6 0 1.6 12 knee", "isend_nominal_us is 0 at 1024 B"),
        ("2 0.5 0.4 0.6 75 0 12 knee", "isend_work_us is 0 at 1024 B"),
        ("2 0.5 0.4 0.6 75 1.6 0 knee", "isend_steps is 0 at 1024 B"),
        ("2 0.5 0.4 0.6 75 1.6 12.5 knee", "isend_steps is 12.5 at 1024 B, not a whole number"),
        ("2 0.5 0.4 0.6 75 1.6 13 knee", "isend_steps is 13, but the options allow 12 steps"),
        ("2 0.5 0.4 0.6 75 1.6 12 kne", "a stop reason (knee, none, cap) was expected, found 'kne'"),
        ("2 0.5 0.4 0.6 75 1.6 12 ci", "a stop reason (knee, none, cap) was expected, found 'ci'"),
        ("2 0.5 0.4 0.6 75 1.6 12 none", "isend stopped with none at 1024 B, but its overhead is not nominal"),
    ],
)
def test_rows_that_contradict_themselves(isend, message):
    with pytest.raises(OutputError) as error:
        overlap.parse(one_row(isend), [1024])
    assert f"line 4: {message}" in str(error.value)


def test_another_program(golden):
    text = golden(GOLDEN)
    with pytest.raises(OutputError, match="expected the output of overlap, found that of 'streaming'"):
        overlap.parse(golden("streaming/mpich-5.0.2.txt"), SIZES)
    with pytest.raises(OutputError, match="the table has no column 'irecv_stop'"):
        overlap.parse(text.replace(" irecv_stop\n", "\n"), SIZES)
    with pytest.raises(OutputError, match="the table has 18 columns instead of 17"):
        overlap.parse(text.replace(" irecv_stop\n", " irecv_stop irecv_more\n").replace(" knee\n", " knee 1\n"), SIZES)


def test_other_operations_than_those_asked_for_are_refused(golden):
    sizes = PROGRAMS["collective_overlap"][1]
    text = golden("collective_overlap/mpich-5.0.2.txt")
    with pytest.raises(OutputError, match="the table has no column 'ireduce_nominal_us'"):
        overlap.parse_collectives(text, sizes, ["ireduce"])
    with pytest.raises(OutputError, match="the table has 28 columns instead of 10"):
        overlap.parse_collectives(text, sizes, ["ialltoall"])
