# SPDX-License-Identifier: BSD-3-Clause
"""Figures of curves, against the source's own definitions and figures and against NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric_checks import curves
from fabric_checks.errors import OutputError
from fabric_checks.metrics import half_octaves, powers_of_two

SIZES = powers_of_two(0, 4 * 1024**2)


def test_bandwidth_is_bytes_over_time_in_millions():
    assert curves.bandwidth_MBps({0: 1.0, 1_000_000: 1_000.0}) == {1_000_000: 1000.0}


def test_half_peak_size_is_the_least_squares_line_of_four_points():
    bandwidths = {1: 1.0, 2: 2.0, 4: 4.5, 8: 7.0, 16: 11.0, 32: 14.0, 64: 15.0, 128: 15.2}
    # Half of the peak is 7.6; two points on each side of it are 4, 8 and 16, 32.
    slope, offset = np.polyfit([4, 8, 16, 32], [4.5, 7.0, 11.0, 14.0], 1)
    assert curves.half_peak_size_B(bandwidths) == pytest.approx((7.6 - offset) / slope)


@given(latency_us=st.floats(0.2, 50), rate_MBps=st.floats(100, 50_000))
def test_half_peak_size_of_the_model_curve(latency_us, rate_MBps):
    """Of t = latency + size / rate, N1/2 is latency x rate; the source's interpolation is a little above it."""
    times = {size: latency_us + size / rate_MBps for size in half_octaves(1, 2**30)}
    exact = latency_us * rate_MBps
    assert curves.half_peak_size_B(curves.bandwidth_MBps(times)) == pytest.approx(1.05 * exact, rel=0.05)


def test_half_peak_size_with_fewer_points_than_four_interpolates_between_two():
    assert curves.half_peak_size_B({1: 1.0, 2: 9.0, 4: 10.0}) == pytest.approx(1.5)


def test_half_peak_size_of_noise_stays_among_the_points():
    """A line that falls, or leaves the four points, is not used."""
    noisy = {1: 10.0, 2: 1.0, 4: 21.0, 8: 2.0, 16: 20.0}
    assert 2 <= curves.half_peak_size_B(noisy) <= 4


def test_half_peak_size_outside_the_curve_is_refused():
    with pytest.raises(OutputError, match="the smallest message, 1 B, already has half of the peak bandwidth"):
        curves.half_peak_size_B({1: 6.0, 2: 9.0, 4: 10.0})


def test_the_figures_of_the_source():
    """The percentages that SAND2005-5199 prints follow from its other figures (Tables 2 and 5) by these formulas."""
    ping_pong = dict.fromkeys(SIZES, 0.0) | {size: 1.35 + size / 949 for size in SIZES}
    streaming = {size: max(0.36, size / 954) for size in SIZES}
    figures = curves.streaming_figures(ping_pong, streaming)
    assert figures["zero_byte_latency_ping_pong"] == 1.35
    assert figures["zero_byte_latency_streaming"] == 0.36
    assert figures["zero_byte_latency_reduction"] == pytest.approx(73.3, abs=0.05)  # as printed for InfiniPath
    assert figures["message_rate_8B"] == pytest.approx(1 / 0.36)
    assert figures["peak_bandwidth_streaming"] == pytest.approx(954)
    ratio = figures["half_peak_size_ping_pong"] / figures["half_peak_size_streaming"]
    assert figures["half_peak_size_increase"] == pytest.approx(100 * ratio)


@pytest.mark.parametrize(
    ("ping_pong", "streaming", "reduction", "sizes", "increase"),
    [
        (1.35, 0.36, 73.3, (3579, 417), 859),
        (1.68, 1.07, 36.3, (3393, 1614), 210),
        (4.23, 2.23, 47.3, (19663, 3570), 551),
    ],
)
def test_percentages_of_tables_2_and_5(ping_pong, streaming, reduction, sizes, increase):
    """InfiniPath, Red Squall, Escher: the report's percentages, to the last printed digit but one rounding."""
    assert 100 * (1 - streaming / ping_pong) == pytest.approx(reduction, abs=0.06)
    assert 100 * sizes[0] / sizes[1] == pytest.approx(increase, abs=1)
