# SPDX-License-Identifier: BSD-3-Clause
"""The usual value among nodes, and the subject of a finding."""

from fabric_checks.ports.outliers import nodes_text, usual


def test_the_usual_value_is_that_of_more_than_half():
    assert usual({"a": 1, "b": 1, "c": 2}) == 1
    assert usual({"a": 1, "b": 1}) is None and usual({"a": 1, "b": 2, "c": 3}) is None


def test_a_subject_names_few_nodes():
    assert nodes_text(["n1"]) == "node n1"
    assert nodes_text(["n1", "n2"]) == "nodes n1, n2"
    assert nodes_text([f"n{i}" for i in range(9)]) == "nodes n0, n1, n2, n3 and 5 more"
