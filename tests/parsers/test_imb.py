# SPDX-License-Identifier: BSD-3-Clause
"""The parser of IMB outputs, 2018 to 2021."""

import re

import pytest

from fabric_checks.core.metrics import powers_of_two
from fabric_checks.parsers import imb
from tests import breakages
from tests.breakages import refused
from tests.conftest import GOLDEN
from tests.parsers import corpus

SIZES = powers_of_two(0, 4 * 1024**2)
REDUCTION_SIZES = [0, *powers_of_two(4, 4 * 1024**2)]
BENCHMARKS = {
    **dict.fromkeys(
        (
            "PingPong",
            "PingPing",
            "Sendrecv",
            "Exchange",
            "Alltoall",
            "Allgather",
            "Bcast",
        ),
        SIZES,
    ),
    **dict.fromkeys(("Allreduce", "Reduce"), REDUCTION_SIZES),
    "Barrier": [0],
}
VERSIONS = {"2018.0": "2018", "2019.6": "2019 Update 6", "2021.11": "2021.11"}


@pytest.mark.parametrize(
    "whole", list(corpus.imb_outputs()), ids=lambda whole: whole.name
)
def test_every_cell_of_every_version_is_read(whole):
    output, lines = whole.parse(whole.text), whole.text.splitlines()
    assert output.version == VERSIONS[whole.name.split("/")[1]]
    for row in output.rows:
        cells = lines[row.line - 1].split()
        if len(cells) > len(output.columns) + 1:
            assert int(cells.pop(0)) == row.size_B
        assert int(cells.pop(0)) > 0, "how often it was repeated is no value"
        for name, cell in zip(output.columns, cells, strict=True):
            # A bandwidth is computed from the time where that has more digits.
            is_exact = name != "bandwidth_MBps" or float(cell) >= row.values.get(
                "max_time_us", row.values.get("time_us", 0)
            )
            assert row.values[name] == pytest.approx(
                float(cell), abs=0 if is_exact else 0.0101
            )


@pytest.mark.parametrize(
    "path", sorted((GOLDEN / "imb").rglob("*.timeout*.txt")), ids=lambda path: path.name
)
def test_a_time_out_is_named(path):
    text, benchmark = path.read_text(), path.name.split(".")[0]
    *_, most = re.findall(r"(?m)^# #processes = (\d+)", text.partition("time-out.")[0])
    with refused(r"line \d+: IMB gave up at '\d+' B \(time-out.\)"):
        imb.parse(text, benchmark, BENCHMARKS[benchmark], int(most))


