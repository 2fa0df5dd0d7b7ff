# SPDX-License-Identifier: BSD-3-Clause
"""How far a long scan is, on standard error: nothing in the first five seconds, then a line in five."""

import re

import pytest

from fabric_checks.parsers import latency_map, rotate
from tests.fabric.one_program import OneProgram

#: A clock that is so many seconds later each time.
CLOCK = """
#include <mpi.h>
#include <stdlib.h>
double MPI_Wtime(void);
double MPI_Wtime(void)
{
    static double now = 0.0;
    return now += atof(getenv("STEP_OF_CLOCK"));
}
"""
PARSERS = {"latency_map": latency_map.parse, "rotate": rotate.parse}
QUICK = {
    "latency_map": ["--passes", "4", "--samples", "2"],
    "rotate": ["--pattern", "shift", "--size", "8", "--messages", "1"],
}


@pytest.mark.parametrize("program", QUICK)
def test_a_long_scan_says_how_far_it_is(program, tmp_path):
    made = OneProgram("mpich", program, tmp_path, shim=CLOCK)
    short = made.run(4, *QUICK[program], STEP_OF_CLOCK="0.001")
    assert short.returncode == 0 and "round" not in short.stderr
    done = made.run(4, *QUICK[program], STEP_OF_CLOCK="1")
    assert done.returncode == 0, done.stderr
    PARSERS[program](done.stdout)
    lines = re.findall(
        rf"(?m)^{program}: round (\d+) of (\d+), about \d+ s left$", done.stderr
    )
    assert lines, done.stderr
    rounds, totals = zip(*((int(at), int(of)) for at, of in lines), strict=True)
    assert list(rounds) == sorted({*rounds}) and set(totals) == {
        24 if program == "latency_map" else 3
    }
    assert max(rounds) < totals[0]
