# SPDX-License-Identifier: BSD-3-Clause
"""OSU point-to-point benchmarks."""

import reframe as rfm
from reframe.core.builtins import parameter

from fabric_checks.mixins import layouts

from .base import MiB, OsuCheck


@rfm.simple_test
class OsuLatency(OsuCheck):
    """Ping-pong latency between two processes: half the round trip."""

    descr = "OSU latency"
    benchmark = "latency"
    layout = parameter(layouts("pair"), type=str, loggable=True)
    tags = {"osu", "pt2pt", "smoke"}
    largest_B = 4 * MiB
    quantity, unit, better, column = "latency", "us", "smaller", "latency_us"


@rfm.simple_test
class OsuMultiLatency(OsuCheck):
    """Ping-pong latency of many pairs at once, averaged over the pairs."""

    descr = "OSU latency of many pairs at once"
    benchmark = "multi_lat"
    layout = parameter(layouts("pairs"), type=str, loggable=True)
    tags = {"osu", "pt2pt"}
    largest_B = 4 * MiB
    quantity, unit, better, column = "latency", "us", "smaller", "latency_us"


@rfm.simple_test
class OsuBandwidth(OsuCheck):
    """Bandwidth between two processes with a window of messages in flight, one way (bw) and both ways (bibw)."""

    descr = "OSU bandwidth"
    benchmark = parameter(["bw", "bibw"], type=str, loggable=True)
    layout = parameter(layouts("pair"), type=str, loggable=True)
    tags = {"osu", "pt2pt", "smoke"}
    largest_B, has_zero = 4 * MiB, False
    quantity, unit, better, column = "bandwidth", "MB/s", "larger", "bandwidth_MBps"
