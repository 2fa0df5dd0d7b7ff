# SPDX-License-Identifier: BSD-3-Clause
"""Formats told apart by their content, and what measures pairs again."""

import pytest

from fabric_checks.core.errors import OutputError
from fabric_checks.matrices import (
    clusterkit,
    formats,
    linktest,
    mpigraph,
    nccl_tests,
    perftest,
    plain,
    superbench,
)
from fabric_checks.matrices.model import End, PairTable, Row
from fabric_checks.parsers.latency_map import LatencyOutput
from fabric_checks.parsers.rotate import RotateOutput
from tests.matrices import samples
from tests.matrices.made import csv_text, matrix
from tests.matrices.reading import cells, refusal

CSV = csv_text(matrix(3, 1))
SAMPLES = {
    "ClusterKit": samples.CLUSTERKIT,
    "nccl-tests": samples.NCCL,
    "mpiGraph": samples.MPIGRAPH,
    "LinkTest": samples.linktest(),
    "superbench ib-traffic": samples.superbench(),
    "perftest": samples.PERFTEST,
    "CSV": CSV,
}


def test_formats_are_told_apart_by_content(golden):
    assert isinstance(formats.parse(golden("rotate/mpich-5.0.2.txt")), RotateOutput)
    assert isinstance(formats.parse(golden("latency_map/mpich-5.0.2.txt")), LatencyOutput)
    for name, text in SAMPLES.items():
        assert {table.format for table in formats.parse(text)} == {name}


@pytest.mark.parametrize(
    ("reader", "text"),
    [
        (nccl_tests, samples.nccl_json()),
        (nccl_tests, samples.NCCL[samples.NCCL.index("#       size") :]),
        (perftest, samples.PERFTEST_LATENCY),
        (plain, samples.CSV_ROWS),
        (mpigraph, samples.MPIGRAPH.replace("START mpiGraph", "")),
        (mpigraph, samples.MPIGRAPH.replace("END mpiGraph", "")),
        *zip(
            (clusterkit, nccl_tests, mpigraph, linktest, superbench, perftest, plain),
            SAMPLES.values(),
            strict=True,
        ),
    ],
)
def test_a_format_has_the_signature_of_its_own_reader_only(reader, text):
    assert [each for each in formats.READERS if each.SIGNATURE.search(text)] == [reader]
    for other in formats.READERS:
        if other is not reader:
            with pytest.raises(OutputError):
                other.parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "MPI Rank: 0 1 2\n",
        "Rank: 0 1 of 2\n",
        "Using devices\n",
        "#  size of the count, type float\n",
        '{"nccl": 22902}\n',
        "mpiGraph measures all pairs; Backend mpiGraph\n",
        "0 1 0.0000110 11363.63636364\n",
        "0 1 0.00001100 11363.63636364 2\n",
        '{"other/ib-traffic/x": 1, "kernel-launch/event_time:0": 0.01}\n',
        "#bytes and #iterations\n",
        "unit: GB/s, larger is better\n",
        "# the unit: GB/s\n",
    ],
)
def test_what_only_looks_like_a_signature_is_of_no_format(text):
    assert "format not recognized" in refusal(text)


def test_numbers_of_tasks_before_all_lines_change_nothing():
    labelled = "".join(f"0: {line}\n" for line in samples.NCCL.splitlines())
    assert cells(formats.parse(labelled)[0]) == cells(formats.parse(samples.NCCL)[0])


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("", "format not recognized; known are rotate, latency_map, ClusterKit, nccl-tests"),
        (samples.CLUSTERKIT + CSV, "the output of ClusterKit and of CSV or TSV"),
        (CSV + "# fabric-checks rotate 1\n", "and of rotate or latency_map at once"),
        (samples.DGNETTEST, "rotate or mpiGraph (it calls low itself: 'nid000023')"),
        (
            "PER-PROCESS STRAGGLER ANALYSIS (OOP)\n",
            "the fastest and slowest process of a collective, but no pairs",
        ),
        ("PER-NODE ANALYSIS (2 nodes, process-max rows, OOP)\n", "give the JSON that it was made from"),
        (
            " Parallel PingPong for step     1:   avg= 11.0us",
            "let pingponganalysis -g write gnuplotinput.dat",
        ),
        ("Parallel Results for step 3: min: 11.6 us", "let pingponganalysis -g write gnuplotinput.dat"),
        ("sion\x00\x01", "its SION file is no text"),
        (
            "The prefix of cmd to run is: ib_write_bw -a\nconfig:\n0,1\n",
            "give results-summary.jsonl of that run",
        ),
        (
            '{"Nodes": ["a"], "Links": [[0, 1.0]]}',
            "JSON is not published: give bandwidth.txt and latency.txt",
        ),
    ],
)
def test_what_is_of_no_format_or_of_two_is_refused(text, cause):
    assert cause in refusal(text)


A, B = map(End, "ab")


@pytest.mark.parametrize(
    ("program", "kind", "device", "text", "commands"),
    [
        ("ClusterKit", "", "", "a\nb\n", ["clusterkit.sh -f next.txt --exe_opt '-d bw -d lat -x'"]),
        ("mpiGraph", "", "task 1", "a\nb\n", ["mpirun -hostfile next.txt -np 2 mpiGraph 65536 20 10"]),
        (
            "nccl-tests",
            "alltoall_perf",
            "gpu 0",
            "",
            ["mpirun -np 2 -H a:1,b:1 alltoall_perf -b 65536 -e 65536"],
        ),
        ("nccl-tests", "alltoall_perf", "gpu 3", "from,to\na gpu 3,b gpu 3\na gpu 3,c gpu 3\n", []),
        ("nccl-tests", "", "", "from,to\na,b\na,c\n", []),
        (
            *("perftest", "ib_send_lat", "mlx5_1", ""),
            [
                "echo 'a -> b'; ssh b ib_send_lat -F -s 65536 -d mlx5_1 >/dev/null & sleep 1; "
                "ssh a ib_send_lat -F -s 65536 -d mlx5_1 b; wait"
            ],
        ),
        ("CSV", "", "", "from,to\na,b\na,c\n", []),
    ],
)
def test_what_was_measured_is_measured_again(program, kind, device, text, commands):
    table = PairTable(program, "bandwidth", (Row(A, B, 1.0),), None, kind=kind, size_B=65536)
    one, *others = (End(host, device) for host in "abc")
    found, lines = formats.again(table, [(one, other) for other in others], "next.txt")
    assert lines[:1] == commands
    assert found == (text or "".join(f"{line}\n" for line in lines))
