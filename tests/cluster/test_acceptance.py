# SPDX-License-Identifier: BSD-3-Clause
"""An acceptance, live: a node at 0.9 of the rate of others violates it. ``python -m lab.acceptance_live`` has
more."""

from lab.acceptance_live import MBIT, NODES, acceptance


def test_a_node_at_nine_tenths_violates_the_contract_within_its_sessions(
    cluster, tmp_path, report_table
):
    cluster("up", "--nodes", str(NODES), "--rate", f"{MBIT}mbit")
    words, sessions, is_right = acceptance(cluster, tmp_path, "node at 0.9", "n2")
    report_table("acceptance: n2 at 0.9", [f"{words} after {sessions} sessions"])
    assert is_right, words
    assert words["slowest node"] == "violated"
