# SPDX-License-Identifier: BSD-3-Clause
"""The program ``latency_map``, built and run for real on every MPI that is set up."""

import pytest

from fabric_checks.parsers import latency_map, rotate_patterns
from tests.fabric.test_programs import MPIS, Mpi

SHORT = ("--samples", "3", "--repetitions", "2", "--warmup", "1")


@pytest.fixture(scope="module", params=MPIS)
def mpi(request, tmp_path_factory):
    return Mpi(request.param, tmp_path_factory.mktemp(request.param), "latency_map")


def run(mpi, ranks, *arguments):
    done = mpi.run(ranks, "latency_map", *SHORT, *arguments)
    assert done.returncode == 0, done.stderr
    return latency_map.parse(done.stdout)


@pytest.mark.parametrize(("ranks", "passes", "shifts"), [(2, 3, 0), (5, 2, 0), (6, 1, 3)])
def test_every_pair_of_every_round_is_measured(mpi, ranks, passes, shifts):
    output = run(mpi, ranks, "--passes", str(passes), "--shifts", str(shifts))
    rounds = len(rotate_patterns.round_robin_rounds(ranks, shifts))
    assert len(output.starter) == passes * rounds * (ranks // 2)
    assert (output.least_us > 0).all() and (output.least_us <= output.latency_us).all()


@pytest.mark.parametrize(
    ("ranks", "arguments", "message"),
    [
        (1, [], "needs 2 or more ranks but was started with 1"),
        (2, ["--size", "0"], "--size"),
        (2, ["--samples", "0"], "--samples"),
        (2, ["--passes", "0"], "--passes"),
    ],
)
def test_bad_arguments_end_every_rank_with_one_line(mpi, ranks, arguments, message):
    done = mpi.run(ranks, "latency_map", *arguments)
    assert done.returncode != 0
    lines = [line for line in done.stderr.splitlines() if line.startswith("latency_map: ")]
    assert len(lines) == 1 and message in lines[0], done.stderr
    assert "# complete" not in done.stdout
