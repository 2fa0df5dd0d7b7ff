# SPDX-License-Identifier: BSD-3-Clause
"""Streaming against ping-pong."""

from pathlib import Path

import reframe as rfm
from reframe.core.builtins import parameter, run_after

from fabric_checks import curves
from fabric_checks.metrics import Metric, curve, half_octaves
from fabric_checks.mixins import layouts
from fabric_checks.parsers import streaming

from ..base import FabricCheck

MiB = 1024**2


@rfm.simple_test
class Streaming(FabricCheck):
    """How much faster messages go when many are in flight than when each waits for an answer.

    Source: SAND2005-5199 (An Analysis of the PathScale Inc. InfiniBand HCA, InfiniPath), section 4.1, Tables 2 to 5.
    """

    descr = "Streaming against ping-pong"
    layout = parameter(layouts("pair"), type=str, loggable=True)
    valid_prog_environs = ["+mpi +mpicc"]
    tags = {"fabric", "pt2pt", "smoke"}
    sizes_B = half_octaves(0, 4 * MiB)

    @run_after("setup")
    def set_command(self):
        """Run our own program, built for this environment."""
        self.facts |= {"program": "fabric-checks streaming", "program_version": "1", "source": "built"}
        self.executable = str(Path(self.fabric_programs.stagedir) / "streaming")
        self.executable_opts = ["--min-size", str(self.sizes_B[0]), "--max-size", str(self.sizes_B[-1])]

    def metrics(self):
        return [
            Metric("zero_byte_latency_ping_pong", "us", "smaller"),
            Metric("zero_byte_latency_streaming", "us", "smaller"),
            Metric("zero_byte_latency_reduction", "%", "larger"),
            Metric("message_rate_8B", "Mmsg/s", "larger"),
            Metric("peak_bandwidth_ping_pong", "MB/s", "larger"),
            Metric("peak_bandwidth_streaming", "MB/s", "larger"),
            Metric("half_peak_size_ping_pong", "B", "smaller"),
            Metric("half_peak_size_streaming", "B", "smaller"),
            Metric("half_peak_size_increase", "%", "larger"),
            *curve("ping_pong_time", "us", "smaller", self.sizes_B),
            *curve("streaming_time", "us", "smaller", self.sizes_B),
        ]

    def measure(self, text):
        output = streaming.parse(text, self.sizes_B)
        times = {mode: output.times_us(mode) for mode in ("ping_pong", "streaming")}
        points = {f"{mode}_time_{size}B": time for mode in times for size, time in times[mode].items()}
        return points | curves.streaming_figures(times["ping_pong"], times["streaming"])
