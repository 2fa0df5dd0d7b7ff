# SPDX-License-Identifier: BSD-3-Clause
"""Formats told apart by their content, and what measures pairs again."""

import re
import textwrap
from pathlib import Path

import pytest

from fabric_checks.matrices import (
    clusterkit,
    formats,
    mpigraph,
    nccl_tests,
    perftest,
    plain,
)
from fabric_checks.matrices.model import End, PairTable, Row
from fabric_checks.parsers.latency_map import LatencyOutput
from fabric_checks.parsers.rotate import RotateOutput
from tests.matrices import samples
from tests.matrices.reading import cells, refusal


def test_outputs_of_our_own_are_told_from_others(golden):
    assert isinstance(formats.parse(golden("rotate/mpich-5.0.2.txt")), RotateOutput)
    assert isinstance(
        formats.parse(golden("latency_map/mpich-5.0.2.txt")), LatencyOutput
    )


@pytest.mark.parametrize(
    "reader, text",
    [
        (nccl_tests, samples.NCCL),
        (nccl_tests, samples.NCCL[samples.NCCL.index("#       size") :]),
        (perftest, samples.PERFTEST),
        (perftest, samples.PERFTEST_LATENCY),
        (plain, samples.CSV_ROWS),
        (plain, samples.CSV_MATRIX),
        (mpigraph, samples.MPIGRAPH),
        (mpigraph, samples.MPIGRAPH.replace("START mpiGraph", "")),
        (mpigraph, samples.MPIGRAPH.replace("END mpiGraph", "")),
        (clusterkit, samples.CLUSTERKIT),
    ],
)
def test_a_format_has_the_signature_of_its_own_reader_only(reader, text):
    assert [each for each in formats.READERS if each.SIGNATURE.search(text)] == [reader]


