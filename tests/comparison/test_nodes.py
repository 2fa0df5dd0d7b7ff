# SPDX-License-Identifier: BSD-3-Clause
"""What is known of each node: cases, blame, ports, and who stands out."""

import pytest

from fabric_checks.comparison import nodes
from tests.builders import load, record, write

BLAMED = {
    "kind": "sender",
    "hosts": ["n3"],
    "severity": "fault",
    "text": "node n3 sends at 0.50 of the median",
}


def runs(count=20, *, bad=lambda run: run % 2 == 0, **more):
    """Return records of as many runs on four nodes, of which some blame n3; each of two values."""
    made = []
    for run in range(count):
        shown = {"findings": [BLAMED]} if bad(run) else {}
        about = {"nodelist": ["n1", "n2", "n3", "n4"]} | shown | more
        made += [
            record(run, metric=f"latency_{size}B", size_B=size, **about)
            for size in (8, 16)
        ]
    return made


@pytest.fixture
def nodes_in(tmp_path):
    def of(records):
        return nodes.nodes_of(
            load(write(tmp_path / "A.jsonl", records), nodes.COLUMNS).frame
        )

    return of


def test_a_lemon_shows_itself(nodes_in):
    found = nodes_in(runs())
    assert [node.name for node in found] == ["n3", "n1", "n2", "n4"]
    lemon, other = found[:2]
    # A case has many records and counts once.
    assert (lemon.cases, lemon.blamed, lemon.failed, lemon.stands_out) == (
        20,
        10,
        0,
        True,
    )
    assert lemon.low == pytest.approx(0.2720, abs=1e-4) and lemon.high == pytest.approx(
        0.7280, abs=1e-4
    )
    assert lemon.others == 0 and other.others == pytest.approx(10 / 60)
    assert (other.cases, other.bad, other.stands_out) == (20, 0, False)


def test_one_bad_case_makes_no_lemon(nodes_in):
    assert not any(node.stands_out for node in nodes_in(runs(bad=lambda run: run == 3)))


def test_a_node_without_others_stands_out_from_nobody(nodes_in):
    (found,) = nodes_in(
        [record(run, nodelist=["n3"], findings=[BLAMED]) for run in range(20)]
    )
    assert (found.blamed, found.others, found.stands_out) == (20, None, False)


def test_of_many_nodes_one_is_above_the_others_by_chance(nodes_in):
    """6 of 20 against 6 of 60: above by the interval of one node, and not by that of the first of forty."""
    few = [
        record(run, nodelist=["n3"], findings=[BLAMED] if run < 6 else [])
        for run in range(20)
    ]

    def others(count):
        names = [f"m{number}" for number in range(count)]
        return [record(30 + run, nodelist=names) for run in range(60 // count)]

    assert next(
        node for node in nodes_in([*few, *others(1)]) if node.name == "n3"
    ).stands_out
    assert not next(
        node for node in nodes_in([*few, *others(60)]) if node.name == "n3"
    ).stands_out


def test_a_case_that_failed_and_blames_nobody_is_of_all_its_nodes(nodes_in):
    found = nodes_in(
        [
            *runs(3, bad=lambda run: False),
            record(5, nodelist=["n1", "n2"], case_result="fail", fail_reason="no\nx"),
        ]
    )
    assert {node.name: node.failed for node in found} == {
        "n1": 1,
        "n2": 1,
        "n3": 0,
        "n4": 0,
    }


def test_uncertain_findings_and_those_of_a_path_blame_no_node(nodes_in):
    for change in ({"severity": "suspect"}, {"hosts": ["n3", "n4"]}):
        assert not any(
            node.blamed
            for node in nodes_in(
                runs(3, bad=lambda run: False, findings=[BLAMED | change])
            )
        )
