# SPDX-License-Identifier: BSD-3-Clause
"""Four programs find the rate of links of 1 Gbit/s, with every MPI, started by Slurm; see
lab/one_gigabit.py."""

import pytest

from lab import one_gigabit
from tests.cluster.conftest import MPIS, Cluster

pytestmark = pytest.mark.alone


@pytest.fixture(scope="module")
def eight(machine):
    cluster = Cluster()
    cluster("up", "--nodes", "8", "--rate", "1gbit")
    yield cluster
    cluster("down")


@pytest.mark.parametrize("mpi", MPIS)
def test_every_program_finds_the_rate_of_the_links(eight, mpi, tmp_path, report_table):
    values, allowed_MBps = one_gigabit.measured(eight, mpi, tmp_path)
    row = ", ".join(f"{name} {value:.1f}" for name, value in values.items())
    report_table(f"{mpi}: MB/s on links that allow {allowed_MBps:.1f}", [row])
    assert len(values) == (4 if mpi in one_gigabit.RUNS_ALL else 3)
    # A link that rests, as that of a ping-pong does half of the time, saves up for a burst: 125 kB of each 4
    # MiB.
    assert all(
        0.9 * allowed_MBps <= value <= 1.1 * allowed_MBps for value in values.values()
    ), (
        values,
        allowed_MBps,
    )
    assert max(values.values()) <= 1.1 * min(values.values()), values
