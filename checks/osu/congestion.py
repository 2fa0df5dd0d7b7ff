# SPDX-License-Identifier: BSD-3-Clause
"""OSU congestion benchmarks: many nodes against one."""

from reframe.core.builtins import parameter

from fabric_checks.core import families
from fabric_checks.reframe_ext.mixins import layouts

from ..registration import check
from .base import BANDWIDTH, OsuCheck, Window


@check()
class OsuCongestion(Window, OsuCheck):
    """Bandwidth into one node from all others at once (fan-in), and out of it to all others (fan-out).

    It is the sum over all processes; the program refuses to run within one node. Its column is titled as a
    latency.
    """

    descr = "OSU congestion"
    benchmark = parameter(["bw_fan_in", "bw_fan_out"], type=str)
    family = families.STRESS
    folder = "congestion"
    needs = ("osu_c", "osu_7_4")
    layout = layouts("several", where=lambda layout: layout.nodes > 1)
    tags = {"osu", "congestion"}
    has_zero = False
    validates = False
    curves = (BANDWIDTH,)
    device_buffers = "D D"
