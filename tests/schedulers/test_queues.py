# SPDX-License-Identifier: BSD-3-Clause
"""Groups of like nodes become one queue for each name."""

from fabric_checks.schedulers.queues import Queue, joined


def test_groups_of_one_name_are_one():
    one, two = joined([Queue("a", 3, 64, is_default=True), Queue("b", 1, None), Queue("a", 2, 32, gpus="gpu:2")])
    assert (one.nodes, one.cores, one.differ, one.is_default, one.gpus) == (5, 32, True, True, "gpu:2")
    assert (two.nodes, two.cores, two.differ) == (1, None, False)


def test_a_job_may_have_fewer_nodes_than_there_are():
    assert Queue("a", 10, most_nodes=4).usable == 4 and Queue("a", 10).usable == 10
    assert Queue("a", 2, most_nodes=4).usable == 2
