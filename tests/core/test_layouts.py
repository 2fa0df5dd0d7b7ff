# SPDX-License-Identifier: BSD-3-Clause
"""Which layouts fit, and for whom."""

import pytest

from fabric_checks.core.errors import FabricError
from fabric_checks.core.layouts import SHAPES, Layout, corners, fitting, of_shape


@pytest.mark.parametrize(
    "nodes, cores, expected",
    [
        (1, 1, "1x1"),
        (1, 6, "1x1 1x2 1x4 1x6"),
        (3, 2, "1x1 1x2 2x1 2x2 3x1 3x2"),
        (0, 4, ""),
    ],
)
def test_every_layout_that_fits(nodes, cores, expected):
    assert " ".join(map(str, fitting(nodes, cores))) == expected


@pytest.mark.parametrize(
    "cores, ppn, expected",
    [
        (8, [], [1, 2, 8]),
        (8, [1, 2, "full"], [1, 2, 8]),
        (8, [6, 4, 4], [1, 2, 4, 6, 8]),
        (1, ["full"], [1]),
    ],
)
def test_processes_a_node_as_a_site_gives_them(cores, ppn, expected):
    assert [layout.ppn for layout in fitting(1, cores, ppn)] == expected
    assert [layout.nodes for layout in fitting(5, cores, ppn)][:: len(expected)] == [
        1,
        2,
        4,
        5,
    ]


@pytest.mark.parametrize("ppn", [[9], [0], [-1]])
def test_processes_a_node_that_cannot_be(ppn):
    with pytest.raises(
        FabricError,
        match=r"^ppn has .*; a node has 8 cores, so write 1 to 8, or 'full'$",
    ):
        fitting(2, 8, ppn)


@pytest.mark.parametrize(
    "shape, nodes, cores, expected",
    [
        ("several", 4, 2, "1x2 4x1 4x2"),
        ("several", 64, 48, "1x2 1x48 64x1 64x48"),
        ("pair", 4, 2, "1x2 2x1"),
        ("pairs", 3, 2, "1x2 3x2"),
        ("ring", 2, 2, "2x2"),
        ("any", 2, 2, "1x1 1x2 2x1 2x2"),
        ("several", 1, 1, ""),
    ],
)
def test_the_corners_of_a_scan(shape, nodes, cores, expected):
    assert (
        " ".join(map(str, corners(of_shape(shape, fitting(nodes, cores))))) == expected
    )


@pytest.mark.parametrize("shape", SHAPES)
def test_corners_do_not_grow_with_the_system(shape):
    for nodes in (1, 2, 3, 64, 1000):
        for cores in (1, 2, 6, 128):
            fit = of_shape(shape, fitting(nodes, cores))
            ends = corners(fit)
            assert set(ends) <= set(fit) and len(ends) <= 4
            assert bool(ends) == bool(fit)
            if fit:
                assert min(fit) in ends and max(fit) in ends


def test_text_and_back():
    assert Layout.of("2x4") == Layout(2, 4)
    assert Layout(2, 4).tasks == 8
    for text in ("", "2", "0x1", "2x", "2x4x8", "-1x2", "2 x 4"):
        with pytest.raises(
            ValueError, match="is not a layout; write nodes x processes"
        ):
            Layout.of(text)


def test_an_unknown_shape_is_told_those_there_are():
    with pytest.raises(ValueError, match="unknown shape 'two'; use one of pair, pairs"):
        of_shape("two", fitting(2, 2))
