# SPDX-License-Identifier: BSD-3-Clause
"""``fabric-checks changes`` as a user starts it."""

from functools import partial

import numpy as np
import pytest

from tests import calling
from tests.builders import runs, write_runs


@pytest.fixture
def log(tmp_path):
    """A perflog in which a curve is 20 % worse from the 21st of October on, with another MPI."""
    draw = np.random.default_rng(1)
    records = []
    for size in (1, 2, 4, 8, 16):
        values = [
            (1.2 if run >= 20 else 1) * 10 * (1 + 0.02 * draw.normal())
            for run in range(40)
        ]
        point = {"metric": f"latency_{size}B", "size_B": size}
        records += runs(
            "",
            values,
            mpi=lambda run: "MPICH 4.2" if run < 20 else "MPICH\x1b[31m 4.3",
            **point,
        )
    return write_runs(
        tmp_path / "log.jsonl",
        records,
        runs("", [1.0] * 3, metric="short", size_B=None),
    )


changes = partial(calling.invoke, "changes")


def test_a_paragraph_for_an_event(log):
    result = changes(log)
    assert result.exit_code == 3, result.output
    first, second, third, *_ = result.stdout.splitlines()
    assert first.startswith(
        "open    5 series of OsuLatency 2x1 on cluster:compute+mpich from 2026-10-21 00:00: worse by "
    )
    assert first.endswith("latency 5 sizes 1 .. 16 B")
    assert second == "    mpi: MPICH 4.2 -> MPICH?[31m 4.3"
    assert (
        third == "5 series searched: 5 changes in 1 events: 5 open, 0 better, 0 closed"
    )
    assert "1 series are too short: fewer than 8 runs" in result.stdout


def test_it_fails_for_what_is_worse_and_stays_so(log):
    assert changes(log, "--json").exit_code == 3
    result = changes(log, "--since", "2026-10-24")
    assert result.exit_code == 0 and "0 changes in 0 events" in result.stdout


def test_what_is_better_is_no_failure(tmp_path):
    values = [(8 if run >= 20 else 10) + 0.01 * (run % 3) for run in range(40)]
    result = changes(write_runs(tmp_path / "a.jsonl", runs("", values)))
    assert result.exit_code == 0 and "0 open, 1 better" in result.stdout
