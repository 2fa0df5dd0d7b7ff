# SPDX-License-Identifier: BSD-3-Clause
"""Which layouts fit, and for whom."""

import pytest

from fabric_checks.layouts import Layout, fitting, of_shape


@pytest.mark.parametrize(
    ("nodes", "cores", "expected"),
    [
        (1, 1, "1x1"),
        (1, 2, "1x1 1x2"),
        (1, 6, "1x1 1x2 1x4 1x6"),
        (3, 2, "1x1 1x2 2x1 2x2 3x1 3x2"),
        (0, 4, ""),
    ],
)
def test_every_layout_that_fits(nodes, cores, expected):
    assert " ".join(map(str, fitting(nodes, cores))) == expected


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ("pair", "1x2 2x1"),
        ("pairs", "1x2 2x1 2x2 3x2"),
        ("several", "1x2 2x1 2x2 3x1 3x2"),
        ("any", "1x1 1x2 2x1 2x2 3x1 3x2"),
    ],
)
def test_shapes(shape, expected):
    assert " ".join(map(str, of_shape(shape, fitting(3, 2)))) == expected


def test_text_and_back():
    assert Layout.of("2x4") == Layout(2, 4)
    assert Layout(2, 4).tasks == 8
    for text in ("", "2", "0x1", "2x", "2x4x8", "-1x2", "2 x 4"):
        with pytest.raises(ValueError, match="is not a layout; write nodes x processes"):
            Layout.of(text)
