# SPDX-License-Identifier: BSD-3-Clause
"""The parser of IMB outputs, 2018 to 2021."""

import re

import pytest

from fabric_checks.errors import OutputError
from fabric_checks.metrics import powers_of_two
from fabric_checks.parsers import imb
from tests import breakages
from tests.conftest import GOLDEN

SIZES = powers_of_two(0, 4 * 1024**2)
REDUCTION_SIZES = [0, *powers_of_two(4, 4 * 1024**2)]
BENCHMARKS = {
    **dict.fromkeys(("PingPong", "PingPing", "Sendrecv", "Exchange", "Alltoall", "Allgather", "Bcast"), SIZES),
    **dict.fromkeys(("Allreduce", "Reduce"), REDUCTION_SIZES),
    "Barrier": [0],
}
VALUE_COLUMNS = {
    "PingPong": [2, 3],
    "PingPing": [2, 3],
    "Sendrecv": [2, 3, 4, 5],
    "Exchange": [2, 3, 4, 5],
    "Barrier": [1, 2, 3],
}


PRINTED_VERSION = {"2018.0": "2018", "2019.6": "2019 Update 6", "2021.11": "2021.11"}


def complete_files():
    """Return (path, benchmark) of the golden outputs on two processes that are complete."""
    for path in sorted((GOLDEN / "imb").rglob("*.txt")):
        if path.stem in BENCHMARKS:
            yield pytest.param(path, path.stem, id=f"{path.parent.name}-{path.stem}")


@pytest.mark.parametrize(("path", "benchmark"), list(complete_files()))
def test_every_version(path, benchmark):
    text = path.read_text()
    output = imb.parse(text, benchmark, BENCHMARKS[benchmark], 2)
    assert output.version == PRINTED_VERSION[path.parent.name]
    rows = [line.split() for line in text.splitlines() if breakages.is_row(line)]
    # The oracle: the average is the last column but for a bandwidth behind it.
    average = -2 if "bandwidth_MBps" in output.columns else -1
    assert [row.values["time_us"] for row in output.rows] == [float(row[average]) for row in rows]


@pytest.mark.parametrize(
    ("path", "benchmark"), [file for file in complete_files() if file.values[1] in ("PingPong", "Sendrecv", "Exchange")]
)
def test_bandwidth_is_in_units_of_a_million_bytes(path, benchmark):
    """What is printed agrees with bytes over time in every version; the unrounded figure is what is returned."""
    text = path.read_text()
    printed = [float(line.split()[-1]) for line in text.splitlines() if breakages.is_row(line)]
    output = imb.parse(text, benchmark, SIZES, 2)
    for row, bandwidth in zip(output.rows, printed, strict=True):
        assert row.values["bandwidth_MBps"] == pytest.approx(bandwidth, rel=0.02, abs=0.02)


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_broken_outputs_are_refused(golden, benchmark):
    text = golden(f"imb/2021.11/{benchmark}.txt")
    for name, broken in breakages.of_table(text, VALUE_COLUMNS.get(benchmark, [2, 3, 4])).items():
        with pytest.raises(OutputError):
            imb.parse(broken, benchmark, BENCHMARKS[benchmark], 2)
            pytest.fail(f"{name} passed")


def test_a_time_out_is_named(golden):
    found = 0
    for path in sorted((GOLDEN / "imb").rglob("*.timeout*.txt")):
        benchmark = path.name.split(".")[0]
        text = path.read_text()
        if "time-out." not in text:
            continue
        counts = [int(line.split()[-1]) for line in text.splitlines() if line.startswith("# #processes = ")]
        messages = []
        for processes in counts:
            try:
                imb.parse(text, benchmark, BENCHMARKS[benchmark], processes)
            except OutputError as error:
                messages.append(str(error))
        assert any(re.match(r"line \d+: IMB gave up at '\d+' B \(time-out.\)", message) for message in messages)
        found += 1
    assert found == 11


