# SPDX-License-Identifier: BSD-3-Clause
"""What most of several nodes have, and names in a sentence."""

from fabric_checks.ports.outliers import listed, usual


def test_what_most_have():
    assert usual({"a": 1, "b": 1, "c": 2}) == 1
    assert usual({"a": 1, "b": 2}) is None and usual({"a": 1, "b": 2, "c": 3}) is None
    assert listed([]) == "" and listed(["a"]) == "a"
