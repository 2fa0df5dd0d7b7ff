# SPDX-License-Identifier: BSD-3-Clause
"""A vet, live: a node whose daemon has died is named. ``tests/cluster/vetted.py`` tries other faults, many times."""

from tests.cluster import vetted


def test_a_dead_node_is_named_and_no_other(four, tmp_path, report_table):
    found, is_right = vetted.trial(four, tmp_path, "dead", ["n3"])
    report_table("vet: slurmd of n3 killed", [str(found)])
    assert is_right, found
    # All nodes, and without it once more.
    assert found.spent["jobs"] == 2 and found.spent["rounds"] == 2
