# SPDX-License-Identifier: BSD-3-Clause
"""The parser of OSU outputs, on every version there is a golden output of, and on broken ones."""

import pytest

from fabric_checks.core.errors import OutputError
from fabric_checks.core.metrics import powers_of_two
from fabric_checks.parsers import osu
from tests import breakages
from tests.breakages import refused
from tests.parsers import corpus
from tests.parsers.corpus import sizes_of

MiB = 1024**2
LATENCY = "osu-py/4.1.2/osu_latency.txt"
SIZES = powers_of_two(0, 4 * MiB)


@pytest.mark.parametrize(
    "whole", list(corpus.osu_outputs()), ids=lambda whole: whole.name
)
def test_program_version_and_first_column_of_every_release(whole):
    output = whole.parse(whole.text)
    program, release, name = whole.name.split("/")
    assert output.program == program
    assert (output.version or release)[: len(release)] == release
    assert (output.version is None) == (program == "osu-py")
    kind = (
        "overall_us"
        if name.startswith("osu_i")
        else "bandwidth_MBps"
        if "bw" in name
        else "latency_us"
    )
    assert output.columns[0] == kind
    lines = whole.text.splitlines()
    for row in output.rows:
        assert row.values[kind] == float(
            lines[row.line - 1].split()[-len(output.columns)]
        )


@pytest.mark.parametrize(
    "name, benchmark, message",
    [
        (
            LATENCY,
            "bw",
            "expected 'MPI Bandwidth Test', found the output of 'MPI Latency Test'",
        ),
        (
            LATENCY,
            "barrier",
            "expected 'MPI Barrier Latency Test', found the output of 'MPI Latency Test'",
        ),
        ("osu/7.4/osu_latency.1rank.txt", "latency", "did not start"),
        (
            "osu/5.6.1/osu_latency.killed.txt",
            "latency",
            "an unexpected row of size_B 8388608",
        ),
        (
            "osu/7.4/osu_mbw_mr.vary.txt",
            "mbw_mr",
            "the columns without titles are not those",
        ),
    ],
)
def test_another_benchmark_a_refusal_and_a_kill_are_no_results(
    golden, name, benchmark, message
):
    with refused(message):
        osu.parse(golden(name), benchmark, SIZES)


@pytest.mark.parametrize(
    "change, message",
    [
        (
            lambda text: "".join(text.splitlines(keepends=True)[:14]),
            "^the last 12 of 24 rows are missing",
        ),
        (
            lambda text: breakages.of_table(text, [1])["NaN in column 1"],
            "^line 15: 'nan' is not a finite",
        ),
        (
            lambda text: breakages.of_table(text, [1])["zero in column 1"],
            "^line 15: latency_us is 0 at 2048 B",
        ),
        (
            lambda text: text.rstrip("\n"),
            "^line 26: the output ends within its last row",
        ),
    ],
)
def test_messages_name_line_and_size(golden, change, message):
    with refused(message):
        osu.parse(change(golden(LATENCY)), "latency", SIZES)


VALIDATED = (
    "\n# OSU MPI Latency Test v7.4\n# Datatype: MPI_CHAR.\n"
    "# Size       Latency (us)        Validation\n"
)


@pytest.mark.parametrize(
    "text, message",
    [
        (f"{VALIDATED}1  0.00  Pass\n2  0.20  Pass\n", None),
        (
            f"{VALIDATED}1  0.20  Fail\nDATA VALIDATION ERROR: osu_latency exited with status 1\n",
            "wrong data at 1 B",
        ),
        (f"{VALIDATED}1  0.20  Pass\n", "from size_B 2 on"),
        (
            f"{VALIDATED.replace('Validation', '')}1  0.20\n2  0.20\n",
            "no column 'Validation'",
        ),
    ],
    ids=["right", "wrong", "killed", "without -c"],
)
def test_data_are_right_where_every_size_says_so(text, message):
    """OSU ends after wrong data; the times of two repetitions may be 0."""
    if message is None:
        osu.require_validated(text, "latency", [1, 2])
    else:
        with refused(message):
            osu.require_validated(text, "latency", [1, 2])


def test_lines_around_the_table_do_not_matter(golden):
    before = "loading modules\n# OSU Micro-Benchmarks, broadcast: Test 7 of 9\n"
    text = before + golden("osu-py/4.1.2/osu_bcast.txt") + "\nJob 17 done, bye\n"
    assert osu.parse(text, "bcast", powers_of_two(0, MiB)).rows[0].line == 5


def test_a_crash_behind_the_titles_is_no_wrong_title():
    text = (
        "# OSU MPI Bandwidth Test v5.9\n"
        "# Size      Bandwidth (MB/s)[n01:1] *** Process received signal ***\n"
    )
    with refused("^the last 1 of 1 rows are missing, from size_B 1 on$"):
        osu.parse(text, "bw", [1])


