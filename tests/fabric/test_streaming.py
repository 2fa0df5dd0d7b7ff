# SPDX-License-Identifier: BSD-3-Clause
"""The program ``streaming`` with a queue and in both directions, for real on every MPI that is set up."""

import pytest

from fabric_checks.core.metrics import half_octaves
from fabric_checks.parsers import streaming
from tests.fabric.one_program import BEFORE_SENDS, OneProgram

PROGRAM = "streaming"
SHORT = ["--max-seconds-per-point", "0.002", "--min-samples", "8", "--warmup", "2", "--max-size", "64"]
SIZES = half_octaves(0, 64)

#: Counts the sends that were started and not waited for, and prints the least and the most of them. The least counts
#: only from the moment the queue is full to the last message of a window.
COUNTED_SENDS = """
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
enum { window = 64, depth = DEPTH };
static int sent, outstanding, most, least = INT_MAX;
int MPI_Isend(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request)
{
    if (sent % window >= depth && outstanding < least) {
        least = outstanding;
    }
    sent++;
    outstanding++;
    most = outstanding > most ? outstanding : most;
    return PMPI_Isend(buffer, count, type, to, tag, comm, request);
}
int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[])
{
    outstanding -= count;
    return PMPI_Waitall(count, requests, statuses);
}
int MPI_Finalize(void)
{
    if (sent > 0) {
        fprintf(stderr, "%d to %d sends outstanding, %d after the last window\\n", least, most, outstanding);
    }
    return PMPI_Finalize();
}
"""

#: A message that is not empty takes its sender 20 ms, in which the processor is free for others.
SLOW_SENDS = f"""{BEFORE_SENDS}
static void before(const void *buffer)
{{
    (void)buffer;
    const struct timespec pause = {{0, 20000000}};
    nanosleep(&pause, NULL);
}}
"""


@pytest.mark.parametrize(("directions", "queue_depth"), [("one", 8), ("both", 0), ("both", 64)])
def test_every_size_is_measured(program, directions, queue_depth):
    options = ["--directions", directions, "--queue-depth", str(queue_depth)]
    output = streaming.parse(program.output(2, *SHORT, *options), SIZES, directions=directions, queue_depth=queue_depth)
    assert f"directions {directions} " in output.header["options"] + " "


def test_messages_beyond_the_eager_limit(program):
    sizes = ["--min-size", "1M", "--max-size", "1M"]
    text = program.output(2, *SHORT, *sizes, "--directions", "both", "--queue-depth", "2", "--window", "5")
    streaming.parse(text, [1024**2], directions="both", queue_depth=2)


@pytest.mark.parametrize("queue_depth", [2, 8, 32])
def test_the_queue_stays_between_half_full_and_full(tmp_path, queue_depth):
    shim = COUNTED_SENDS.replace("DEPTH", str(queue_depth))
    program = OneProgram("mpich", "streaming", tmp_path, shim=shim)
    done = program.run(2, *SHORT, "--queue-depth", str(queue_depth))
    assert done.returncode == 0, done.stderr
    assert f"{queue_depth // 2} to {queue_depth} sends outstanding, 0 after the last window" in done.stderr


@pytest.mark.alone
def test_the_times_of_messages_that_take_a_known_time(tmp_path):
    """Whoever sends needs 20 ms: a message, an exchange and a pair of streamed messages all take that long."""
    program = OneProgram("mpich", "streaming", tmp_path, shim=SLOW_SENDS)
    options = ["--directions", "both", "--queue-depth", "2", "--window", "4", "--warmup", "0"]
    text = program.output(2, *SHORT, "--min-size", "8", "--max-size", "8", *options)
    output = streaming.parse(text, [8], directions="both", queue_depth=2)
    for mode in streaming.MODES["both"]:
        assert 20e3 <= output.times_us(mode)[8] < 30e3, mode
