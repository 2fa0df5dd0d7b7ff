# SPDX-License-Identifier: BSD-3-Clause
"""The program ``hot_spot``, built and run for real on every MPI that is set up."""

import pytest

from fabric_checks.parsers import hot_spot
from tests.fabric.one_program import BEFORE_SENDS, OneProgram

PROGRAM = "hot_spot"
SHORT = ["--max-seconds-per-point", "0.001", "--warmup", "1"]

#: The master needs 2 ms to start a message with data, a slave as long to send one.
SLOW_SENDS = f"""{BEFORE_SENDS}
static void before(const void *buffer)
{{
    (void)buffer;
    const double begin = PMPI_Wtime();
    while (PMPI_Wtime() - begin < 0.002) {{
    }}
}}
"""


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
