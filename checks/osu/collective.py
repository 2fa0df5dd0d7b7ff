# SPDX-License-Identifier: BSD-3-Clause
"""OSU blocking collectives."""

import reframe as rfm
from reframe.core.builtins import parameter

from fabric_checks.metrics import Metric
from fabric_checks.mixins import layouts

from .base import MiB, OsuCheck


@rfm.simple_test
class OsuCollective(OsuCheck):
    """Time of a blocking collective, averaged over the processes."""

    descr = "OSU blocking collective"
    benchmark = parameter(["allgather", "alltoall", "bcast", "gather", "scatter"], type=str, loggable=True)
    layout = parameter(layouts("several"), type=str, loggable=True)
    tags = {"osu", "collective"}
    largest_B = MiB
    quantity, unit, better, column = "latency", "us", "smaller", "latency_us"


@rfm.simple_test
class OsuBarrier(OsuCheck):
    """Time of a barrier, averaged over the processes."""

    descr = "OSU barrier"
    benchmark = "barrier"
    layout = parameter(layouts("several"), type=str, loggable=True)
    tags = {"osu", "collective", "smoke"}
    sizes_B = [0]
    column = "latency_us"

    def metrics(self):
        return [Metric("latency", "us", "smaller")]
