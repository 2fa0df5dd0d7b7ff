# SPDX-License-Identifier: BSD-3-Clause
"""Whether ranks ran where they were asked to."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric_checks.analysis.placement import binding, verify
from fabric_checks.core.errors import PlacementError
from fabric_checks.core.layouts import Layout
from fabric_checks.parsers.placement import RankPlace


def ranks(*nodes_and_cores):
    """Make ranks from (node, cores); where no cores are given, every CPU of four is allowed."""
    return [
        RankPlace(i, node, node, "0-3", frozenset(cores.split()))
        for i, (node, cores) in enumerate(nodes_and_cores)
    ]


@pytest.mark.parametrize(
    "layout, given, message",
    [
        (
            "1x2",
            [("a", "0 1"), ("a", "0 1")],
            None,
        ),  # not bound: each can have a core of its own
        ("1x2", [("a", "0 1"), ("a", "0")], None),
        ("2x1", [("a", "0"), ("b", "0")], None),
        ("1x2", [("a", ""), ("a", "")], None),  # cores are unknown
        (
            "1x2",
            [("a", "0 1")],
            "1 rank ran in place of 2; see whether the launcher is that of this MPI",
        ),
        (
            "2x1",
            [("a", "0"), ("a", "1")],
            "the ranks are on 1 node in place of 2; see the launcher's options",
        ),
        ("1x2", [("a", "0"), ("b", "1")], "the ranks are on 2 nodes in place of 1"),
        (
            "2x2",
            [("a", "0"), ("a", "1"), ("a", "2"), ("b", "0")],
            "a has 3 ranks in place of 2; see",
        ),
        (
            "1x2",
            [("a", "0"), ("a", "0")],
            "on a 2 ranks share fewer than 2 cores; check the launcher's",
        ),
        # However many others have a core each.
        (
            "1x4",
            [("a", "0"), ("a", "7"), ("a", "1"), ("a", "7")],
            "binding: rank 1 on a .*, rank 3 on a",
        ),
    ],
)
def test_ranks_that_ran_elsewhere_or_share_cores_are_named(layout, given, message):
    if message is None:
        verify(ranks(*given), Layout.of(layout))
        return
    with pytest.raises(PlacementError, match=message):
        verify(ranks(*given), Layout.of(layout))


@pytest.mark.parametrize(
    "cpus, is_right",
    [
        (["0-1", "0"], True),
        (["0,2-3", "2", "3"], True),
        (["1", "1"], False),
        (["-", "-"], True),
    ],
)
def test_without_cores_the_cpus_decide(cpus, is_right):
    found = [
        RankPlace(rank, "a", "a", text, frozenset()) for rank, text in enumerate(cpus)
    ]
    if is_right:
        verify(found, Layout(1, len(cpus)))
        return
    with pytest.raises(PlacementError, match="share fewer than 2 cores"):
        verify(found, Layout(1, 2))


def test_where_cores_are_known_to_be_too_few_they_may_be_shared():
    verify(ranks(("a", "0"), ("a", "0")), Layout(1, 2), oversubscribed=True)
    with pytest.raises(PlacementError, match="the ranks are on 2 nodes in place of 1"):
        verify(ranks(("a", "0"), ("b", "0")), Layout(1, 2), oversubscribed=True)


def bound(*cpus, cores=None, online="0-7"):
    """Make ranks on nodes a, b, ... from texts such as "0-3|4-7", which are the CPUs of a node's ranks."""
    lists = [
        (node, text)
        for node, of_node in zip("abcdef", cpus, strict=False)
        for text in of_node.split("|")
    ]
    return [
        RankPlace(
            rank,
            node,
            node,
            text,
            frozenset((cores or (lambda text: text))(text).split()),
            online,
        )
        for rank, (node, text) in enumerate(lists)
    ]


def wide(cpus):
    """Name two cores for any CPUs, so that a binding is to no single core."""
    return f"{cpus} more"


@pytest.mark.parametrize(
    "given, options, expected",
    [
        (["0|1", "0|1"], {}, "core"),
        # Two hardware threads of one core are that core.
        (["0,4|1,5"], {"cores": lambda cpus: cpus[0]}, "core"),
        (["0-7|0-7", "0-7|0-7"], {}, "none"),
        (["0-3|4-7", "4-7|0-3"], {"cores": wide}, "0-3|4-7 4-7|0-3"),
        (
            ["0-7|0-3"],
            {"cores": wide},
            "0-7|0-3",
        ),  # one rank that is bound differently shows
        (["0", "1", "0-1", "3", "4", "5"], {"cores": wide}, "0 1 0-1 3 and 2 more"),
        (["0|-"], {}, "unknown"),
        ([], {}, "unknown"),
        # Cores unknown, or the CPUs of the node: the known CPUs are given.
        (["0|1"], {"cores": lambda _: ""}, "0|1"),
        (["0-3|4-7"], {"online": "-", "cores": wide}, "0-3|4-7"),
    ],
)
def test_a_binding_is_one_word_or_lists_of_cpus(given, options, expected):
    assert binding(bound(*given, **options)) == expected


@given(st.lists(st.sets(st.integers(0, 4), min_size=1), min_size=1, max_size=5))
def test_distinct_cores_against_exhaustive_search(masks):
    """The oracle tries every assignment."""
    possible = any(
        len(set(choice)) == len(choice) for choice in itertools.product(*masks)
    )
    places = ranks(*(("a", " ".join(map(str, mask))) for mask in masks))
    if possible:
        verify(places, Layout(1, len(masks)))
    else:
        with pytest.raises(PlacementError, match="share fewer than"):
            verify(places, Layout(1, len(masks)))