@pytest.mark.parametrize(
    "text",
    [
        "MPI Rank: 0 1 2\n",
        "Rank: 0 1 of 2\n",
        "Using devices\n",
        "#  size of the count, type float\n",
        "mpiGraph measures all pairs; Backend mpiGraph\n",
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
    "text, cause",
    [
        ("", "the file is empty"),
        (
            "n1 n2 n3\n",
            "format not recognized; docs/blame.md has an example of each that is known (rotate, ClusterKit, ",
        ),
        ("# OSU MPI Latency Test v7.5\n1  1.67\n", "of one pair, or one value of many"),
        ("# Benchmarking PingPong \n# #processes = 2\n", "of one pair, or one value"),
        ("|    Stage     | # iterations | 50.0%ile |\n", "of one pair, or one value"),
        (
            "[ ID] Interval           Transfer     Bitrate\n",
            "of one pair, or one value",
        ),
        ("# Size      Bandwidth (MB/s)\n1   3.43\n", "one value of many"),
        ("|     Test     | # iterations | 50.0%ile |\n", "one value of many"),
        ("iterations,50.0_percentile_lat,avg_lat\n1000,0.4,6.7\n", "one value"),
        ('{\n\t"start":\t{\n\t\t"connected":\t[{\n', "one value of many"),
        ("20261130191800,127.0.0.1,34228,127.0.0.1,5305,1,0.0-1.0,8\n", "one value"),
        ("bytes   #sent   #ack     total       time     MB/sec\n", "one value"),
        ("bytes   iters   total       time     MB/sec    usec/xfer\n", "one value"),
        ("tcp_bw:\n    bw  =  649 MB/sec\n", "one value of many"),
        (
            "  0:       1 bytes  14155 times -->  0.60 Mbps in  12.77 usec\n",
            "one value",
        ),
        ("   88.0593 MB /   1.02 sec =  722.5974 Mbps 0 %TX\n", "one value of many"),
        ("sockperf: == version #3.7 ==\n", "one value of many"),
        ("MIGRATED TCP STREAM TEST from 0.0.0.0 () port 0 AF_INET\n", "one value"),
        ("PING n2 (10.0.0.2) 56(84) bytes of data.\n", "one value of many"),
        ("8192000 bytes in 0.01 seconds = 5462.96 Mbit/sec\n", "one value of many"),
        ("This is the DARPA/DOE HPC Challenge Benchmark 1.5.0\n", "one value"),
        ("NetworkTests v1.3\n", "one value of many"),
        ("MinPingPongBandwidth_GBytes=9.12\n", "one value of many"),
        (" b_eff  =  1560.5 MB/s = 97.5 * 16 PEs\n", "one value of many"),
        ('begin result "Pingpong_Send_Recv"\ncount= 1 4 1.2\n', "one value of many"),
        ("#bytes #repetitions t_min[usec] t_max[usec]\n8 160 3.4 3.5\n", "one value"),
        ("size (bytes),iterations,bandwidth (MB/s)\n4,26,2.6\n", "one value of many"),
        ("write protocol (SION):   Yes\n", "LinkTest prints no pairs"),
        ("<html><head></head></html>\n", "this is a page of HTML"),
        ("GPU 0: NVIDIA H100 (UUID: GPU-1)\n\t Link 0: 26.5 GB/s\n", "of one host"),
        ('{\n"test_info": {\n"test": "Send_BW_Test"\n}\n}\n', "perftest wrote this"),
        ("TransferBench v1.62.00 (with NIC support)\n", "of the GPUs of one host"),
        ("size,count,type,redop,root,oop_time\n8,2,float,sum,-1,3\n", "the text"),
        ("{\ntest_info: {\ntest: RDMA_Write Bandwidth,\n", "perftest wrote this"),
        ('Switch  40 "S-e41d2d0300112233"   # "leaf1"\n', "with --topology"),
        ("PK\x03\x04\0\n", "this is no text"),
        ("# a\n[[ 0. 1.2e+03]\n [1.1 0.]]\n", "numbers without names of hosts"),
        ("from,to,GB/s\nn1,n2,24.1\n", "a table without a unit"),
        ("\tn1\tn2\nn1\t-\t24.1\nn2\t24.2\t-\n", "a table without a unit"),
        (" Unable to find the Infiniband/RoCE device\n", "it reports: Unable to find"),
        ("Couldn't connect to n2:18515\n", "reports: Couldn't connect to n2"),
        ("srun: error: n3: task 1: Exited with exit code 1\n", "it reports: "),
        ("SymbolErrorCounter:....12\n", "no pairs in it, and it reports: Symbol"),
        ('{"n1": {"n2": 12.3}}\n', "this is JSON of an unknown layout"),
        ("      n1   n2\nn1   0.0  12.3\nn2  12.2  0.0\n", "blanks between columns"),
        ('\ufeff"src","dst","Gbps"\r\n"n1","n2","98.1"\r\n', "without a unit"),
        ("There are not enough slots available in the system\n", "and it reports: "),
        ("Unidirectional P2P=Enabled Matrix (GB/s)\n", "of the GPUs of one host"),
        ("        GPU0    GPU1    NIC0\nGPU0     X\n", "of the GPUs of one host"),
        (
            samples.CLUSTERKIT + samples.CSV_ROWS,
            "the output of ClusterKit and of CSV or TSV",
        ),
        (
            samples.CSV_ROWS + "# fabric-checks rotate 1\n",
            "and of rotate or latency_map at once",
        ),
        (samples.DGNETTEST, "measure pairs, as with rotate or mpiGraph"),
        ("PER-PROCESS STRAGGLER ANALYSIS (OOP)\n", "of a collective, but no pairs"),
        (
            '{"version": 3, "nccl_version": 22902}',
            "give the text that the same run printed",
        ),
        ('{"Nodes": ["a"], "Links": [[0, 1.0]]}', "give bandwidth.txt and latency.txt"),
    ],
)
def test_what_is_of_no_format_or_of_two_is_refused(text, cause):
    assert cause in refusal(text)


@pytest.mark.parametrize(
    "program, device, text, commands",
    [
        (
            "ClusterKit",
            "",
            "a\nb\n",
            ["clusterkit.sh -f next.txt --exe_opt '-d bw -d lat -x'"],
        ),
        (
            "mpiGraph",
            "task 1",
            "a\nb\n",
            ["mpirun -hostfile next.txt -np 2 mpiGraph 65536 20 10"],
        ),
        ("perftest", "mlx5_1", "from,to\na mlx5_1,b mlx5_1\na mlx5_1,c mlx5_1\n", []),
        ("CSV", "", "from,to\na,b\na,c\n", []),
    ],
)
def test_what_was_measured_is_measured_again(program, device, text, commands):
    one, *others = (End(host, device) for host in "abc")
    table = PairTable(
        program, "bandwidth", (Row(one, others[0], 1.0),), None, size_B=65536
    )
    assert formats.again(table, [(one, other) for other in others], "next.txt") == (
        text,
        commands,
    )


def test_the_examples_of_the_documentation_are_read():
    page = Path(__file__).parents[2] / "docs/blame.md"
    _, examples = page.read_text().split("## One example of each format")
    blocks = re.findall(r"(?:^    .*\n)+", examples, re.MULTILINE)
    commands = ("mpirun", "clusterkit.sh", "for pair")
    outputs = [
        each for each in map(textwrap.dedent, blocks) if not each.startswith(commands)
    ]
    tables = [table for each in outputs for table in formats.parse(each)]
    assert [table.format for table in tables] == [
        "CSV",
        "CSV",
        "ClusterKit",
        "nccl-tests",
        "perftest",
    ]
