# SPDX-License-Identifier: BSD-3-Clause
"""Wrong command lines and numbers of ranks: each ends every rank of its program with one line."""

from functools import cache

import pytest

from tests.fabric.builds import MPIS
from tests.fabric.one_program import OneProgram

CASES = [
    # options of any program
    ("streaming", 2, ["--slaves", "3"], "unknown option '--slaves'; see --help"),
    ("streaming", 2, ["4K"], "unexpected argument '4K'; see --help"),
    ("streaming", 2, ["--window"], "option --window needs a value; see --help"),
    ("streaming", 2, ["--raw="], "option --raw needs a value that is not empty; see --help"),
    ("rotate", 3, ["--confirm=yes"], "option --confirm takes no value"),
    ("rotate", 3, ["--pattern", "circle"],
     "bad value 'circle'; give one of rotate, shift, bisection, round-robin"),
    ("rotate", 3, ["--suspect-share", "1"], "option --suspect-share: bad value '1'; give 1e-06 to 0.99"),
    ("rotate", 3, ["--size", "0"], "option --size: bad value '0'"),
    ("rotate", 3, ["--size", "8X"], "option --size: bad value '8X'"),
    ("rotate", 3, ["--tests", "-1"], "option --tests: bad value '-1'"),
    ("rotate", 3, ["--shifts", "4K"], "option --shifts: bad value '4K'; give 0 to 1000000 (a whole number)"),
    ("rotate", 3, ["--rails", "2"], "--rails 2: 3 ranks are not 2 on each of two nodes or more"),
    ("rotate", 4, ["--rails", "2", "--adapters", "3"], "--adapters 3 cannot be shared evenly by --rails 2"),
    ("rotate", 4, ["--rails", "2", "--groups", "slurm"], "--groups cannot be used with --rails"),
    ("rotate", 3, ["--raw", "/no/such/folder/raw"], "cannot create the file of --raw"),
    ("hot_spot", 2, ["--max-size", "1000000M"], "option --max-size: bad value '1000000M'"),
    # numbers of ranks
    *((name, 3, [], "needs exactly 2 ranks but was started with 3")
      for name in ("buffer_reuse", "notification", "overlap", "streaming")),
    *((name, 1, [], "needs 2 or more ranks but was started with 1")
      for name in ("collective_overlap", "hot_spot", "latency_map", "rotate")),
    # ranges of sizes
    *((name, 2, ["--min-size", "8", "--max-size", "4"], "--min-size 8 is above --max-size 4")
      for name in ("buffer_reuse", "hot_spot", "notification")),
    ("notification", 2, ["--min-size", "5", "--max-size", "7"], "no size from --min-size 5 to --max-size 7"),
    # programs of their own
    ("streaming", 2, ["--queue-depth", "7"], "--queue-depth 7 is odd; give an even number, or 0 for none"),
    ("streaming", 2, ["--queue-depth", "128"],
     "--queue-depth 128 is above --window 64; raise --window or lower it"),
    ("streaming", 2, ["--queue-depth", "16", "--window", "60"],
     "--window 60 is not a multiple of half of --queue-depth 16; give --window 56"),
    ("buffer_reuse", 2, ["--max-size", "1G", "--iterations", "65536"], "use smaller messages"),
    ("buffer_reuse", 2, ["--iterations", "6"], "--iterations 6 cannot be divided into quarters"),
]  # fmt: skip


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """Return a function that gives a program, built by one MPI: what is refused no MPI changes."""
    folder = tmp_path_factory.mktemp("programs")
    return cache(lambda name: OneProgram("mpich", name, folder))


@pytest.mark.parametrize("name, ranks, arguments, message", CASES)
def test_a_wrong_launch_ends_every_rank_with_one_line(
    programs, name, ranks, arguments, message
):
    programs(name).refuses(message, ranks, *arguments)


@pytest.mark.parametrize("mpi", MPIS)
def test_every_mpi_ends_with_that_line(mpi, tmp_path):
    OneProgram(mpi, "latency_map", tmp_path).refuses(
        "option --size: bad value '0'", 2, "--size", "0"
    )
