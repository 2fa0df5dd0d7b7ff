# SPDX-License-Identifier: BSD-3-Clause
"""Values of a curve over message sizes: bandwidth, peak, N1/2, message rate."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping

from fabric_checks.core.errors import OutputError


def bandwidth_MBps(
    times_us: Mapping[int, float], *, messages: int = 1
) -> dict[int, float]:
    """Turn times into bandwidth: bytes a microsecond is 10^6 bytes a second.

    :param times_us: time in microseconds by message size in bytes; size 0 is left out of the result.
    :param messages: messages that are moved in that time: 2 where one goes each way and both are counted.
    """
    return {size: messages * size / time for size, time in times_us.items() if size > 0}


def peak_bandwidth_MBps(times_us: Mapping[int, float], *, messages: int = 1) -> float:
    """Return the highest bandwidth of a curve; see :func:`bandwidth_MBps`."""
    return max(bandwidth_MBps(times_us, messages=messages).values())


def half_peak_size_B(bandwidths_MBps: Mapping[int, float]) -> float:
    """Return N1/2, the message size in bytes at which half of the peak bandwidth is reached.

    As in the SAND report (SAND2005-5199, footnote 2): linear interpolation of four points, two on each side
    of half the peak, here the straight line of least squares through them. Where there are not two on each
    side, or where noise bends that line so far that it leaves the four points, the two nearest points are
    interpolated. Of the model ``time = latency + size / rate``, on sizes half an octave apart, the result is
    6 to 9 % above the exact ``latency x rate``; on powers of two alone it would be 24 to 33 %.

    :param bandwidths_MBps: bandwidth by message size in bytes, at least two sizes.
    :raises OutputError: if even the smallest message reaches half of the peak, so that there is nothing to
        interpolate.
    """
    sizes = sorted(bandwidths_MBps)
    half = max(bandwidths_MBps.values()) / 2
    above = next(
        index for index, size in enumerate(sizes) if bandwidths_MBps[size] >= half
    )
    if above == 0:
        raise OutputError(
            f"N1/2 is not within the curve: the smallest message, {sizes[0]} B, already has half of the peak"
            " bandwidth"
        )
    four = sizes[max(above - 2, 0) : above + 2]
    if len(four) == 4:
        line = statistics.linear_regression(
            four, [bandwidths_MBps[size] for size in four]
        )
        size = (half - line.intercept) / line.slope if line.slope > 0 else math.inf
        if four[0] <= size <= four[-1]:
            return size
    low, high = sizes[above - 1], sizes[above]
    slope = (bandwidths_MBps[high] - bandwidths_MBps[low]) / (high - low)
    return low + (half - bandwidths_MBps[low]) / slope


def streaming_values(
    ping_pong_us: Mapping[int, float], streaming_us: Mapping[int, float]
) -> dict[str, float]:
    """Return the values of Tables 2 to 5 of the SAND report (SAND2005-5199).

    :param ping_pong_us: half the round trip, in microseconds, by message size in bytes; needs sizes 0 and 8.
    :param streaming_us: time per streamed message, in microseconds, for the same sizes.
    :returns: zero-byte latencies (us) and the reduction from ping-pong to streaming (%), message rate at 8 B
        (10^6 messages/s), peak bandwidths (MB/s), N1/2 (B) and, as the report prints its increase,
        ping-pong's N1/2 over streaming's (%).
    """
    half_ping_pong, half_streaming = (
        half_peak_size_B(bandwidth_MBps(each)) for each in (ping_pong_us, streaming_us)
    )
    return {
        "zero_byte_latency_ping_pong": ping_pong_us[0],
        "zero_byte_latency_streaming": streaming_us[0],
        "zero_byte_latency_reduction": 100 * (1 - streaming_us[0] / ping_pong_us[0]),
        "message_rate_8B": 1 / streaming_us[8],
        "peak_bandwidth_ping_pong": peak_bandwidth_MBps(ping_pong_us),
        "peak_bandwidth_streaming": peak_bandwidth_MBps(streaming_us),
        "half_peak_size_ping_pong": half_ping_pong,
        "half_peak_size_streaming": half_streaming,
        "half_peak_size_increase": 100 * half_ping_pong / half_streaming,
    }


def bidirectional_values(
    streaming_us: Mapping[int, float],
    exchange_us: Mapping[int, float],
    both_us: Mapping[int, float],
) -> dict[str, float]:
    """Return the values of both directions at once (Liu et al. 2003 have the latency and the bandwidth).

    :param streaming_us: time per message of streaming one way, in microseconds, by message size in bytes.
    :param exchange_us: time in which two waiting ranks exchange a message each, not halved; needs size 0.
    :param both_us: time per pair of messages, one each way, when both ranks stream.
    :returns: the zero-byte latency of an exchange (us), its peak bandwidth, as PMB's SendRecv counts it
        (SAND2005-5199, Tables 6 and 9), and that of streaming, bytes of both directions counted (MB/s); the
        latter over the peak one way: 2 where the directions do not hinder each other.
    """
    peak = peak_bandwidth_MBps(both_us, messages=2)
    return {
        "bidirectional_latency": exchange_us[0],
        "peak_bandwidth_exchange": peak_bandwidth_MBps(exchange_us, messages=2),
        "peak_bandwidth_bidirectional": peak,
        "bidirectional_gain": peak / peak_bandwidth_MBps(streaming_us),
    }
