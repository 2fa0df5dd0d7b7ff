# SPDX-License-Identifier: BSD-3-Clause
"""The cost of a run, computed before it and measured after it; ``python -m lab.run_cost`` compares many."""

import pytest

from lab.run_cost import CLOSE, WHOLE_SECONDS, computed, first_run, run_again
from tests.cluster.conftest import Cluster


@pytest.fixture(scope="module")
def two(machine):
    """A cluster of two nodes with links of 10 Gbit/s."""
    cluster = Cluster()
    cluster("up", "--nodes", "2", "--rate", "10gbit")
    yield cluster
    cluster("down")


@pytest.mark.alone
def test_what_is_computed_is_what_is_measured(two, tmp_path):
    first = first_run(two, tmp_path)
    assert (first["jobs"], first["nodes"], first["timed_jobs"]) == (3, 2, 0)
    # Another load of the machine changes times, and nothing else: then it is run again.
    for _ in range(3):
        estimate, measured, seen = run_again(two, tmp_path)
        assert abs(measured["node_minutes"] - seen) < CLOSE * seen + WHOLE_SECONDS, (
            measured,
            seen,
        )
        names = ("node_minutes", "job_minutes")
        if all(
            abs(estimate[name] - measured[name]) < CLOSE * measured[name]
            for name in names
        ):
            return
    pytest.fail(f"{estimate} was computed, {measured} measured")


def test_a_run_of_which_nothing_is_known_has_no_times_and_leaves_nothing(tmp_path):
    found = computed(tmp_path, "--reruns=2")
    assert (found["passes"], found["jobs"]) == (3, 9)
    assert found["timed_jobs"] == 0
    assert (found["nodes"], found["job_minutes"], found["node_minutes"]) == (2, 0, 0)
    assert list(tmp_path.rglob("*")) == []
