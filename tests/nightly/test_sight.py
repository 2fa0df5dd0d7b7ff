# SPDX-License-Identifier: BSD-3-Clause
"""When a finding closes: on a night that would have seen it."""

from dataclasses import replace

import pytest

from fabric_checks.nightly import sight
from tests.nightly.samples import finding


@pytest.mark.parametrize(
    "tonight, why",
    [
        ({"node": 0.2, "pair": None}, ""),
        ({"node": 0.41}, ""),
        ({"node": 0.48}, "48 % would have been named, and it was 41 %"),
        ({"node": None}, "no slow node would have been named"),
        (None, "no case that can name it was measured"),
    ],
)
def test_a_finding_closes_only_where_a_fault_of_its_size_would_have_been_named(
    tonight, why
):
    slow = finding(sizes={"sender n3": 0.41})
    known = {} if tonight is None else {"A @x": tonight}
    assert sight.why_open(slow, frozenset({"A @x"}), known) == why
    assert (
        sight.why_open(slow, frozenset(), known)
        == "no case that showed it was measured"
    )
    # A failed reference closes by its value, and needs no limit.
    assert (
        sight.why_open(finding(sizes={"case n3": 0.5}), frozenset({"A @x"}), {}) == ""
    )


@pytest.mark.parametrize(
    "sizes, known, closes",
    [
        ({"both directions": 0.4}, {"node": 0.1, "node both ways": 0.2}, True),
        ({"both directions": 0.4}, {"node": 0.1}, False),
        ({"uplinks": 0.3}, {"cable": None, "pair": 0.2}, True),
        ({"uplinks": 0.3}, {"cable": 0.4, "pair": 0.2}, False),
        ({"slow node": 0.5}, {"node_us": 0.3, "pair_us": None}, True),
        ({"slow node": 0.5}, {"node_us": 0.7}, False),
        ({"misplaced": None}, {"node_us": None, "pair_us": None}, False),
        ({"misplaced": None}, {"node_us": 0.1, "pair_us": 0.2}, True),
        ({"sender": 0.4, "pair": 0.4}, {"node": 0.1, "pair": 0.5}, False),
    ],
)
def test_each_kind_has_its_own_limit(sizes, known, closes):
    entry = finding(sizes={f"{kind} n3": size for kind, size in sizes.items()})
    assert (not sight.why_open(entry, frozenset({"A @x"}), {"A @x": known})) is closes


def test_a_pair_closes_only_where_it_was_measured_again():
    """A night measures a part of the pairs, and the next one others."""
    entry = finding(sizes={"pair n3": 0.4})
    of_turn = replace(entry.findings[0], data={"limit": "pair of turn 1"})
    entry = replace(entry, findings=(of_turn,))

    def why(known):
        return sight.why_open(entry, frozenset({"A @x"}), {"A @x": known})

    assert why({"node": 0.1, "pair of turn 2": 0.1}) == "other pairs were measured"
    assert "50 % would have been named" in why({"pair of turn 1": 0.5})
    assert not why({"node": 0.1, "pair of turn 1": 0.1})
    # What slows many pairs shows in any of them.
    uplinks = finding(sizes={"uplinks n3": 0.3})
    known = {"A @x": {"cable": None, "pair of turn 2": 0.1}}
    assert not sight.why_open(uplinks, frozenset({"A @x"}), known)
