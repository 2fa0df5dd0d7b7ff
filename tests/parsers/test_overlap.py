# SPDX-License-Identifier: BSD-3-Clause
"""The parser of our program overlap."""

import pytest

from fabric_checks.core.errors import OutputError
from fabric_checks.parsers import overlap
from tests import breakages

SIZES = [0, *(2**power for power in range(23))]
GOLDEN = "overlap/mpich-5.0.2.txt"
#: Columns of isend, counted from 0; those of irecv follow in the same order.
NOMINAL, OVERHEAD, LOW, HIGH, AVAILABILITY, WORK, STEPS, STOP = range(1, 9)


def with_row(text, size_B, column, cell):
    """Return the output with one cell of a row replaced."""
    lines = text.splitlines(keepends=True)
    index = next(i for i, line in enumerate(lines) if line.startswith(f"{size_B} "))
    return breakages.replaced(lines, index, column, cell)


def test_a_real_output(golden):
    text = golden(GOLDEN)
    output = overlap.parse(text, SIZES)
    rows = [line.split() for line in text.splitlines() if breakages.is_row(line)]
    for transfer, first in (("isend", 0), ("irecv", 8)):

        def column(number, kind=float, first=first):
            return {int(row[0]): kind(row[first + number]) for row in rows}

        assert output.nominal_us(transfer) == column(NOMINAL)
        assert output.overhead_us(transfer) == column(OVERHEAD)
        assert output.availability_percent(transfer) == column(AVAILABILITY)
        assert output.steps(transfer) == column(STEPS, int)
        assert output.stops[transfer] == column(STOP, str)
        for number, end in ((LOW, "low"), (HIGH, "high")):
            name = f"{transfer}_overhead_ci_{end}_us"
            assert {row.size_B: row.values[name] for row in output.rows} == column(number)
    assert output.header["poll"] == "no"
    assert output.header["work"].startswith("one iteration takes ")
    assert output.header["progress thread"] == "no setting asks for one"


def test_broken_outputs_are_refused(golden):
    columns = [first + number for first in (0, 8) for number in (NOMINAL, OVERHEAD, WORK, STEPS)]
    for name, broken in breakages.of_table(golden(GOLDEN), columns).items():
        with pytest.raises(OutputError):
            overlap.parse(broken, SIZES)
            pytest.fail(f"{name} passed")


@pytest.mark.parametrize("cell", ["-0.01", "100.01", "nan", "inf", "-", "1e999"])
def test_an_availability_is_from_0_to_100(golden, cell):
    for column in (AVAILABILITY, 8 + AVAILABILITY):
        with pytest.raises(OutputError):
            overlap.parse(with_row(golden(GOLDEN), 1024, column, cell), SIZES)


ROW = "1024 {isend} 2 2 2 2 0 0.1 1 none"
HEAD = "# fabric-checks overlap 1\n# columns: size_B {columns}\n"


def one_row(isend):
    """Return an output of one size with these cells for isend."""
    names = ["nominal_us", "overhead_us", "overhead_ci_low_us", "overhead_ci_high_us", "availability_percent"]
    names += ["work_us", "steps", "stop"]
    columns = " ".join(f"{transfer}_{name}" for transfer in overlap.TRANSFERS for name in names)
    return HEAD.format(columns=columns) + ROW.format(isend=isend) + "\n# complete: 1 rows\n"


@pytest.mark.parametrize(
    "isend",
    [
        "2 0.5 0.4 0.6 75 1.6 12 knee",
        "2 1e-9 1e-9 1e-9 100 2.1 12 cap",  # rounded up to the whole
        "2 3 2 4 0 0.1 5 knee",  # an overhead above nominal leaves nothing
        "2 2 1.9 2.1 0 0.1 1 none",
    ],
)
def test_believable_rows(isend):
    output = overlap.parse(one_row(isend), [1024])
    cells = isend.split()
    assert output.availability_percent("isend") == {1024: float(cells[4])}
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
        ("2 0.5 0.4 0.6 75 1.6 12 kne", "a stop reason (knee, none, cap) was expected, found 'kne'"),
        ("2 0.5 0.4 0.6 75 1.6 12 ci", "a stop reason (knee, none, cap) was expected, found 'ci'"),
        ("2 0.5 0.4 0.6 75 1.6 12 none", "isend stopped with none at 1024 B, but its overhead is not nominal"),
    ],
)
def test_rows_that_contradict_themselves(isend, message):
    with pytest.raises(OutputError) as error:
        overlap.parse(one_row(isend), [1024])
    assert f"line 3: {message}" in str(error.value)


def test_another_program(golden):
    text = golden(GOLDEN)
    with pytest.raises(OutputError, match="expected the output of overlap, found that of 'streaming'"):
        overlap.parse(golden("streaming/mpich-5.0.2.txt"), SIZES)
    with pytest.raises(OutputError, match="the table has no column 'irecv_stop'"):
        overlap.parse(text.replace(" irecv_stop\n", "\n"), SIZES)
    with pytest.raises(OutputError, match="the table has 18 columns instead of 17"):
        overlap.parse(text.replace(" irecv_stop\n", " irecv_stop irecv_more\n").replace(" knee\n", " knee 1\n"), SIZES)
