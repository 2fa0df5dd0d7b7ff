# SPDX-License-Identifier: BSD-3-Clause
"""Programs that measure point by point: every point on every MPI, and values against an MPI whose times are
known."""

import pytest

from fabric_checks.core.metrics import half_octaves
from fabric_checks.parsers import (
    buffer_reuse,
    hot_spot,
    latency_map,
    streaming,
)
from lab.rotate import patterns
from tests.fabric.builds import MPIS
from tests.fabric.one_program import BEFORE_SENDS, OneProgram

SHORT = ["--max-seconds-per-point", "0.002", "--min-samples", "8", "--warmup", "1"]
PAIRS = ["--samples", "3", "--repetitions", "2", "--warmup", "1"]


def sizes(least, most):
    return ["--min-size", str(least), "--max-size", str(most)]


def streamed(sizes_B, directions, queue_depth):
    return lambda text: streaming.parse(
        text, sizes_B, directions=directions, queue_depth=queue_depth
    )


def spotted(ranks, sizes_B):
    return lambda text: hot_spot.parse(text, sizes_B, hot_spot.slave_counts(ranks))


def mapped(ranks, passes, shifts):
    """Return what parses a latency map, and requires every pair of every round."""

    def parse(text):
        output = latency_map.parse(text)
        rounds = len(patterns.round_robin_rounds(ranks, shifts))
        assert len(output.starter) == passes * rounds * (ranks // 2)
        assert (output.latency_us > 0).all()

    return parse


#: Program, ranks, arguments, and the parser, which refuses an output that lacks a point. 1 MiB is beyond
#: every eager limit; with more ranks than cores the ranks that wait sleep.
EVERY_POINT = [
    ("streaming", 2, [*SHORT, *sizes(0, 64), "--directions", "one", "--queue-depth", "64"],
     streamed(half_octaves(0, 64), "one", 64)),
    ("streaming", 2,
     [*SHORT, *sizes("1M", "1M"), "--directions", "both", "--queue-depth", "2", "--window", "5"],
     streamed([1024**2], "both", 2)),
    ("hot_spot", 2, [*SHORT, *sizes("1M", "1M")], spotted(2, [1024**2])),
    ("hot_spot", 5, [*SHORT, *sizes(8, 64)], spotted(5, [8, 64])),
    ("buffer_reuse", 2, [*SHORT, *sizes("1K", "4K"), "--iterations", "8"],
     lambda text: buffer_reuse.parse(text, [1024, 4096])),
    # Buffers that do not fill their pages.
    ("buffer_reuse", 2, [*SHORT, *sizes(4097, 4097), "--iterations", "4"],
     lambda text: buffer_reuse.parse(text, [4097])),
    *(
        ("latency_map", ranks, [*PAIRS, "--passes", str(passes), "--shifts", str(shifts)],
         mapped(ranks, passes, shifts))
        for ranks, passes, shifts in ((5, 2, 0), (6, 1, 3))
    ),
]  # fmt: skip


@pytest.fixture(scope="module", params=MPIS)
def programs(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    return {
        name: OneProgram(request.param, name, folder)
        for name in {case[0] for case in EVERY_POINT}
    }


@pytest.mark.parametrize("name, ranks, arguments, parse", EVERY_POINT)
def test_every_point_is_measured(programs, name, ranks, arguments, parse):
    parse(programs[name].output(ranks, *arguments))


# ---------------------------------------------------------------------------------------------- buffer_reuse

#: An MPI that needs 1 ms to register a send buffer it does not know, and forgets all it knows when memory is
#: unmapped.
REGISTRATION = f"""{BEFORE_SENDS}
static const void *known[64];
static int count;
int munmap(void *address, size_t length)
{{
    count = 0;
    return (int)syscall(SYS_munmap, address, length);
}}
static void before(const void *buffer)
{{
    for (int i = 0; i < count; i++) {{
        if (known[i] == buffer) {{
            return;
        }}
    }}
    const double begin = PMPI_Wtime();
    while (PMPI_Wtime() - begin < 0.001) {{
    }}
    known[count++ % 64] = buffer;
    count = count > 64 ? 64 : count;
}}
"""

#: An MPI that sends from the memory it saw first, like one whose registrations outlive the memory.
STALE = """
#include <mpi.h>
#include <stddef.h>
int MPI_Isend(const void *buffer, int bytes, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    static unsigned char old[1 << 20];
    (void)buffer;
    return PMPI_Isend(old, bytes, type, to, tag, comm, request);
}
"""


def test_the_share_of_new_buffers_is_seen(tmp_path):
    """Each new buffer costs 1 ms where it is sent, a reused one nothing but once after each mapping.

    The shortest sample counts, because on a busy machine any may be of any length; so the program runs again
    until it has one that nothing else made longer.
    """
    program = OneProgram("mpich", "buffer_reuse", tmp_path, shim=REGISTRATION)
    raw = tmp_path / "samples"
    limits = [*sizes("1K", "1K"), "--iterations", "4"]
    shortest = {}
    for _ in range(20):
        buffer_reuse.parse(
            program.output(2, *SHORT, *limits, "--raw", str(raw)), [1024]
        )
        for _, percent, mode, us in (
            line.split() for line in raw.read_text().splitlines()
        ):
            key = mode, int(percent)
            shortest[key] = min(float(us), shortest.get(key, float("inf")))
        if all(shortest[mode, 100] < 500 for mode in buffer_reuse.MODES):
            break
    assert set(shortest) == {
        (mode, percent)
        for mode in buffer_reuse.MODES
        for percent in buffer_reuse.PERCENTS
    }
    assert all(
        us >= 1000 * (1 - percent / 100) for (_, percent), us in shortest.items()
    ), shortest
    # Where no buffer is new nothing costs that millisecond.
    assert all(shortest[mode, 100] < 500 for mode in buffer_reuse.MODES), shortest


def test_stale_registrations_are_noticed(tmp_path):
    program = OneProgram("mpich", "buffer_reuse", tmp_path, shim=STALE)
    done = program.run(2, *SHORT, "--max-size", "1K")
    assert done.returncode != 0
    assert (
        "wrong data: byte 0 of a message of 1024 bytes from rank 0 to rank 1 in a new buffer"
        in done.stderr
    )
    assert "# complete" not in done.stdout


# -------------------------------------------------------------------------------------------------- hot_spot

#: The master needs 2 ms to start a message with data, a slave as long to send one.
TWO_MS_SENDS = f"""{BEFORE_SENDS}
static void before(const void *buffer)
{{
    (void)buffer;
    const double begin = PMPI_Wtime();
    while (PMPI_Wtime() - begin < 0.002) {{
    }}
}}
"""


def test_a_time_is_that_of_the_whole_operation(tmp_path):
    """The master's sends add up, the slaves' answers are sent at the same time."""
    slow = OneProgram("mpich", "hot_spot", tmp_path, shim=TWO_MS_SENDS)
    text = slow.output(3, *SHORT, *sizes(8, 8))
    output = hot_spot.parse(text, [8], [1, 2])
    send, send_receive = (
        output.times_us(operation, size_B=8) for operation in hot_spot.OPERATIONS
    )
    assert send[1] >= 2000 and send[2] >= 4000
    assert send_receive[1] >= 2000 and send_receive[2] >= 2000


# ------------------------------------------------------------------------------------------------- streaming

#: Counts the sends that were started and not waited for, and prints the least and the most of them. The least
#: counts only from the moment the queue is full to the last message of a window.
COUNTED_SENDS = """
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
enum { window = 64, depth = DEPTH };
static int sent, outstanding, most, least = INT_MAX;
int MPI_Isend(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request *request)
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


@pytest.mark.parametrize("queue_depth", [2, 32])
def test_the_queue_stays_between_half_full_and_full(tmp_path, queue_depth):
    shim = COUNTED_SENDS.replace("DEPTH", str(queue_depth))
    program = OneProgram("mpich", "streaming", tmp_path, shim=shim)
    done = program.run(2, *SHORT, *sizes(0, 64), "--queue-depth", str(queue_depth))
    assert done.returncode == 0, done.stderr
    assert (
        f"{queue_depth // 2} to {queue_depth} sends outstanding, 0 after the last window"
        in done.stderr
    )


@pytest.mark.alone
def test_the_times_of_messages_that_take_a_known_time(tmp_path):
    """Whoever sends needs 20 ms: a message, an exchange and a pair of streamed messages all take that
    long."""
    program = OneProgram("mpich", "streaming", tmp_path, shim=SLOW_SENDS)
    options = [
        "--directions",
        "both",
        "--queue-depth",
        "2",
        "--window",
        "4",
        "--warmup",
        "0",
    ]
    text = program.output(2, *SHORT, *sizes(8, 8), *options)
    output = streaming.parse(text, [8], directions="both", queue_depth=2)
    for mode in streaming.MODES["both"]:
        assert 20e3 <= output.times_us(mode)[8] < 30e3, mode
