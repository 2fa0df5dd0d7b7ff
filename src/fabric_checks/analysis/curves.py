# SPDX-License-Identifier: BSD-3-Clause
"""Values of a curve over message sizes: bandwidth, peak, N1/2, message rate, and where the protocol
changes."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from fabric_checks.core.errors import OutputError


def bandwidth_MBps(times_us: Mapping[int, float], *, messages: int = 1) -> dict[int, float]:
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
    above = next(index for index, size in enumerate(sizes) if bandwidths_MBps[size] >= half)
    if above == 0:
        raise OutputError(
            f"N1/2 is not within the curve: the smallest message, {sizes[0]} B, already has half of the peak"
            " bandwidth"
        )
    four = sizes[max(above - 2, 0) : above + 2]
    if len(four) == 4:
        line = statistics.linear_regression(four, [bandwidths_MBps[size] for size in four])
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
    streaming_us: Mapping[int, float], exchange_us: Mapping[int, float], both_us: Mapping[int, float]
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


@dataclass(frozen=True)
class Switch:
    """A break of a curve between two neighbouring message sizes, as a change of protocol leaves it.

    :param below_B: the largest message size before it; :param above_B: the smallest after it.
    :param jump: the time at ``above_B`` over what the curve up to ``below_B`` lets expect there.
    """

    below_B: int
    above_B: int
    jump: float


#: A jump by less than this share of the expected time is not called a switch.
_LEAST_JUMP = 0.15
#: The gain that one more piece, or leaving out one point, must have, in squared standard errors: far above
#: that of the best of 40 positions by noise. It finds no switch in 500 curves without one at 2 % noise, and
#: one in 1 of 100 at 5 to 10 %.
_PRICE = 25.0
#: Points of a piece: a line goes through any two.
_SHORTEST = 3
#: Relative standard error that is assumed at least: medians repeat no better from run to run.
_LEAST_ERROR = 0.01


def protocol_switches(
    times_us: Mapping[int, float], intervals_us: Mapping[int, tuple[float, float]] | None = None
) -> list[Switch]:
    """Find where a curve of time over message size breaks, as between eager sending and rendezvous.

    Within one protocol time follows ``latency + size / rate``, so the curve is cut into such straight pieces:
    the division with the least weighted squares plus a price for every piece, found by dynamic programming
    (Jackson et al., An algorithm for optimal partitioning of data on an interval, 2005). A piece may leave
    out one outlier at the same price. A break is a switch if the lines of the two pieces are 15 % or more
    apart at ``above_B``, up or down, and do not meet in the gap either: at ``below_B`` they are half as far
    apart at least. Beyond its end a line counts as neither falling nor growing faster than the size does.

    A bend is thus none unless the bandwidth falls there: pipelines and caches bend curves too, and the
    position of a bend is not sharp. Caches and disturbances can also make a jump, so a switch is a hint where
    to look, and no cause. A break closer than three sizes to an end is not seen.

    :param times_us: time in microseconds by message size in bytes, half an octave or an octave apart. Its
        scatter about the lines through neighbours gives the weights.
    :param intervals_us: the 95 % confidence intervals of those times; where they are wider than the scatter
        they count.
    """
    sizes = sorted(times_us)
    if len(sizes) < 2 * _SHORTEST:
        return []
    relative = max(_scatter(sizes, times_us), _LEAST_ERROR)
    points = []
    for size in sizes:
        low, high = (intervals_us or {}).get(size, (0.0, 0.0))
        points.append(
            (float(size), times_us[size], max(relative * times_us[size], (high - low) / (2 * 1.96)))
        )
    found = []
    for left, right in pairwise(_straight_pieces(points)):
        below, above = sizes[right.first - 1], sizes[right.first]
        jump = right.at(above) / _beyond(left, below, above)
        before = _beyond(right, above, below) / left.at(below)
        up, down = min(jump, 2 * before - 1), min(1 / jump, 2 / before - 1)
        if max(up, down) >= 1 + _LEAST_JUMP:
            found.append(Switch(below, above, jump))
    return found


def _beyond(piece: _Piece, end_B: int, size_B: int) -> float:
    """Return the time at a size beyond the end of a piece, within what a latency and a rate allow.

    Noise may tilt the line of a short piece; ``latency + size / rate`` neither falls nor grows faster than
    the size.
    """
    end = piece.at(end_B)
    proportional = end * size_B / end_B if end_B > 0 else math.inf
    low, high = sorted((end, proportional))
    return min(max(piece.at(size_B), low), high)


def _scatter(sizes: Sequence[int], times_us: Mapping[int, float]) -> float:
    """Return the relative standard error of a time, from the distances to the line through both neighbours.

    It is their median times 1.4826, as for a normal distribution: the few points at a break do not count.
    """
    scaled = []
    for before, here, after in zip(sizes, sizes[1:], sizes[2:], strict=False):
        share = (here - before) / (after - before)
        parts = ((1 - share) * times_us[before], times_us[here], share * times_us[after])
        scaled.append(abs(parts[1] - parts[0] - parts[2]) / math.hypot(*parts))
    return 1.4826 * statistics.median(scaled)


#: Message size, time and the standard error of the time.
_Point = tuple[float, float, float]


@dataclass(frozen=True)
class _Piece:
    """A straight piece of a curve: its first and last point, the cost of its line, and the line about (x,
    y)."""

    first: int
    last: int
    cost: float
    x: float
    y: float
    slope: float

    def at(self, size_B: float) -> float:
        """Return the time on the line; not below a tenth of the mean, where noise may tilt it to."""
        return max(self.y + self.slope * (size_B - self.x), 0.1 * self.y)


def _straight_pieces(points: Sequence[_Point]) -> list[_Piece]:
    """Return the division of a curve into straight pieces that costs least, ``_PRICE`` for every piece
    included."""
    count = len(points)
    cost = [0.0] + [math.inf] * count  # of the best division of the first n points
    final: list[_Piece | None] = [None] * (count + 1)  # and its last piece
    for first in range(count):
        for line in _lines_from(first, points):
            if cost[first] + min(line.cost, _PRICE) + _PRICE >= cost[line.last + 1]:
                continue  # nor would it be better without an outlier
            piece = _without_outlier(line, points)
            total = cost[first] + piece.cost + _PRICE
            if total < cost[piece.last + 1]:
                cost[piece.last + 1], final[piece.last + 1] = total, piece
    pieces = []
    last = final[count]
    while last is not None:
        pieces.append(last)
        last = final[last.first]
    return pieces[::-1]


def _lines_from(first: int, points: Sequence[_Point]) -> Iterator[_Piece]:
    """Yield the weighted least-squares line through the points from ``first`` on, for every last point."""
    weight = x = y = xx = xy = yy = 0.0  # means, and sums of squares about them (Welford's update)
    for last in range(first, len(points)):
        size, time, error = points[last]
        here = 1 / error**2
        weight += here
        step_x, step_y = size - x, time - y
        x += step_x * here / weight
        y += step_y * here / weight
        xx += here * step_x * (size - x)
        xy += here * step_x * (time - y)
        yy += here * step_y * (time - y)
        if last - first + 1 >= _SHORTEST:
            yield _Piece(first, last, max(yy - xy * xy / xx, 0.0), x, y, xy / xx)


def _without_outlier(piece: _Piece, points: Sequence[_Point]) -> _Piece:
    """Return the piece with its line through all points but one, if that is worth ``_PRICE``; else as it is.

    Without a point the squares fall by r^2 / (1 - leverage), so the point to leave out is found without a fit
    for each. It is neither the first nor the last: left out there, a point would move the break.
    """
    inside = points[piece.first : piece.last + 1]
    if piece.cost <= _PRICE or len(inside) < _SHORTEST + 2:
        return piece
    weight = sum(error**-2 for _, _, error in inside)
    xx = sum(((size - piece.x) / error) ** 2 for size, _, error in inside)

    def gain(index: int) -> float:
        size, time, error = inside[index]
        leverage = (1 / weight + (size - piece.x) ** 2 / xx) / error**2
        return ((time - piece.at(size)) / error) ** 2 / max(1 - leverage, 1e-9)

    worst = max(range(1, len(inside) - 1), key=gain)
    *_, line = _lines_from(0, [*inside[:worst], *inside[worst + 1 :]])
    if line.cost + _PRICE >= piece.cost:
        return piece
    return replace(line, first=piece.first, last=piece.last, cost=line.cost + _PRICE)
