# SPDX-License-Identifier: BSD-3-Clause
"""The program ``buffer_reuse``, built and run for real on every MPI that is set up."""

import pytest

from fabric_checks.parsers import buffer_reuse
from tests.fabric.one_program import BEFORE_SENDS, OneProgram

PROGRAM = "buffer_reuse"
SHORT = ["--max-seconds-per-point", "0.001", "--warmup", "1"]

#: An MPI that needs 1 ms to register a send buffer it does not know, and forgets all it knows when memory is unmapped.
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
int MPI_Isend(const void *buffer, int bytes, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request)
{
    static unsigned char old[1 << 20];
    (void)buffer;
    return PMPI_Isend(old, bytes, type, to, tag, comm, request);
}
"""


def test_every_size_and_share_is_measured(program):
    text = program.output(2, *SHORT, "--max-size", "4K", "--iterations", "8")
    output = buffer_reuse.parse(text, [1024, 4096])
    assert "iterations 8" in output.header["options"]


@pytest.mark.parametrize("size_B", [1, 4097, 1000000])
def test_sizes_that_do_not_fill_their_pages(quick, size_B):
    text = quick.output(2, *SHORT, "--min-size", str(size_B), "--max-size", str(size_B), "--iterations", "4")
    buffer_reuse.parse(text, [size_B])


def test_the_share_of_new_buffers_is_seen(tmp_path):
    """Each new buffer costs 1 ms where it is sent, a reused one nothing but once after each mapping.

    The shortest sample counts, because on a busy machine any may be of any length; so the program runs again until it
    has one that nothing else made longer.
    """
    program = OneProgram("mpich", "buffer_reuse", tmp_path, shim=REGISTRATION)
    raw = tmp_path / "samples"
    limits = ["--min-size", "1K", "--max-size", "1K", "--iterations", "4"]
    shortest = {}
    for _ in range(20):
        buffer_reuse.parse(program.output(2, *SHORT, *limits, "--raw", str(raw)), [1024])
        for _, percent, mode, us in (line.split() for line in raw.read_text().splitlines()):
            key = mode, int(percent)
            shortest[key] = min(float(us), shortest.get(key, float("inf")))
        if all(shortest[mode, 100] < 500 for mode in buffer_reuse.MODES):
            break
    assert set(shortest) == {(mode, percent) for mode in buffer_reuse.MODES for percent in buffer_reuse.PERCENTS}
    assert all(us >= 1000 * (1 - percent / 100) for (_, percent), us in shortest.items()), shortest
    # Where no buffer is new nothing costs that millisecond.
    assert all(shortest[mode, 100] < 500 for mode in buffer_reuse.MODES), shortest


def test_stale_registrations_are_noticed(tmp_path):
    program = OneProgram("mpich", "buffer_reuse", tmp_path, shim=STALE)
    done = program.run(2, *SHORT, "--max-size", "1K")
    assert done.returncode != 0
    assert "wrong data: byte 0 of a message of 1024 bytes from rank 0 to rank 1 in a new buffer" in done.stderr
    assert "# complete" not in done.stdout
