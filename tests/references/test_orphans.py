# SPDX-License-Identifier: BSD-3-Clause
"""Orphans: which reference is of nothing, and what it says of it."""

import pytest

from fabric_checks.references import lookup

ENTRY = {"$index": ["$environ", "layout"], "mpich.*": {"2x1": {"latency": [1, None, 0.1, "us"]}, "1x2": {"rate": [2]}}}
PATHS = [("A", "mpich.*", "2x1"), ("A", "mpich.*", "1x2")]


def test_references_by_their_keys():
    assert lookup.paths("A", ENTRY) == PATHS
    assert list(lookup.references("A", ENTRY)) == [
        (("A", "mpich.*", "2x1", "latency"), [1, None, 0.1, "us"]),
        (("A", "mpich.*", "1x2", "rate"), [2]),
    ]


@pytest.mark.parametrize(
    ("known", "why"),
    [
        ({"$environ": ["mpich-spack"], "layout": ["2x1"]}, None),
        ({"layout": ["2x1"]}, None),  # of environments nothing is known
        ({"$environ": ["openmpi"]}, "there is no such environ here (there is openmpi); fix or delete it"),
        ({"$environ": ["mpich"], "layout": ["1x2"]}, "there is no such layout here (there is 1x2); fix or delete it"),
    ],
)
def test_keys(known, why):
    expected = why and f"orphan: A: mpich.*: 2x1: {why}"
    assert lookup.why_no_key(ENTRY["$index"], PATHS[0], known) == expected


def test_checks():
    assert lookup.why_no_check("A", {"A"}) is None
    assert lookup.why_no_check("A\n", {"A"}) == r"orphan entry 'A\n': no check class has that name; fix or delete it"
