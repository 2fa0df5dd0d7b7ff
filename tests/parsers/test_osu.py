# SPDX-License-Identifier: BSD-3-Clause
"""The parser of OSU outputs, on every version there is a golden output of, and on broken ones."""

import pytest

from fabric_checks.errors import OutputError
from fabric_checks.metrics import powers_of_two
from fabric_checks.parsers import osu
from tests import breakages
from tests.conftest import GOLDEN

MiB = 1024**2
PORTS = {
    "latency": powers_of_two(0, 4 * MiB),
    "multi_lat": powers_of_two(0, 4 * MiB),
    "bw": powers_of_two(1, 4 * MiB),
    "bibw": powers_of_two(1, 4 * MiB),
    **dict.fromkeys(("allgather", "alltoall", "bcast", "gather", "scatter"), powers_of_two(0, MiB)),
    "barrier": [0],
}


def column_of(benchmark):
    """Return the name of the first column after the size."""
    name = benchmark.removesuffix("_persistent")
    if "bw" in name:
        return "bandwidth_MBps"
    return "overall_us" if name.startswith("i") else "latency_us"


def sizes_of(text):
    """Read the sizes off a golden output, independently of the parser: the first field of each row."""
    return [int(line.split()[0]) for line in text.splitlines() if breakages.is_row(line)]


def golden_files():
    """Return (version, benchmark, variant) of every golden output of the originals whose benchmark is supported."""
    for path in sorted((GOLDEN / "osu").rglob("*.txt")):
        benchmark, *variant = path.stem.split(".")
        name = benchmark.removeprefix("osu_")
        if name in osu.TITLES and not {"1rank", "killed", "vary"} & set(variant):
            yield pytest.param(path, name, id=f"{path.parent.name}-{path.stem}")


@pytest.mark.parametrize(("path", "benchmark"), list(golden_files()))
def test_every_version(path, benchmark):
    text = path.read_text()
    sizes = [0] if "barrier" in benchmark else sizes_of(text)
    output = osu.parse(text, benchmark, sizes)
    assert output.program == "osu"
    assert output.version.startswith(path.parent.name)
    column = column_of(benchmark)
    assert output.columns[0] == column
    # The oracle: the second field of the first and last row (the barrier has no size before it).
    rows = [line.split() for line in text.splitlines() if breakages.is_row(line)]
    field = 0 if "barrier" in benchmark else 1
    assert [output.rows[i].values[column] for i in (0, -1)] == [float(rows[i][field]) for i in (0, -1)]


@pytest.mark.parametrize("benchmark", PORTS)
def test_ports(golden, benchmark):
    text = golden(f"osu-py/4.1.2/osu_{benchmark}.txt")
    output = osu.parse(text, benchmark, PORTS[benchmark])
    assert (output.program, output.version) == ("osu-py", None)
    assert output.columns == (column_of(benchmark),)
    assert len(output.rows) == len(PORTS[benchmark])


def test_full_statistics(golden):
    text = golden("osu/7.4/osu_bcast.full.txt")
    output = osu.parse(text, "bcast", sizes_of(text))
    assert {"latency_us", "min_latency_us", "max_latency_us", "iterations"} <= set(output.columns)


@pytest.mark.parametrize("benchmark", PORTS)
def test_broken_outputs_are_refused(golden, benchmark):
    text = golden(f"osu-py/4.1.2/osu_{benchmark}.txt")
    for name, broken in breakages.of_table(text, [1]).items():
        with pytest.raises(OutputError):
            osu.parse(broken, benchmark, PORTS[benchmark])
            pytest.fail(f"{name} passed")


@pytest.mark.parametrize("benchmark", PORTS)
def test_another_benchmark_is_refused(golden, benchmark):
    other = "bw" if benchmark != "bw" else "latency"
    with pytest.raises(OutputError, match="expected 'MPI .* Test', found the output of"):
        osu.parse(golden(f"osu-py/4.1.2/osu_{other}.txt"), benchmark, PORTS[benchmark])


def test_messages_name_the_place(golden):
    text = golden("osu-py/4.1.2/osu_latency.txt")
    broken = breakages.of_table(text, [1])
    with pytest.raises(OutputError, match=r"^the table ends after 1024 B; 12 of 24 sizes are missing: 2048 B, 4096 B"):
        osu.parse("".join(text.splitlines(keepends=True)[:14]), "latency", PORTS["latency"])
    with pytest.raises(OutputError, match=r"^line 15: 'nan' is not a finite number"):
        osu.parse(broken["NaN in column 1"], "latency", PORTS["latency"])
    with pytest.raises(OutputError, match=r"^line 15: latency_us is 0 at 2048 B; a time or a rate must be positive"):
        osu.parse(broken["zero in column 1"], "latency", PORTS["latency"])


def test_a_refusal_and_a_kill_are_no_results(golden):
    with pytest.raises(OutputError, match="did not start"):
        osu.parse(golden("osu/7.4/osu_latency.1rank.txt"), "latency", PORTS["latency"])
    with pytest.raises(OutputError, match="sizes are missing|a row of 2 columns was expected"):
        osu.parse(golden("osu/5.6.1/osu_latency.killed.txt"), "latency", PORTS["latency"])


def test_a_failed_validation_fails():
    head = "\n# OSU MPI Latency Test v7.4\n# Datatype: MPI_CHAR.\n# Size       Avg Latency(us)        Validation\n"
    text = f"{head}1  0.2  Pass\n2  0.2  Fail\n"
    with pytest.raises(OutputError, match="line 6: the program's own validation failed at 2 B"):
        osu.parse(text, "latency", [1, 2])


