# SPDX-License-Identifier: BSD-3-Clause
"""What else changed, and how near it has to be."""

from fabric_checks.comparison.changes import circumstances_between as between


def test_what_changed_a_run_away_counts_if_two_runs_are_on_each_side():
    assert [each.field for each in between({"mpi": ["a", "a", "b", "b", "b"]}, 0, 3, 5)] == ["mpi"]
    assert between({"mpi": ["a", "b", "b", "b"]}, 0, 2, 4) == ()
