# SPDX-License-Identifier: BSD-3-Clause
"""The program ``latency_map``, built and run for real on every MPI that is set up."""

import pytest

from fabric_checks.parsers import latency_map, rotate_patterns

PROGRAM = "latency_map"
SHORT = ("--samples", "3", "--repetitions", "2", "--warmup", "1")


@pytest.mark.parametrize(("ranks", "passes", "shifts"), [(2, 3, 0), (5, 2, 0), (6, 1, 3)])
def test_every_pair_of_every_round_is_measured(program, ranks, passes, shifts):
    output = latency_map.parse(program.output(ranks, *SHORT, "--passes", str(passes), "--shifts", str(shifts)))
    rounds = len(rotate_patterns.round_robin_rounds(ranks, shifts))
    assert len(output.starter) == passes * rounds * (ranks // 2)
    assert (output.least_us > 0).all() and (output.least_us <= output.latency_us).all()
