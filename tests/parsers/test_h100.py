# SPDX-License-Identifier: BSD-3-Clause
"""Parse the output of GPU programs on a real H100, alone or shared by two ranks."""

import pytest

from fabric_checks.core.metrics import powers_of_two
from fabric_checks.parsers import imb, nccl_debug, nccl_tests, osu, rotate
from tests.breakages import refused

MiB = 1024**2
SIZES_B = [1024 * 4**power for power in range(11)]


@pytest.mark.parametrize(
    "benchmark, bus_MBps", [("all_reduce", 0), ("broadcast", 1_503_700)]
)
def test_one_gpu_alone_copies_within_its_memory(golden, benchmark, bus_MBps):
    """In place nothing is done at all: bandwidths of one digit, 1e+06 GB/s, whose average has six."""
    output = nccl_tests.parse(
        golden(f"h100/{benchmark}_perf.txt"), benchmark, SIZES_B, 1
    )
    assert output.version == "2.19.6"
    assert output.out_of_place[SIZES_B[-1]].algorithm_MBps == pytest.approx(
        1.504e6, rel=1e-3
    )
    assert output.out_of_place[SIZES_B[-1]].bus_MBps == bus_MBps
    assert output.in_place[SIZES_B[-1]].algorithm_MBps == pytest.approx(
        1024**3 / output.in_place[SIZES_B[-1]].time_us
    )


def test_a_table_with_the_log_of_nccl_between_its_lines_is_read(golden):
    text = golden("h100/all_reduce_perf.2ranks.txt")
    output = nccl_tests.parse(text, "all_reduce", SIZES_B[:8], 2)
    assert output.out_of_place[SIZES_B[7]] == nccl_tests.Timing(9212.37, 1820, 1820)
    first = output.out_of_place[SIZES_B[0]]  # printed as 0.00 GB/s
    assert first.bus_MBps == first.algorithm_MBps == pytest.approx(1024 / 4525.44)
    found = nccl_debug.parse(text)[0]
    assert (found.network, found.adapters, found.direct) == ("Socket", ("lo",), False)


@pytest.mark.parametrize(
    "name, benchmark, first_B, last_B, version",
    [
        ("osu_latency", "latency", 1, 4 * MiB, "7.4"),
        ("osu_xccl_allreduce", "xccl_allreduce", 4, MiB, "7.4"),
        ("osu_xccl_latency", "xccl_latency", 1, 4 * MiB, None),
    ],
)
def test_osu_on_a_device_is_read_in_every_row(
    golden, name, benchmark, first_B, last_B, version
):
    text = golden(f"h100/{name}.txt")
    output = osu.parse(text, benchmark, powers_of_two(first_B, last_B))
    assert output.program == "osu"
    assert output.version == version
    assert output.memory == "cuda"
    rows = [line.split() for line in text.splitlines() if line[:1].isdigit()]
    assert [(row.size_B, row.values["latency_us"]) for row in output.rows] == [
        (int(a), float(b)) for a, b in rows
    ]


def test_rccl_has_the_programs_of_nccl(golden):
    text = (
        golden("h100/osu_xccl_allreduce.txt")
        .replace("NCCL-CUDA", "RCCL-ROCM")
        .replace("NCCL", "RCCL")
    )
    assert osu.parse(text, "xccl_allreduce", powers_of_two(4, MiB)).memory == "rocm"
    text = golden("h100/osu_xccl_latency.txt").replace("NCCL", "RCCL")
    assert osu.parse(text, "xccl_latency", powers_of_two(1, 4 * MiB)).memory == "rocm"


def test_a_program_of_nccl_is_none_of_mpi_and_latency_no_bandwidth(golden):
    sizes_B = powers_of_two(1, 4 * MiB)
    with refused("expected 'MPI Allreduce Latency Test', found the output of 'NCCL"):
        osu.parse(
            golden("h100/osu_xccl_allreduce.txt"), "allreduce", powers_of_two(4, MiB)
        )
    with refused(r"no title line '# \.\.\. MPI Latency Test'"):
        osu.parse(golden("h100/osu_xccl_latency.txt"), "latency", sizes_B)
    with refused("the columns size_B bandwidth_MBps are not those of this benchmark"):
        osu.parse(golden("h100/osu_xccl_bw.txt"), "xccl_latency", sizes_B)
    with refused("line 31: a second line of titles"):
        osu.parse(2 * golden("h100/osu_xccl_latency.txt"), "xccl_latency", sizes_B)


def test_imb_on_a_device_is_not_imb_in_the_memory_of_the_host(golden):
    text = golden("h100/IMB-MPI1-GPU.PingPong.txt")
    sizes_B = [0, *powers_of_two(1, 4 * MiB)]
    output = imb.parse(text, "PingPong", sizes_B, 2, program="IMB-MPI1-GPU")
    assert output.version == "2021.11" and output.rows[-1].values["time_us"] == 240.92
    with refused(r"expected the output of IMB-MPI1, found the part 'MPI-1 \(GPU\)'"):
        imb.parse(text, "PingPong", sizes_B, 2)
    with refused("expected the output of IMB-MPI1-GPU, found the part 'MPI-1'"):
        imb.parse(
            golden("imb/2021.11/PingPong.txt"),
            "PingPong",
            sizes_B,
            2,
            program="IMB-MPI1-GPU",
        )


def test_two_processes_on_a_gpu_measure_no_pair_of_gpus(golden):
    with refused(
        "ranks 0 and 1 share the GPU 0000:00:06.0 of vm: start one process a GPU"
    ):
        rotate.parse(golden("h100/rotate.txt"))
