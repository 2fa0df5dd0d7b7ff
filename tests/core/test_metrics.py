# SPDX-License-Identifier: BSD-3-Clause
"""Declared metrics."""

import pytest

from fabric_checks.core.metrics import (
    PAIR,
    Headline,
    Metric,
    curve,
    half_octaves,
    powers_of_two,
)


def test_a_curve_declares_a_metric_for_each_size():
    assert curve("latency", "us", "smaller", [0, 8]) == [
        Metric("latency_0B", "us", "smaller", "latency", 0),
        Metric("latency_8B", "us", "smaller", "latency", 8),
    ]


def test_an_unknown_unit_is_refused():
    with pytest.raises(ValueError, match="metric x: unknown unit 'MiB/s'"):
        Metric("x", "MiB/s", "larger")


@pytest.mark.parametrize(
    "words, message",
    [
        ({"point": "max"}, "unknown point 'max'; use one of value, first, last, peak"),
        ({"layouts": "most"}, "unknown layouts 'most'; use one of smallest, largest"),
    ],
)
def test_a_headline_with_an_unknown_word_is_refused(words, message):
    with pytest.raises(ValueError, match=f"headline peak: {message}"):
        Headline("peak", "bandwidth", PAIR, 1, **words)


def test_an_unknown_direction_is_refused():
    with pytest.raises(ValueError, match="metric x: unknown better 'more'; use one of"):
        Metric("x", "us", "more")


def test_sizes_of_curves():
    assert [powers_of_two(*ends) for ends in ((0, 4), (4, 17), (1, 1))] == [
        [0, 1, 2, 4],
        [4, 8, 16],
        [1],
    ]
    assert half_octaves(0, 16) == [0, 1, 2, 3, 4, 6, 8, 12, 16]
    assert half_octaves(4, 11) == [4, 6, 8]
