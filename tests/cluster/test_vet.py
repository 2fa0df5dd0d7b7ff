# SPDX-License-Identifier: BSD-3-Clause
"""A vet, live: a node whose daemon has died is named. ``python -m lab.vet`` tries other faults, many
times."""

from lab.vet import Dead, trial


def test_a_dead_node_is_named_and_no_other(four, tmp_path, report_table):
    """That of the host on which the job script runs: Slurm would queue such a job again, in front of all
    others."""
    # Links that are slower than a machine whose cores are all taken: else a healthy pair may be slow.
    four("shape", *(f"n{number}=200mbit" for number in range(1, 5)))
    try:
        found, is_right = trial(four, tmp_path, [Dead(four, "n1")])
    finally:
        four("shape", *(f"n{number}=none" for number in range(1, 5)))
    report_table("vet: slurmd of n1 killed", [str(found)])
    assert is_right, found
    # All nodes, and without it once more.
    assert found.spent["jobs"] == 2 and found.spent["rounds"] == 2, found