def test_a_message_rate_has_two_columns_and_tells_its_pairs(golden):
    output = osu.parse(
        golden("osu/7.4/osu_mbw_mr.4.txt"), "mbw_mr", powers_of_two(1, 4 * MiB)
    )
    assert output.columns == ("bandwidth_MBps", "message_rate_per_s")
    assert output.header["pairs"] == "2"
    assert output.header["window size"] == "64"
    last = output.rows[-1].values
    assert last["message_rate_per_s"] * 4 * MiB / 1e6 == pytest.approx(
        last["bandwidth_MBps"], rel=1e-3
    )


def test_the_synchronisation_is_in_the_header(golden):
    text = golden("osu/7.4/osu_put_latency.fence.txt")
    header = osu.parse(text, "put_latency", powers_of_two(1, 4 * MiB)).header
    assert header["Synchronization"] == osu.SYNCHRONISATIONS["fence"]
    assert header["Window creation"] == "MPI_Win_create"


def test_the_memory_of_the_buffers():
    """As the source of 7.4 prints it; no machine with such a GPU was at hand."""
    text = (
        "# OSU MPI_Put-ROCM Latency Test v7.4\n# Window creation: MPI_Win_create\n# Synchronization:"
        " MPI_Win_flush\n# Rank 0 Memory on DEVICE (D) and Rank 1 Memory on DEVICE (D)\n# Size         "
        " Latency (us)\n1     1.40\n"
    )
    assert osu.parse(text, "put_latency", [1]).memory == "rocm"


@pytest.mark.parametrize("version", ["5.3.2", "5.6.1", "5.9", "6.2", "7.2", "7.4"])
def test_startup(golden, version):
    text = golden(f"osu/{version}/osu_init.txt")
    output = osu.parse_init(text, 2)
    assert output.version == version
    assert (
        f"min: {1000 * output.times_s['min']:g} ms, max: {1000 * output.times_s['max']:g} ms"
        in text
    )
    timed = golden(f"osu/{version}/osu_hello.txt") + "launch_to_end_ns: 123456789\n"
    assert osu.parse_hello(timed, 2).times_s == {"launch": pytest.approx(0.123456789)}


@pytest.mark.parametrize(
    "old, new, message",
    [
        (
            "nprocs: 2",
            "nprocs: 1",
            "1 processes took part instead of the 2 that were asked for",
        ),
        ("min: 18", "min: 0", "must be positive"),
        ("Init Test", "Hello World Test", "no line '# OSU MPI Init Test vN'"),
        (
            "# OSU",
            "# OSU MPI Init Test v7.4\n# OSU",
            "2 times the line '# OSU MPI Init Test vN'",
        ),
    ],
)
def test_broken_init_times_are_refused(golden, old, new, message):
    with refused(message):
        osu.parse_init(golden("osu/7.4/osu_init.txt").replace(old, new), 2)


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "{}launch_to_end_ns: 12",
        "{}launch_to_end_ns: 0\n",
        "launch_to_end_ns: 12\n{}",
    ],
)
def test_a_launch_without_its_time_is_refused(golden, text):
    with pytest.raises(OutputError):
        osu.parse_hello(text.format(golden("osu/7.4/osu_hello.txt")), 2)


PARSED = {
    "latency": "# Size       Avg Latency(us)\n{}",
    "mbw_mr": "# [ pairs: 1 ] [ window size: 64 ]\n# Size                  MB/s        Messages/s\n{}",
    "ialltoall": "# Size           Overall(us)       Compute(us)    Pure Comm.(us)        Overlap(%)\n{}",
    "barrier": "# Avg Latency(us)\n{}",
    "allreduce": "# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations\n{}",
}


def parsed(benchmark, rows, sizes=(1, 2)):
    """Parse a table as 7.4 prints it, with these rows."""
    title = f"# OSU {osu.TITLES[benchmark]} v7.4\n"
    return osu.parse(title + PARSED[benchmark].format(rows), benchmark, list(sizes))


@pytest.mark.parametrize("at", [2, 9])
@pytest.mark.parametrize(
    "title",
    [
        "# OSU MPI Bandwidth Test v7.4",
        "# OSU MPI Latency Test v7.2",
        "# OSU OpenSHMEM Put Test v7.4",
        "# OSU MPI Latency Test vnan",
        "# OSU MPI7 Latency Test v7.4",
    ],
)
def test_another_title_is_refused(golden, at, title):
    lines = golden("osu/7.4/osu_latency.txt").splitlines(keepends=True)
    text = "".join([*lines[:at], title + "\n", *lines[at:]])
    with refused(
        rf"line {at + 1}: (expected 'MPI Latency Test', found|a second table begins)"
    ):
        osu.parse(text, "latency", sizes_of("".join(lines)))


def test_a_message_rate_that_ran_twice_is_not_taken_for_one(golden):
    """Its title may be there twice (6.x to 7.2), but before the table."""
    text = golden("osu/7.4/osu_mbw_mr.txt")
    with refused("a second line of titles: several programs printed this"):
        osu.parse(text * 2, "mbw_mr", sizes_of(text))


