# SPDX-License-Identifier: BSD-3-Clause
"""Figures of a curve over message sizes: bandwidth, peak, and the message size at half of the peak."""

from __future__ import annotations

from collections.abc import Mapping

from fabric_checks.errors import OutputError


def bandwidth_MBps(times_us: Mapping[int, float]) -> dict[int, float]:
    """Turn times a message into bandwidth: bytes a microsecond is 10^6 bytes a second.

    :param times_us: time in microseconds by message size in bytes; size 0 is left out of the result.
    """
    return {size: size / time for size, time in times_us.items() if size > 0}


def half_peak_size_B(bandwidths_MBps: Mapping[int, float]) -> float:
    """Return N1/2, the message size in bytes at which half of the peak bandwidth is reached.

    As in the SAND report (SAND2005-5199, footnote 2): linear interpolation of four points, two on each side of
    half the peak, here the straight line of least squares through them. Where there are not two on each side, or
    where noise bends that line so far that it leaves the four points, the two nearest points are interpolated.
    Of the model ``time = latency + size / rate``, on sizes half an octave apart, the result is 6 to 9 % above the
    exact ``latency x rate``; on powers of two alone it would be 24 to 33 %.

    :param bandwidths_MBps: bandwidth by message size in bytes, at least two sizes.
    :raises OutputError: if even the smallest message reaches half of the peak, so that there is nothing to interpolate.
    """
    sizes = sorted(bandwidths_MBps)
    half = max(bandwidths_MBps.values()) / 2
    above = next(index for index, size in enumerate(sizes) if bandwidths_MBps[size] >= half)
    if above == 0:
        raise OutputError(
            f"N1/2 is not within the curve: the smallest message, {sizes[0]} B, already has half of the peak bandwidth"
        )
    four = sizes[max(above - 2, 0) : above + 2]
    if len(four) == 4:
        size = _line_crossing({size: bandwidths_MBps[size] for size in four}, half)
        if size is not None and four[0] <= size <= four[-1]:
            return size
    low, high = sizes[above - 1], sizes[above]
    slope = (bandwidths_MBps[high] - bandwidths_MBps[low]) / (high - low)
    return low + (half - bandwidths_MBps[low]) / slope


def _line_crossing(points: Mapping[int, float], level: float) -> float | None:
    """Return where the least-squares line through the points reaches ``level``; None if it does not rise."""
    mean_x = sum(points) / len(points)
    mean_y = sum(points.values()) / len(points)
    variance = sum((x - mean_x) ** 2 for x in points)
    slope = sum((x - mean_x) * (y - mean_y) for x, y in points.items()) / variance
    return mean_x + (level - mean_y) / slope if slope > 0 else None


def streaming_figures(ping_pong_us: Mapping[int, float], streaming_us: Mapping[int, float]) -> dict[str, float]:
    """Return what Tables 2 to 5 of the SAND report (SAND2005-5199) hold.

    :param ping_pong_us: half the round trip, in microseconds, by message size in bytes; needs sizes 0 and 8.
    :param streaming_us: time per streamed message, in microseconds, for the same sizes.
    :returns: zero-byte latencies (us) and the reduction from ping-pong to streaming (%), message rate at 8 B
        (10^6 messages/s), peak bandwidths (MB/s), N1/2 (B) and, as the report prints its increase, ping-pong's N1/2
        over streaming's (%).
    """
    ping_pong, streaming = bandwidth_MBps(ping_pong_us), bandwidth_MBps(streaming_us)
    half_ping_pong, half_streaming = half_peak_size_B(ping_pong), half_peak_size_B(streaming)
    return {
        "zero_byte_latency_ping_pong": ping_pong_us[0],
        "zero_byte_latency_streaming": streaming_us[0],
        "zero_byte_latency_reduction": 100 * (1 - streaming_us[0] / ping_pong_us[0]),
        "message_rate_8B": 1 / streaming_us[8],
        "peak_bandwidth_ping_pong": max(ping_pong.values()),
        "peak_bandwidth_streaming": max(streaming.values()),
        "half_peak_size_ping_pong": half_ping_pong,
        "half_peak_size_streaming": half_streaming,
        "half_peak_size_increase": 100 * half_ping_pong / half_streaming,
    }