def test_the_block_of_the_right_number_of_processes(golden):
    text = golden("imb/2021.11/Sendrecv.4.txt")
    sizes = corpus.sizes_of(text)
    sizes = sizes[: len(sizes) // 2]
    two, four = (imb.parse(text, "Sendrecv", sizes, processes) for processes in (2, 4))
    assert two.processes == 2
    assert four.processes == 4
    assert two.rows[0].line < four.rows[0].line
    with refused(
        "no block of Sendrecv on 8 processes; the output has 'Sendrecv on 2 processes', 'Sendrecv on 4"
    ):
        imb.parse(text, "Sendrecv", SIZES, 8)


@pytest.mark.parametrize(
    "name, message",
    [
        (
            "osu-py/4.1.2/osu_latency",
            r"no line '# Intel\(R\) MPI Benchmarks': the program did not start",
        ),
        (
            "imb/2021.11/PingPong.msglog",
            "the row of size_B 1 was expected, found that of size_B 8",
        ),
        (
            "imb/2021.11/Ibarrier",
            "expected the output of IMB-MPI1, found the part 'MPI-NBC'",
        ),
    ],
)
def test_another_output_is_refused(golden, name, message):
    with refused(message):
        imb.parse(golden(f"{name}.txt"), "PingPong", SIZES, 2)


def test_the_last_line_is_required(golden):
    text = golden("imb/2021.11/PingPong.txt").replace(
        "# All processes entering MPI_Finalize", ""
    )
    with refused("no last line .*: the program did not end normally"):
        imb.parse(text, "PingPong", SIZES, 2)


QUICK = [0, *powers_of_two(8, 1024**2)]


def test_blocks_of_one_sided_operations_are_told_apart_by_their_mode(golden):
    both = golden("imb/2021.11/Unidir_put.1MiB.txt")
    one = golden("imb/2021.11/One_put_all.1MiB.txt")
    with refused(
        r"processes; the output has 'Unidir_put on 2 processes, mode (NON-)?AGGREGATE"
    ):
        imb.parse(both, "Unidir_put", QUICK, 2, program="IMB-RMA")
    with refused(
        "no block of One_put_all on 2 processes, mode AGGREGATE; the output has 'One"
    ):
        imb.parse(one, "One_put_all", QUICK, 2, program="IMB-RMA", mode=imb.AGGREGATE)


@pytest.mark.parametrize(
    "cells, message",
    [
        (
            'out-of-mem.; needed X=   1.500 GB; use flag "-mem X" or MAX_MEM_USAGE>=X (IMB_mem_info.h)',
            "raise -mem",
        ),
        (
            "int-overflow.; The production rank*size caused int overflow for given sample",
            "fewer processes",
        ),
    ],
)
def test_a_size_that_imb_gives_up_has_its_reason(golden, cells, message):
    text = re.sub(
        r"(?m)^( +1024) .*", rf"\1 {cells}", golden("imb/2021.11/Allreduce.txt")
    )
    with refused(f"line .*: IMB gave up at '1024' B .*{message}"):
        imb.parse(text, "Allreduce", REDUCTION_SIZES, 2)


def test_the_defects_of_a_checking_program_have_to_be_none(golden):
    plain = golden("imb/2021.11/PingPong.txt")
    text = re.sub(
        r"(?m)^( +#bytes .*)$",
        r"\1      defects",
        re.sub(r"(?m)^( +\d+ .*\d)$", r"\1         0.00", plain),
    )
    found, expected = (imb.parse(each, "PingPong", SIZES, 2) for each in (text, plain))
    assert found.columns == (*expected.columns, "defects")
    assert [row.values | {"defects": 0.0} for row in expected.rows] == [
        row.values for row in found.rows
    ]
    with refused(
        r"line \d+: IMB's own check \(-DCHECK\) found wrong data at 64 B: defects 2"
    ):
        imb.parse(with_row(text, 64, {4: "2.00"}), "PingPong", SIZES, 2)


def test_a_refusal_is_named(golden):
    text = golden("imb/2021.11/P2P.Stencil2D.refused.txt").replace("IMB-P2P", "MPI-1")
    with refused("IMB refused: 'Benchmark Stencil2D is invalid for 2 processes'"):
        imb.parse(text, "Stencil2D", QUICK[1:], 2)


@pytest.mark.parametrize(
    "benchmark, old, new",
    [
        ("Alltoall", "t_min[usec]  t_max[usec]", "t_max[usec]  t_min[usec]"),
        ("Barrier", "#repetitions", "#bytes"),
        (
            "PingPong",
            "#---------------------------------------------------\n       #b",
            "# Benchmarking X\n#b",
        ),
    ],
)
def test_column_titles_that_are_not_the_benchmarks_are_refused(
    golden, benchmark, old, new
):
    text = golden(f"imb/2021.11/{benchmark}.txt")
    assert old in text
    with refused(
        r"line \d+: the column titles '.*' are not this benchmark's, which are '#"
    ):
        imb.parse(text.replace(old, new), benchmark, BENCHMARKS[benchmark], 2)


def with_row(text, size, columns):
    """Return an output with cells of the row of a size replaced, by column."""
    line = next(line for line in text.splitlines() if line.split()[:1] == [str(size)])
    for column, cell in columns.items():
        text = text.replace(line, line := breakages.with_cell(line, column, cell))
    return text


def test_a_collective_takes_time_on_no_bytes_too(golden):
    text = with_row(
        golden("imb/2021.11/Alltoall.txt"), 0, {2: "0.00", 3: "0.00", 4: "0.00"}
    )
    with refused("min_time_us is 0 at 0 B; a time or a rate must be positive"):
        imb.parse(text, "Alltoall", SIZES, 2)


@pytest.mark.parametrize(
    "benchmark, mode", [("One_put_all", None), ("Unidir_put", imb.NON_AGGREGATE)]
)
def test_a_loop_of_nothing_may_take_no_time(golden, benchmark, mode):
    """IMB-RMA reads the clock once for many operations."""
    text = with_row(golden(f"imb/2021.11/{benchmark}.1MiB.txt"), 0, {2: "0.00"})
    row = imb.parse(text, benchmark, QUICK, 2, program="IMB-RMA", mode=mode).rows[0]
    assert row.values["time_us"] == 0
    assert row.values["bandwidth_MBps"] == 0


def test_a_benchmark_that_ran_twice_is_not_taken_for_one(golden):
    text = golden("imb/2021.11/PingPong.txt")
    block = text[
        text.index(
            "#---------------------------------------------------\n# Benchmarking"
        ) :
    ]
    block = block[: block.index("# All processes entering")]
    with refused("2 blocks of PingPong on 2 processes where one was expected"):
        imb.parse(text.replace(block, block * 2), "PingPong", SIZES, 2)


def test_two_versions_in_one_output_are_refused(golden):
    head = golden("imb/2019.6/PingPong.txt").split("# Benchmarking")[0]
    with refused(
        r"2 times the line '# Intel\(R\) MPI Benchmarks': several programs printed this"
    ):
        imb.parse(head + golden("imb/2021.11/PingPong.txt"), "PingPong", SIZES, 2)


def test_what_intel_mpi_says_of_its_settings_is_passed_over(golden):
    """Intel MPI 2021.18 prints these on standard output, before the program's own lines."""
    text = golden("imb/2021.11/PingPong.txt")
    said = (
        "MPI startup(): Incorrect algorithm: ALLREDUCE=99, will be ignored\n"
        "MPI startup(): I_MPI_FOO environment variable is not supported.\n"
        "MPI startup(): Similar variables:\n\t I_MPI_FC\n\t I_MPI_ROOT\n"
    )
    plain, warned = (
        imb.parse(output, "PingPong", SIZES, 2) for output in (text, said + text)
    )
    assert [row.values for row in warned.rows] == [row.values for row in plain.rows]