def test_lines_around_the_table_do_not_matter(golden):
    text = "loading modules\n" + golden("osu-py/4.1.2/osu_bcast.txt") + "\nJob 17 done, bye\n"
    assert osu.parse(text, "bcast", PORTS["bcast"]).rows[0].line == 4


def test_a_table_of_varied_windows_is_refused(golden):
    with pytest.raises(OutputError, match="the output ends before the line of column titles|column titles"):
        osu.parse(golden("osu/7.4/osu_mbw_mr.vary.txt"), "mbw_mr", powers_of_two(1, 4096))


def test_a_message_rate_has_two_columns_and_tells_its_pairs(golden):
    output = osu.parse(golden("osu/7.4/osu_mbw_mr.4.txt"), "mbw_mr", powers_of_two(1, 4 * MiB))
    assert output.columns == ("bandwidth_MBps", "message_rate_per_s")
    assert (output.header["pairs"], output.header["window size"]) == ("2", "64")
    last = output.rows[-1].values
    assert last["message_rate_per_s"] * 4 * MiB / 1e6 == pytest.approx(last["bandwidth_MBps"], rel=1e-3)


@pytest.mark.parametrize("version", ["5.3.2", "5.6.1", "5.9", "6.2", "7.2", "7.4"])
def test_overlap(golden, version):
    text = golden(f"osu/{version}/osu_ialltoall.txt")
    output = osu.parse(text, "ialltoall", sizes_of(text))
    assert output.columns == ("overall_us", "compute_us", "pure_comm_us", "overlap_percent")
    row = next(line.split() for line in text.splitlines() if breakages.is_row(line))
    assert output.rows[0].values["overlap_percent"] == float(row[4])


@pytest.mark.parametrize("overlap", ["100.01", "-0.01", "50.00"])
def test_an_overlap_that_the_times_do_not_give_is_refused(golden, overlap):
    text = golden("osu/7.4/osu_ialltoall.txt")
    line = next(line for line in text.splitlines() if line.startswith("1024 "))
    with pytest.raises(OutputError, match=r"overlap"):
        osu.parse(text.replace(line, breakages.with_cell(line, 4, overlap)), "ialltoall", powers_of_two(1, MiB))


@pytest.mark.parametrize("synchronisation", osu.SYNCHRONISATIONS)
def test_each_synchronisation(golden, synchronisation):
    text = golden(f"osu/7.4/osu_put_latency.{synchronisation}.txt")
    header = osu.parse(text, "put_latency", powers_of_two(1, 4 * MiB)).header
    assert header["Synchronization"] == osu.SYNCHRONISATIONS[synchronisation]
    assert header["Window creation"] == "MPI_Win_create"


def test_the_memory_of_the_buffers():
    """As the source of 7.4 prints it; no machine with a GPU was at hand."""
    text = (
        "\n# OSU MPI-CUDA Latency Test v7.4\n# Send Buffer on DEVICE (D) and Receive Buffer on DEVICE (D)\n"
        "# Datatype: MPI_CHAR.\n# Size       Avg Latency(us)\n1                       1.45\n"
    )
    assert osu.parse(text, "latency", [1]).memory == "cuda"
    text = (
        "# OSU MPI_Put-ROCM Latency Test v7.4\n# Window creation: MPI_Win_create\n# Synchronization: MPI_Win_flush\n"
        "# Rank 0 Memory on DEVICE (D) and Rank 1 Memory on DEVICE (D)\n# Size          Latency (us)\n1     1.4\n"
    )
    assert osu.parse(text, "put_latency", [1]).memory == "rocm"


@pytest.mark.parametrize("version", ["5.3.2", "5.6.1", "5.9", "6.2", "7.2", "7.4"])
def test_startup(golden, version):
    text = golden(f"osu/{version}/osu_init.txt")
    output = osu.parse_init(text, 2)
    assert output.version == version
    assert f"min: {1000 * output.times_s['min']:.0f} ms, max: {1000 * output.times_s['max']:.0f} ms" in text
    timed = golden(f"osu/{version}/osu_hello.txt") + "launch_to_end_ns: 123456789\n"
    assert osu.parse_hello(timed, 2).times_s == {"launch": pytest.approx(0.123456789)}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("nprocs: 2", "nprocs: 1", "1 processes took part, not the 2 that were asked for"),
        ("min: 18", "min: 19", "not positive and in order"),
        ("min: 18", "min: 0", "not positive and in order"),
        ("avg: 18 ms", "", "0 lines 'nprocs: N, min: N ms, max: N ms, avg: N ms' where one was expected"),
        ("Init Test", "Hello World Test", "expected the output of OSU's Init Test"),
        ("# OSU", "#OSU", "0 lines '# OSU MPI Init Test vN'"),
    ],
)
def test_broken_init_times_are_refused(golden, old, new, message):
    text = golden("osu/7.4/osu_init.txt")
    with pytest.raises(OutputError, match=message):
        osu.parse_init(text.replace(old, new), 2)
    with pytest.raises(OutputError, match="2 lines '# OSU MPI Init Test vN' where one was expected"):
        osu.parse_init(text + text, 2)


def test_a_launch_without_its_time_is_refused(golden):
    text = golden("osu/7.4/osu_hello.txt")
    for broken in (
        text,
        text + "launch_to_end_ns: 12",
        text + "launch_to_end_ns: 0\n",
        "launch_to_end_ns: 12\n" + text,
    ):
        with pytest.raises(OutputError):
            osu.parse_hello(broken, 2)