@pytest.mark.parametrize(
    "both, numbers",
    [
        (lambda lines: lines * 2, "2, 29"),
        (lambda lines: [line * 2 for line in lines], "3, 4"),
    ],
)
def test_two_tables_are_named_with_their_lines(golden, both, numbers):
    text = golden("osu/7.4/osu_latency.txt")
    with refused(
        f"^2 tables of this benchmark begin, in lines {numbers}: it ran several tim"
    ):
        osu.parse(
            "".join(both(text.splitlines(keepends=True))), "latency", sizes_of(text)
        )


NO_TWO_DECIMALS = (
    "1",
    "1.5",
    "1.500",
    "15",
    ".50",
    "01.50",
    "1.50e0",
    "1,50",
    "+1.50",
    "1.5O",
    "9" * 5000,
)
NO_WHOLE_NUMBERS = ("1000.00", "1e3", "-1000", "01000")
NOT_IN_ORDER = ("1.50 1.51 1.60", "1.61 1.40 1.60", "1.50 1.60 1.40")
BAD_ROWS = [("latency", f"1 1.50\n2 {cell}\n", "^line 4: ") for cell in NO_TWO_DECIMALS]
BAD_ROWS += [
    ("latency", "01 1.50\n2 1.50\n", "a message size was expected, found '01'")
]
BAD_ROWS += [
    ("allreduce", f"1 1.50 1.40 1.60 {cell}\n", "a whole number")
    for cell in NO_WHOLE_NUMBERS
]
ORDER = "is not the mean of latency_us at 1 B from"
BAD_ROWS += [("allreduce", f"1 {times} 1000\n", ORDER) for times in NOT_IN_ORDER]


@pytest.mark.parametrize("benchmark, rows, message", BAD_ROWS)
def test_rows_that_no_release_prints_are_refused(benchmark, rows, message):
    with refused(message):
        parsed(benchmark, rows, [1, 2] if benchmark == "latency" else [1])


@pytest.mark.parametrize(
    "size, bandwidth, nearest, too_far",
    [
        (1, "8.35", "8355000.00", "8356000.00"),
        (2**22, "9338.38", "2226.44", "2226.47"),
        (8, "0.01", "1874.00", "1900.00"),
    ],
)
def test_a_message_rate_that_does_not_fit_its_bandwidth_is_refused(
    size, bandwidth, nearest, too_far
):
    assert parsed("mbw_mr", f"{size} {bandwidth} {nearest}\n", [size])
    with refused(rf"line 4: .* MB/s do not fit .* messages/s of {size} B"):
        parsed("mbw_mr", f"{size} {bandwidth} {too_far}\n", [size])


def test_the_average_of_communication_is_between_its_extremes(golden):
    text = golden("osu/7.4/osu_ialltoall.full.txt")
    line = next(line for line in text.splitlines() if line.startswith("1024 "))
    other = text.replace(line, breakages.with_cell(line, 7, "999.99"))
    with refused("is not the mean of pure_comm_us at 1024 B from 999.995"):
        osu.parse(other, "ialltoall", sizes_of(text))
    with refused("mpi_test_us is -1 at 1024 B"):
        osu.parse(
            text.replace(line, breakages.with_cell(line, 4, "-1.00")),
            "ialltoall",
            sizes_of(text),
        )


@pytest.mark.parametrize(
    "times, overlap, fits",
    [
        ("0.10 0.05 0.06", "38.46", True),  # 0.095, 0.055 and 0.065
        ("0.10 0.05 0.06", "0.00", True),
        ("0.10 0.05 0.06", "39.00", False),
        ("0.10 0.05 2.00", "96.90", False),
        ("6.43 3.26 2.92", "-0.01", False),
    ],
)
def test_an_overlap_fits_its_times_as_closely_as_they_are_printed(times, overlap, fits):
    rows = f"1 {times} {overlap}\n"
    if fits:
        assert parsed("ialltoall", rows, [1])
    else:
        with refused("does not fit the times at 1 B, which give .* to .* %"):
            parsed("ialltoall", rows, [1])


HARMLESS = [
    "-" * 40,
    "----- -----",
    "2026-01-01 12:00:03",
    "0: done",
    "3 processes",
    "-",
    "12:00:03",
    "+ exit",
]


@pytest.mark.parametrize("line", HARMLESS)
def test_harmless_lines_behind_a_whole_table_are_passed_over(line):
    for benchmark, rows, sizes in (
        ("latency", "1 1.50\n2 1.50\n", (1, 2)),
        ("barrier", "1.50\n", (0,)),
    ):
        assert parsed(benchmark, f"{rows}{line}\n", sizes) == parsed(
            benchmark, rows, sizes
        )


@pytest.mark.parametrize(
    "line, number",
    [
        *(
            (line, 5)
            for line in ("4 1.50", "nan nan", "2 1.5", "3 -inf", "-1 0", "2 1e5")
        ),
        ("Job 17 done\n4 1.50", 6),
    ],
)
def test_a_further_row_behind_a_whole_table_is_refused(line, number):
    with refused(f"line {number}: "):
        parsed("latency", f"1 1.50\n2 1.50\n{line}\n")
