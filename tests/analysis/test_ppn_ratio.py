# SPDX-License-Identifier: BSD-3-Clause
"""Layouts and metrics that are compared, and the values."""

import math

import pytest

from fabric_checks.analysis import ppn_ratio
from fabric_checks.core.layouts import fitting, of_shape
from fabric_checks.core.metrics import Metric, curve
from tests.breakages import refused


@pytest.mark.parametrize(
    "shape, nodes, cores, pairs",
    [
        ("pair", 2, 2, {"1x2": "2x1"}),
        ("pair", 1, 2, {}),
        ("several", 1, 4, {}),
        (
            "several",
            4,
            4,
            {
                "1x2": "2x1",
                "1x4": "4x1",
                "2x2": "2x1",
                "2x4": "2x1",
                "4x2": "4x1",
                "4x4": "4x1",
            },
        ),
        ("several", 2, 4, {"1x2": "2x1", "2x2": "2x1", "2x4": "2x1"}),
        ("pairs", 3, 2, {"1x2": "2x1", "2x2": "2x1"}),
        ("any", 1, 2, {"1x2": "1x1"}),
    ],
)
def test_counterparts(shape, nodes, cores, pairs):
    fit = fitting(nodes, cores)
    found = ppn_ratio.counterparts(of_shape(shape, fit), fit)
    assert {str(layout): str(one) for layout, one in found.items()} == pairs


def test_metrics_at_both_layouts_are_compared_and_no_others():
    one = [
        Metric("rate", "1/s", "larger"),
        Metric("share", "%", "smaller"),
        Metric("only_here", "s", "smaller"),
    ]
    more = [
        *one[:2],
        Metric("only_there", "s", "smaller"),
        *curve("time", "us", "smaller", [8]),
    ]
    found = ppn_ratio.comparisons(
        [*one, *curve("time", "us", "smaller", [8, 16])], more
    )
    assert [c.metric for c in found] == [
        Metric("rate_ratio", "1", "larger"),
        Metric("share_difference", "%", "smaller"),
        Metric("time_ratio_8B", "1", "smaller", "time_ratio", 8),
    ]
    assert [c.of.name for c in found] == ["rate", "share", "time_8B"]


def compare(unit, one, more, **declared):
    (found,) = ppn_ratio.comparisons(
        *[[Metric("latency", unit, "larger", **declared)]] * 2
    )
    return found.value({"2x1": one, "1x2": more})


def test_a_ratio_and_a_difference():
    assert compare("us", 1.35, 0.72) == pytest.approx(
        0.5333, rel=1e-3
    )  # SAND2005-5199, Tables 2 and 7, InfiniPath
    assert compare("%", 0, 40) == 40
    assert compare("us", 0, 1.5, can_be_zero=True) == 1.5


@pytest.mark.parametrize(
    "unit, one, more, message",
    [
        ("us", 0, 1, "latency cannot be compared: it is 0 at 2x1"),
        ("us", math.nan, 1, "it is nan at 2x1"),
        ("%", 1, math.inf, "it is 1 at 2x1, and inf"),
    ],
)
def test_what_cannot_be_compared(unit, one, more, message):
    with refused(message):
        compare(unit, one, more)
