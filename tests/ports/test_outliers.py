# SPDX-License-Identifier: BSD-3-Clause
"""Chance, the usual value among nodes, and the subject of a finding."""

from scipy.stats import poisson

from fabric_checks.ports.outliers import CHANCE, is_chance, nodes_text, usual


def test_what_is_no_chance_is_rarer_than_one_healthy_counter_in_a_million():
    expected = [10**power / 4 for power in range(-8, 6)]
    for mean in expected:
        counts = [*range(1, 40), *(int(mean * factor) for factor in (1, 1.1, 1.5, 3))]
        for count in filter(None, counts):
            exact = poisson.sf(count - 1, mean)
            assert is_chance(count, mean) or exact < CHANCE, (count, mean)
            # The bound is no more than a hundred times the exact probability here.
            assert not is_chance(count, mean) or exact > CHANCE / 100, (count, mean)
    assert is_chance(0, 0) and not is_chance(1, 0)


def test_the_usual_value_is_that_of_more_than_half():
    assert usual({"a": 1, "b": 1, "c": 2}) == 1
    assert usual({"a": 1, "b": 1}) is None and usual({"a": 1, "b": 2, "c": 3}) is None


def test_a_subject_names_few_nodes():
    assert nodes_text(["n1"]) == "node n1"
    assert nodes_text(["n1", "n2"]) == "nodes n1, n2"
    assert nodes_text([f"n{i}" for i in range(9)]) == "nodes n0, n1, n2, n3 and 5 more"
