# SPDX-License-Identifier: BSD-3-Clause
"""Values of curves, against the source's own definitions and values and against NumPy."""

import numpy as np
import pytest

from fabric_checks.analysis import curves
from fabric_checks.core.metrics import powers_of_two
from tests.breakages import refused

MiB = 1024**2
SIZES = powers_of_two(0, 4 * MiB)


def test_bandwidth_is_bytes_over_time_in_millions_of_all_messages():
    times = {0: 1.0, 8: 2.0, 1_000_000: 1_000.0}
    assert curves.bandwidth_MBps(times) == {8: 4.0, 1_000_000: 1000.0}
    assert curves.bandwidth_MBps(times, messages=2) == {8: 8.0, 1_000_000: 2000.0}
    assert curves.peak_bandwidth_MBps(times) == 1000.0
    assert curves.peak_bandwidth_MBps(times, messages=2) == 2000.0


def test_bidirectional_values_of_the_source():
    """OSU03's InfiniBand: 830 MB/s one way, 901 MB/s both ways; an exchange takes 10.3 us."""
    one_way, both = ({0: 1.0, MiB: MiB / rate} for rate in (830, 901 / 2))
    values = curves.bidirectional_values(one_way, {0: 10.3, MiB: 2000.0}, both)
    assert values == {
        "bidirectional_latency": 10.3,
        "peak_bandwidth_exchange": pytest.approx(2 * MiB / 2000),
        "peak_bandwidth_bidirectional": pytest.approx(901),
        "bidirectional_gain": pytest.approx(901 / 830),
    }


def test_half_peak_size_is_the_least_squares_line_of_four_points():
    bandwidths = {
        1: 1.0,
        2: 2.0,
        4: 4.5,
        8: 7.0,
        16: 11.0,
        32: 14.0,
        64: 15.0,
        128: 15.2,
    }
    # Half of the peak is 7.6; two points on each side of it are 4, 8 and 16, 32.
    slope, offset = np.polyfit([4, 8, 16, 32], [4.5, 7.0, 11.0, 14.0], 1)
    assert curves.half_peak_size_B(bandwidths) == pytest.approx((7.6 - offset) / slope)


@pytest.mark.parametrize(
    "bandwidths, least, most",
    [
        (
            {1: 1.0, 2: 9.0, 4: 10.0},
            1.5,
            1.5,
        ),  # fewer than four points: between the two nearest
        (
            {1: 10.0, 2: 1.0, 4: 21.0, 8: 2.0, 16: 20.0},
            2,
            4,
        ),  # the line of four points leaves them
    ],
)
def test_half_peak_size_is_between_two_points_where_four_give_no_line(
    bandwidths, least, most
):
    assert least <= curves.half_peak_size_B(bandwidths) <= most


def test_half_peak_size_outside_the_curve_is_refused():
    with refused("the smallest message, 1 B, already has half of the peak bandwidth"):
        curves.half_peak_size_B({1: 6.0, 2: 9.0, 4: 10.0})


def test_the_values_of_the_source():
    """The percentages that SAND2005-5199 prints follow from its other values (Tables 2 and 5) by these
    formulas."""
    ping_pong = dict.fromkeys(SIZES, 0.0) | {size: 1.35 + size / 949 for size in SIZES}
    streaming = {size: max(0.36, size / 954) for size in SIZES}
    values = curves.streaming_values(ping_pong, streaming)
    assert values["zero_byte_latency_ping_pong"] == 1.35
    assert values["zero_byte_latency_streaming"] == 0.36
    assert values["zero_byte_latency_reduction"] == pytest.approx(
        73.3, abs=0.05
    )  # as printed for InfiniPath
    assert values["message_rate_8B"] == pytest.approx(1 / 0.36)
    assert values["peak_bandwidth_streaming"] == pytest.approx(954)
    ratio = values["half_peak_size_ping_pong"] / values["half_peak_size_streaming"]
    assert values["half_peak_size_increase"] == pytest.approx(100 * ratio)
