# SPDX-License-Identifier: BSD-3-Clause
"""The program ``hot_spot``, built and run for real on every MPI that is set up."""

import pytest

from fabric_checks.parsers import hot_spot
from tests.fabric.builds import MPIS
from tests.fabric.one_program import OneProgram

SHORT = ["--max-seconds-per-point", "0.001", "--warmup", "1"]

#: The master needs 2 ms to start a message with data, a slave as long to send one.
SLOW_SENDS = """
#include <mpi.h>
static void take_time(void)
{
    const double begin = PMPI_Wtime();
    while (PMPI_Wtime() - begin < 0.002) {
    }
}
int MPI_Isend(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request)
{
    if (count > 0) {
        take_time();
    }
    return PMPI_Isend(buffer, count, type, to, tag, comm, request);
}
int MPI_Send(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    if (count > 0) {
        take_time();
    }
    return PMPI_Send(buffer, count, type, to, tag, comm);
}
"""


@pytest.fixture(scope="module", params=MPIS)
def program(request, tmp_path_factory):
    return OneProgram(request.param, "hot_spot", tmp_path_factory.mktemp(request.param))


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """The program built by one MPI, for what no MPI changes."""
    return OneProgram("mpich", "hot_spot", tmp_path_factory.mktemp("quick"))


@pytest.mark.parametrize(("ranks", "sizes_B"), [(2, [1024**2]), (3, [8, 64]), (5, [8])])
def test_every_size_and_number_of_slaves_is_measured(program, ranks, sizes_B):
    """1 MiB is beyond every eager limit; with more ranks than cores the ranks that wait sleep."""
    limits = ["--min-size", str(sizes_B[0]), "--max-size", str(sizes_B[-1])]
    text = program.output(ranks, *SHORT, *limits)
    output = hot_spot.parse(text, sizes_B, hot_spot.slave_counts(ranks))
    assert output.header["ranks"] == str(ranks)
    assert output.header["slaves"] == " ".join(str(count) for count in range(1, ranks))


def test_a_time_is_that_of_the_whole_operation(tmp_path):
    """The master's sends add up, the slaves' answers are sent at the same time."""
    slow = OneProgram("mpich", "hot_spot", tmp_path, shim=SLOW_SENDS)
    text = slow.output(3, *SHORT, "--min-size", "8", "--max-size", "8")
    output = hot_spot.parse(text, [8], [1, 2])
    send, send_receive = (output.times_us(operation, size_B=8) for operation in hot_spot.OPERATIONS)
    assert send[1] >= 2000 and send[2] >= 4000
    assert send_receive[1] >= 2000 and send_receive[2] >= 2000


def test_too_few_ranks(program):
    program.refuses("needs 2 or more ranks but was started with 1", 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--max-size", "1000000M"], "--max-size"),
        (["--min-size", "0"], "--min-size"),
        (["--min-size", "8", "--max-size", "4"], "--min-size 8 is above --max-size 4"),
        (["--slaves", "3"], "--slaves"),
    ],
)
def test_bad_arguments(quick, arguments, message):
    quick.refuses(message, 2, *arguments)