def test_the_block_of_the_right_number_of_processes(golden):
    text = golden("imb/2021.11/Sendrecv.4.txt")
    sizes = [int(line.split()[0]) for line in text.splitlines() if breakages.is_row(line)]
    sizes = sizes[: len(sizes) // 2]
    two, four = (imb.parse(text, "Sendrecv", sizes, processes) for processes in (2, 4))
    assert (two.processes, four.processes) == (2, 4)
    assert two.rows[0].line < four.rows[0].line
    with pytest.raises(
        OutputError,
        match="no block of Sendrecv on 8 processes; the output has 'Sendrecv on 2 processes', 'Sendrecv on 4",
    ):
        imb.parse(text, "Sendrecv", SIZES, 8)


def test_another_program_is_refused(golden):
    with pytest.raises(OutputError, match="no block '# Benchmarking PingPong': the program did not start"):
        imb.parse(golden("osu-py/4.1.2/osu_latency.txt"), "PingPong", SIZES, 2)
    with pytest.raises(OutputError, match="no block of PingPong on 2 processes; the output has 'Allreduce'"):
        imb.parse(golden("imb/2021.11/Allreduce.txt"), "PingPong", SIZES, 2)


def test_fewer_sizes_than_asked_for(golden):
    with pytest.raises(OutputError, match="sizes are missing"):
        imb.parse(golden("imb/2021.11/PingPong.msglog.txt"), "PingPong", SIZES, 2)
    imb.parse(golden("imb/2021.11/PingPong.msglog.txt"), "PingPong", [0, *powers_of_two(8, 1024)], 2)


def test_the_last_line_is_required(golden):
    text = golden("imb/2021.11/PingPong.txt").replace("# All processes entering MPI_Finalize", "")
    with pytest.raises(OutputError, match="the last line .* is missing: the program did not end by itself"):
        imb.parse(text, "PingPong", SIZES, 2)


QUICK = [0, *powers_of_two(8, 1024**2)]
NON_BLOCKING = sorted((GOLDEN / "imb" / "2021.11").glob("I*.1MiB.txt"))
ONE_SIDED = [
    path
    for path in sorted((GOLDEN / "imb" / "2021.11").glob("*_*.1MiB.txt"))
    if path not in NON_BLOCKING and not path.name.startswith("P2P.")
]
P2P = sorted((GOLDEN / "imb" / "2021.11").glob("P2P.*.1MiB.txt"))


@pytest.mark.parametrize("path", NON_BLOCKING, ids=lambda path: path.stem)
def test_non_blocking_collectives(path):
    text = path.read_text()
    rows = imb.parse(text, path.name.split(".")[0], QUICK, 2, program="IMB-NBC").rows
    last = [line.split() for line in text.splitlines() if breakages.is_row(line)][-1]
    names = ("overall_us", "communication_us", "compute_us", "overlap_percent")
    assert [rows[-1].values[name] for name in names] == [float(cell) for cell in last[2:]]


@pytest.mark.parametrize("version", ["2018.0", "2021.11"])
@pytest.mark.parametrize("benchmark", ["Iallreduce", "Ialltoall"])
def test_non_blocking_collectives_of_other_versions(golden, version, benchmark):
    first = 4 if benchmark == "Iallreduce" else 1
    sizes = [0, *powers_of_two(first, 16384)]
    assert imb.parse(golden(f"imb/{version}/{benchmark}.txt"), benchmark, sizes, 2, program="IMB-NBC").rows


@pytest.mark.parametrize("overlap", ["100.01", "-0.01", "77.00"])
def test_an_overlap_that_the_times_do_not_give_is_refused(golden, overlap):
    text = golden("imb/2021.11/Iallreduce.txt")
    line = next(line for line in text.splitlines() if line.split()[:1] == ["64"])
    broken = text.replace(line, breakages.with_cell(line, 5, overlap))
    with pytest.raises(OutputError, match="overlap"):
        imb.parse(broken, "Iallreduce", [0, *powers_of_two(4, 16384)], 2, program="IMB-NBC")


@pytest.mark.parametrize("path", ONE_SIDED, ids=lambda path: path.stem)
def test_one_sided(path):
    text, benchmark = path.read_text(), path.name.split(".")[0]
    modes = (imb.NON_AGGREGATE, imb.AGGREGATE) if "MODE: " in text else (None,)
    outputs = [imb.parse(text, benchmark, QUICK, 2, program="IMB-RMA", mode=mode) for mode in modes]
    rows = [line.split() for line in text.splitlines() if breakages.is_row(line)]
    assert [row.line for output in outputs for row in output.rows] == sorted(
        row.line for output in outputs for row in output.rows
    )
    assert sum(len(output.rows) for output in outputs) == len(rows)
    if "MODE: " in text:
        with pytest.raises(OutputError, match=f"no block of {benchmark} on 2 processes"):
            imb.parse(text, benchmark, QUICK, 2, program="IMB-RMA")
    else:
        with pytest.raises(OutputError, match=f"no block of {benchmark} on 2 processes"):
            imb.parse(text, benchmark, QUICK, 2, program="IMB-RMA", mode=imb.AGGREGATE)


@pytest.mark.parametrize("path", P2P, ids=lambda path: path.stem)
def test_point_to_point_of_all(path):
    text, benchmark = path.read_text(), path.name.split(".")[1]
    output = imb.parse(text, benchmark, QUICK[1:], 2, program="IMB-P2P")
    last = [line.split() for line in text.splitlines() if breakages.is_row(line)][-1]
    names = ("time_us", "bandwidth_MBps", "message_rate_per_s")
    assert [output.rows[-1].values[name] for name in names] == [float(cell) for cell in last[2:]]
    with pytest.raises(OutputError, match="expected the output of IMB-MPI1, found the part 'IMB-P2P'"):
        imb.parse(text, benchmark, QUICK[1:], 2)


def test_a_message_rate_that_does_not_fit_its_bandwidth_is_refused(golden):
    text = golden("imb/2021.11/P2P.PingPong.txt")
    line = next(line for line in text.splitlines() if line.split()[:1] == ["65536"])
    with pytest.raises(OutputError, match="do not fit 34087 messages/s of 65536 B"):
        imb.parse(text.replace(line, breakages.with_cell(line, 3, "2333.96")), "PingPong", SIZES, 2, program="IMB-P2P")


def test_a_refusal_is_named(golden):
    with pytest.raises(OutputError, match="IMB refused: 'Benchmark Stencil2D is invalid for 2 processes'"):
        imb.parse(golden("imb/2021.11/P2P.Stencil2D.refused.txt"), "Stencil2D", QUICK[1:], 2, program="IMB-P2P")
