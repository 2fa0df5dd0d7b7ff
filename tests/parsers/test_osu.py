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
COLUMN = {"bw": "bandwidth_MBps", "bibw": "bandwidth_MBps"}


def sizes_of(text):
    """Read the sizes off a golden output, independently of the parser: the first field of each row."""
    return [int(line.split()[0]) for line in text.splitlines() if breakages.is_row(line)]


def golden_files():
    """Return (version, benchmark, variant) of every golden output of the originals whose benchmark is supported."""
    for path in sorted((GOLDEN / "osu").rglob("*.txt")):
        benchmark, *variant = path.stem.split(".")
        name = benchmark.removeprefix("osu_")
        if name in osu.TITLES and not {"1rank", "killed"} & set(variant):
            yield pytest.param(path, name, id=f"{path.parent.name}-{path.stem}")


@pytest.mark.parametrize(("path", "benchmark"), list(golden_files()))
def test_every_version(path, benchmark):
    text = path.read_text()
    sizes = [0] if benchmark == "barrier" else sizes_of(text)
    output = osu.parse(text, benchmark, sizes)
    assert output.program == "osu"
    assert output.version.startswith(path.parent.name)
    column = COLUMN.get(benchmark, "latency_us")
    assert output.columns[0] == column
    # The oracle: the second field of the first and last row (the barrier has no size before it).
    rows = [line.split() for line in text.splitlines() if breakages.is_row(line)]
    field = 0 if benchmark == "barrier" else 1
    assert [output.rows[i].values[column] for i in (0, -1)] == [float(rows[i][field]) for i in (0, -1)]


@pytest.mark.parametrize("benchmark", PORTS)
def test_ports(golden, benchmark):
    text = golden(f"osu-py/4.1.2/osu_{benchmark}.txt")
    output = osu.parse(text, benchmark, PORTS[benchmark])
    assert (output.program, output.version) == ("osu-py", None)
    assert output.columns == (COLUMN.get(benchmark, "latency_us"),)
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
