# SPDX-License-Identifier: BSD-3-Clause
"""``rotate`` between GPUs, rail by rail. There are none: ``stand_in_cuda.c`` is their library."""

import re
import subprocess
from collections import Counter

import pytest

from fabric_checks.parsers import rotate
from tests.conftest import TESTS
from tests.fabric.one_program import OneProgram

#: An MPI whose hosts have FC_RANKS_OF_HOST ranks each.
HOSTS = """
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int MPI_Get_processor_name(char *name, int *length)
{
    const char *const ranks = getenv("FC_RANKS_OF_HOST");
    int rank = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    *length = sprintf(name, "n%d", ranks == NULL ? 0 : rank / atoi(ranks));
    return MPI_SUCCESS;
}
"""
SHORT = ["--size", "4K", "--messages", "2", "--tests", "1", "--confirm-pause", "0"]
CUDA = [*SHORT, "--memory", "cuda"]


def library(program, folder, source):
    """Put a library of CUDA into a folder."""
    command = ["mpicc", "-shared", "-fPIC", "-o", folder / "libcuda.so.1", source]
    subprocess.run(command, env=program.env, check=True)


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """The program, whose processes find the stand-in where they look for libraries."""
    folder = tmp_path_factory.mktemp("memory")
    built = OneProgram("mpich", "rotate", folder, shim=HOSTS)
    library(built, folder, TESTS / "fabric" / "stand_in_cuda.c")
    built.env["LD_LIBRARY_PATH"] += f":{folder}"
    return built


def test_messages_are_in_the_memory_of_a_gpu_of_each_rank(program, tmp_path):
    calls = tmp_path / "calls"
    text = program.output(
        4,
        *CUDA,
        "--rails",
        "2",
        FC_DEVICES="4",
        FC_CALLS=str(calls),
        FC_RANKS_OF_HOST="2",
    )
    output = rotate.parse(text)
    assert output.memory == "cuda"
    assert output.rails == 2
    assert output.share == 1
    assert output.hosts == (
        "node n0, GPU 0",
        "node n0, GPU 1",
        "node n1, GPU 0",
        "node n1, GPU 1",
    )
    assert output.header["devices"] == " ".join(
        f"0000:{0x1B + gpu:02x}:00.0" for gpu in range(4)
    )
    counts = Counter(line.split()[0] for line in calls.read_text().splitlines())
    assert counts["cuCtxSetCurrent"] == 4  # by each rank, of its GPU
    assert counts["cuMemAlloc_v2"] == counts["cuMemFree_v2"] == 2 * 4
    # Two buffers of each rank, then what two receivers of a round are to get; and what they got.
    assert counts["cuMemcpyHtoD_v2"] == 2 * 4 + 2
    assert counts["cuMemcpyDtoH_v2"] == 2
    assert counts["cuCtxSynchronize"] == counts["cuMemcpyHtoD_v2"]


def test_what_is_compared_is_what_arrived_on_the_gpu(program):
    program.refuses(
        "wrong data: byte 0 of a message of 4096 bytes",
        2,
        *CUDA,
        FC_DEVICES="2",
        FC_DAMAGE="1",
    )


def test_the_memory_of_the_host_needs_no_library(program, tmp_path):
    calls = tmp_path / "calls"
    text = program.output(2, *SHORT, FC_CALLS=str(calls))
    assert "# memory: host\n" in text and "# devices" not in text
    assert not calls.exists()


@pytest.mark.parametrize(
    "memory, settings, message",
    [
        ("rocm", {}, "no GPU for --memory rocm on host n0 (rank 0): libamdhip64.so"),
        (
            "cuda",
            {},
            "no GPU for --memory cuda on host n0 (rank 0): no GPU is visible; ask the scheduler for GPUs",
        ),
        (
            "cuda",
            {"FC_FAILS": "cuInit"},
            "(rank 0): cuInit failed with error 2, CUDA_ERROR_OUT_OF_MEMORY; ask",
        ),
        (
            "cuda",
            {"FC_DEVICES": "2", "FC_FAILS": "cuMemAlloc_v2"},
            "4096 bytes on GPU 0000:1b:00.0: cuMemAlloc_v2 f",
        ),
    ],
)
def test_a_gpu_that_cannot_be_used_ends_the_program(program, memory, settings, message):
    program.refuses(message, 2, *SHORT, "--memory", memory, **settings)


def test_a_copy_that_fails_ends_the_program_with_its_gpu(program):
    done = program.run(2, *CUDA, FC_DEVICES="2", FC_FAILS="cuMemcpyHtoD_v2")
    assert done.returncode != 0 and "# complete" not in done.stdout
    assert re.search(
        r"^rotate: GPU 0000:1[bc]:00.0: cuMemcpyHtoD_v2 failed with error 2",
        done.stderr,
        re.MULTILINE,
    )


def test_a_library_without_a_function_is_named(program, tmp_path):
    (tmp_path / "empty.c").write_text(
        "int cuInit(unsigned flags) { return (int)flags; }\n"
    )
    library(program, tmp_path, tmp_path / "empty.c")
    path = f"{tmp_path}:{program.env['LD_LIBRARY_PATH']}"
    program.refuses(
        "libcuda.so.1 has no cuDeviceGetCount", 2, *CUDA, LD_LIBRARY_PATH=path
    )


@pytest.mark.parametrize(
    "pattern, adapters",
    [("rotate", 2), ("shift", 4), ("bisection", 1), ("round-robin", 2)],
)
def test_gpus_meet_those_of_their_number_and_those_of_an_adapter_take_turns(
    program, pattern, adapters
):
    options = [
        "--rails",
        "4",
        "--adapters",
        str(adapters),
        "--pattern",
        pattern,
        "--confirm",
    ]
    text = program.output(12, *SHORT, *options, FC_RANKS_OF_HOST="4")
    output = rotate.parse(text)  # which compares all pairs with those of the pattern
    share = 4 // adapters
    scan = output.scan
    assert (scan.sender % 4 == scan.receiver % 4).all()
    assert (scan.sender % 4 % share == scan.round % share).all()
    assert len(
        set(zip(scan.sender.tolist(), scan.receiver.tolist(), strict=True))
    ) == len(scan)
    assert output.ordered_pairs[1] == 12 * 2
    left_out = "ranks 8-11 host n2" if pattern in ("rotate", "bisection") else "none"
    assert output.header["left out"] == left_out


def test_ranks_of_a_node_that_do_not_follow_each_other_are_refused(program):
    message = (
        "--rails 2: ranks 2 and 3 are on different hosts; number the ranks host by host"
    )
    program.refuses(message, 6, *SHORT, "--rails", "2", FC_RANKS_OF_HOST="3")
