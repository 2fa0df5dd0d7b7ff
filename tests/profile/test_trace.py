# SPDX-License-Identifier: BSD-3-Clause
"""The parser of a rank's trace: what is whole, and every way in which it is not."""

import pytest

from fabric_checks.core.errors import OutputError
from fabric_profile import trace
from tests.breakages import refused

WHOLE = """\
# fabric-checks trace 1
# rank: 1 of 3
# flops/s: 1000000000
1 init
1 compute 1500000000
1 irecv          0          7 64
1 wait 0 1 7
1 gatherv 8 0 0 0 2 6 6
1 compute 500000000
1 finalize

# complete: 7 actions
"""


def parse(text):
    return trace.parse(text.splitlines(keepends=True))


def test_a_whole_trace():
    found = parse(WHOLE)
    assert found.rank == 1
    assert found.ranks == 3
    assert found.compute_s == 2.0
    assert found.actions == {
        "init": 1,
        "compute": 2,
        "irecv": 1,
        "wait": 1,
        "gatherv": 1,
        "finalize": 1,
    }


@pytest.mark.parametrize(
    "old, new, cause",
    [
        ("trace 1", "trace 2", "line 1: this is not a trace of"),
        ("# flops/s: 1000000000", "# flops/s: fast", "line 3: the rate is missing"),
        ("# flops/s: 1000000000", "# flops/s: 0", "there is no such rank or rate"),
        ("1 of 3", "3 of 3", "there is no such rank or rate"),
        ("1 wait", "2 wait", "line 7: '2 wait 0 1 7' is not an action of rank 1"),
        ("1 wait", "1 sleep", "line 7: 'sleep' is not an action that can be replayed"),
        ("wait 0 1 7", "wait 0 1", "line 7: wait has 2 arguments, and needs 3"),
        (
            "8 0 0 0 2 6 6",
            "8 0 0 2 6 6",
            "line 8: gatherv has 6 arguments, and needs 7",
        ),
        ("wait 0 1 7", "wait 0 3 7", "line 7: wait: there is no rank 3"),
        ("2 6 6", "2 6 60", "line 8: gatherv: there is no type 60"),
        (
            "compute 5",
            "compute -5",
            "line 9: '-500000000' is not a valid number for compute",
        ),
        (
            "irecv          0",
            "irecv         -2",
            "line 6: a receive from any source did not complete",
        ),
        (
            "# complete: 7 actions\n",
            "",
            "line 11: the trace is cut off: its last line is missing",
        ),
        (
            "7 actions",
            "8 actions",
            "line 12: the trace ends with '8 actions', but there are 7",
        ),
        (
            "# complete: 7 actions",
            "# cut: the limit",
            "the trace was cut off: 'the limit'; trace fewer steps, or set",
        ),
        (
            "# complete: 7 actions",
            "# x\x1b[2J",
            r"line 12: '# x\x1b[2J' is not a line of a trace",
        ),
        (
            "7 actions\n",
            "7 actions\n1 init\n",
            "line 13: there is something after the end",
        ),
    ],
)
def test_a_damaged_trace_is_refused_with_its_line(old, new, cause):
    assert WHOLE.count(old) == 1
    with pytest.raises(OutputError) as caught:
        parse(WHOLE.replace(old, new))
    assert cause in str(caught.value) and "\n" not in str(caught.value)


def test_a_trace_of_a_header_alone_is_cut_at_its_last_line():
    with refused("line 3: the trace is cut off"):
        trace.parse(WHOLE.splitlines(keepends=True)[:3])
