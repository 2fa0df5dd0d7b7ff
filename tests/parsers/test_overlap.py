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
HEAD = "# fabric-checks overlap 1\n# options: min-size 0 max-size 1024 max-steps 12 knee-share 0.05\n"
HEAD += "# columns: size_B {columns}\n"


def one_row(isend):
    """Return an output of one size with these cells for isend."""
    columns = " ".join(f"{transfer}_{name}" for transfer in overlap.TRANSFERS for name in NAMES)
    return (
        HEAD.format(columns=columns) + ROW.format(isend=isend) + "\n# ranks: 1\n# rank 0: host a\n# complete: 1 rows\n"
    )


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
        ("2 0.5 0.4 0.6 74.9 1.6 12 knee", "has an availability of 74.9 %, but 0.5 of 2 us are overhead"),
        ("2 0.5 0.6 0.7 75 1.6 12 knee", "takes 2 us, an overhead of 0.5 us from 0.6 to 0.7 and 1.6 us of work"),
        ("2 0 0 0 100 1.6 12 knee", "takes 2 us, an overhead of 0 us"),
        ("0 0.5 0.4 0.6 0 1.6 12 knee", "takes 0 us"),
        ("2 0.5 0.4 0.6 75 0 12 knee", "takes 2 us, an overhead of 0.5 us from 0.4 to 0.6 and 0 us of work"),
        ("2 0.5 0.4 0.6 75 1.6 0 knee", "took 0 steps, but the options allow 12"),
        ("2 0.5 0.4 0.6 75 1.6 11.5 knee", "took 11.5 steps, but the options allow 12"),
        ("2 0.5 0.4 0.6 75 1.6 14 knee", "took 14 steps, but the options allow 12"),
        ("2 0.5 0.4 0.6 75 1.2 12 knee", "stopped with 'knee', which does not fit 1.2 us of work and 0.5 of 2 us"),
        ("2 0.5 0.4 0.6 75 1.6 12 ci", "stopped with 'ci', which does not fit"),
        ("2 0.5 0.4 0.6 75 1.6 12 none", "stopped with 'none', which does not fit"),
    ],
)
def test_rows_that_contradict_themselves(isend, message):
    with pytest.raises(OutputError) as error:
        overlap.parse(one_row(isend), [1024])
    assert f"line 4: isend at 1024 B {message}" in str(error.value)


def test_another_program(golden):
    text = golden(GOLDEN)
    with pytest.raises(OutputError, match="expected the output of overlap, found that of 'streaming'"):
        overlap.parse(golden("streaming/mpich-5.0.2.txt"), SIZES)
    with pytest.raises(OutputError, match="the table has 'no column' where 'irecv_stop' was expected"):
        overlap.parse(text.replace(" irecv_stop\n", "\n"), SIZES)
    with pytest.raises(OutputError, match="the table has 'irecv_more' where 'no column' was expected"):
        overlap.parse(text.replace(" irecv_stop\n", " irecv_stop irecv_more\n").replace(" knee\n", " knee 1\n"), SIZES)


def test_other_operations_than_those_asked_for_are_refused(golden):
    sizes = PROGRAMS["collective_overlap"][1]
    text = golden("collective_overlap/mpich-5.0.2.txt")
    with pytest.raises(
        OutputError, match="the table has 'iallreduce_nominal_us' where 'ireduce_nominal_us' was expected"
    ):
        overlap.parse_collectives(text, sizes, ["ireduce"])
    with pytest.raises(OutputError, match="the table has 'iallreduce_nominal_us' where 'ialltoall_nominal_us'"):
        overlap.parse_collectives(text, sizes, ["ialltoall"])
