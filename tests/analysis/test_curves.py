# SPDX-License-Identifier: BSD-3-Clause
"""Values of curves, against the source's own definitions and values and against NumPy."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric_checks.analysis import curves
from fabric_checks.core.errors import OutputError
from fabric_checks.core.metrics import half_octaves, powers_of_two

MiB = 1024**2
SIZES = powers_of_two(0, 4 * MiB)
FINE_SIZES = half_octaves(0, 4 * MiB)


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
    bandwidths = {1: 1.0, 2: 2.0, 4: 4.5, 8: 7.0, 16: 11.0, 32: 14.0, 64: 15.0, 128: 15.2}
    # Half of the peak is 7.6; two points on each side of it are 4, 8 and 16, 32.
    slope, offset = np.polyfit([4, 8, 16, 32], [4.5, 7.0, 11.0, 14.0], 1)
    assert curves.half_peak_size_B(bandwidths) == pytest.approx((7.6 - offset) / slope)


@given(latency_us=st.floats(0.2, 50), rate_MBps=st.floats(100, 50_000))
def test_half_peak_size_of_the_model_curve(latency_us, rate_MBps):
    """Of t = latency + size / rate, N1/2 is latency x rate; the source's interpolation is a little above
    it."""
    times = {size: latency_us + size / rate_MBps for size in half_octaves(1, 2**30)}
    exact = latency_us * rate_MBps
    assert curves.half_peak_size_B(curves.bandwidth_MBps(times)) == pytest.approx(1.05 * exact, rel=0.05)


@pytest.mark.parametrize(
    ("bandwidths", "least", "most"),
    [
        ({1: 1.0, 2: 9.0, 4: 10.0}, 1.5, 1.5),  # fewer than four points: between the two nearest
        (
            {1: 10.0, 2: 1.0, 4: 21.0, 8: 2.0, 16: 20.0},
            2,
            4,
        ),  # noise: the line of four points falls or leaves them
    ],
)
def test_half_peak_size_is_between_two_points_where_four_give_no_line(bandwidths, least, most):
    assert least <= curves.half_peak_size_B(bandwidths) <= most


def test_half_peak_size_outside_the_curve_is_refused():
    with pytest.raises(
        OutputError, match="the smallest message, 1 B, already has half of the peak bandwidth"
    ):
        curves.half_peak_size_B({1: 6.0, 2: 9.0, 4: 10.0})


def test_the_values_of_the_source():
    """The percentages that SAND2005-5199 prints follow from its other values (Tables 2 and 5) by these
    formulas."""
    ping_pong = dict.fromkeys(SIZES, 0.0) | {size: 1.35 + size / 949 for size in SIZES}
    streaming = {size: max(0.36, size / 954) for size in SIZES}
    values = curves.streaming_values(ping_pong, streaming)
    assert values["zero_byte_latency_ping_pong"] == 1.35
    assert values["zero_byte_latency_streaming"] == 0.36
    assert values["zero_byte_latency_reduction"] == pytest.approx(73.3, abs=0.05)  # as printed for InfiniPath
    assert values["message_rate_8B"] == pytest.approx(1 / 0.36)
    assert values["peak_bandwidth_streaming"] == pytest.approx(954)
    ratio = values["half_peak_size_ping_pong"] / values["half_peak_size_streaming"]
    assert values["half_peak_size_increase"] == pytest.approx(100 * ratio)


def model_curve(rng):
    """Return a curve of one protocol: a latency of 0.3 to 30 us and a rate of 0.1 to 30 GB/s."""
    latency_us, rate_MBps = 10 ** rng.uniform(-0.5, 1.5), 10 ** rng.uniform(2, 4.5)
    return {size: latency_us + size / rate_MBps for size in FINE_SIZES}


def with_step(times_us, above_B, share):
    """Return the curve with a latency added from ``above_B`` on, a share of the time there."""
    step_us = share * times_us[above_B]
    return {size: time + (step_us if size >= above_B else 0) for size, time in times_us.items()}


def with_noise(times_us, share, rng):
    return {size: time * rng.gauss(1, share) for size, time in times_us.items()}


def positions(switches):
    return [(switch.below_B, switch.above_B) for switch in switches]


@pytest.mark.parametrize("noise", [0, 0.005, 0.02])
def test_no_switch_within_one_protocol(noise):
    trials = [with_noise(model_curve(rng), noise, rng) for rng in map(random.Random, range(100))]
    assert sum(curves.protocol_switches(times) != [] for times in trials) <= 1


@pytest.mark.parametrize("share", [0.3, 0.5, 1.0])
def test_a_step_is_found_where_it_is(share):
    found = 0
    for rng in map(random.Random, range(100)):
        index = rng.randrange(3, len(FINE_SIZES) - 2)  # three sizes at least on each side
        step = with_step(model_curve(rng), FINE_SIZES[index], share)
        expected = [(FINE_SIZES[index - 1], FINE_SIZES[index])]
        found += positions(curves.protocol_switches(with_noise(step, 0.02, rng))) == expected
    assert found >= 99


def test_the_jump_is_the_time_over_the_expected_time():
    times = with_step({size: 2 + size / 1000 for size in FINE_SIZES}, 8192, 0.8)
    (switch,) = curves.protocol_switches(times)
    assert switch == curves.Switch(6144, 8192, pytest.approx(1.8))


def test_the_notch_of_the_source():
    """SAND2005-5199 saw the bandwidth of InfiniPath fall between 32 and 64 KB, where its library changes
    protocol."""
    times = {size: 1.35 + size / 949 for size in SIZES}
    notch = {size: time * (1.35 if size >= 65536 else 1) for size, time in times.items()}
    assert curves.bandwidth_MBps(notch)[65536] < curves.bandwidth_MBps(notch)[32768]
    (switch,) = curves.protocol_switches(notch)
    assert (switch.below_B, switch.above_B) == (32768, 65536)
    assert switch.jump == pytest.approx(1.35, rel=0.01)


def test_two_switches_and_one_to_a_faster_protocol():
    eager, copied, direct = (
        (lambda size: 1 + size / 5000),
        (lambda size: 4 + size / 2000),
        (lambda size: 9 + size / 9000),
    )
    times = {
        size: eager(size) if size < 1024 else copied(size) if size < 65536 else direct(size)
        for size in FINE_SIZES
    }
    slow, fast = curves.protocol_switches(with_noise(times, 0.02, random.Random(1)))
    assert positions([slow, fast]) == [(768, 1024), (49152, 65536)]
    assert slow.jump == pytest.approx(copied(1024) / eager(1024), rel=0.1)
    assert fast.jump == pytest.approx(direct(65536) / copied(65536), rel=0.1)


def test_a_single_disturbed_size_is_no_switch():
    false = 0
    for rng in map(random.Random, range(100)):
        times = with_noise(model_curve(rng), 0.02, rng)
        times[rng.choice(FINE_SIZES[2:-2])] *= rng.choice([0.6, 1.4, 2, 5])
        false += curves.protocol_switches(times) != []
    assert false <= 1


def test_what_the_confidence_intervals_explain_is_no_switch():
    times = with_step({size: 2 + size / 1000 for size in FINE_SIZES}, 8192, 0.3)
    narrow = {size: (0.99 * time, 1.01 * time) for size, time in times.items()}
    wide = {size: (0.5 * time, 1.5 * time) for size, time in times.items()}
    assert positions(curves.protocol_switches(times, narrow)) == [(6144, 8192)]
    assert curves.protocol_switches(times, wide) == []


def test_a_bend_is_no_switch():
    """A rate that falls to a quarter without a jump, as beyond a cache, where the bandwidth goes on
    rising."""
    bend = {size: 20 + size / 10_000 + 3 * max(size - 65536, 0) / 10_000 for size in FINE_SIZES}
    trials = [with_noise(bend, 0.02, rng) for rng in map(random.Random, range(100))]
    assert sum(curves.protocol_switches(times) != [] for times in trials) <= 1


def test_a_curve_too_short_for_two_pieces_has_no_switch():
    assert curves.protocol_switches(dict.fromkeys([1, 2, 4, 8, 16], 1.0)) == []
    assert curves.protocol_switches({}) == []
