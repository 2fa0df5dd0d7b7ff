# SPDX-License-Identifier: BSD-3-Clause
"""The Intel MPI Benchmarks, IMB-MPI1."""

import reframe as rfm
from reframe.core.builtins import parameter, run_after

from fabric_checks.metrics import Metric, curve, powers_of_two
from fabric_checks.mixins import ProgramMixin, layouts
from fabric_checks.parsers import imb

from ..base import FabricCheck

LARGEST_LOG2 = 22  # 4 MiB


class ImbCheck(ProgramMixin, FabricCheck):
    """One benchmark of IMB-MPI1, all message sizes in one launch.

    Source: Intel MPI Benchmarks user guide. The time is IMB's ``t[usec]``, or the average over the processes where
    it prints three. Subclasses declare ``benchmark``, ``sizes_B`` and whether it has a ``bandwidth``.
    """

    suite = "imb"
    bandwidth = False

    @run_after("setup")
    def set_command(self):
        """Ask for the sizes, and for all processes only: IMB would go through 2, 4, 8, ... of them.

        IMB's own 1000 repetitions of a microsecond are a sample of a millisecond, mostly warm-up; it takes five times
        as many here, and fewer where they would outlast its time limit.
        """
        self.executable = self.program["command"].format(benchmark="IMB-MPI1")
        self.executable_opts = [
            self.benchmark,
            "-npmin",
            str(self.num_tasks),
            "-msglog",
            f"0:{LARGEST_LOG2}",
            "-iter",
            "5000,200",
        ]

    def metrics(self):
        # A collective of zero bytes does nothing; its row has to be there, but it measures nothing.
        first = 1 if self.benchmark in imb.COLLECTIVES else 0
        declared = curve("time", "us", "smaller", [size for size in self.sizes_B if size >= first])
        if self.bandwidth:
            declared += curve("bandwidth", "MB/s", "larger", [size for size in self.sizes_B if size > 0])
        return declared

    def read_rows(self, text):
        """Return the rows of the one block there has to be."""
        output = imb.parse(text, self.benchmark, self.sizes_B, self.num_tasks)
        self.note_version("imb", output.version)
        return output.rows

    def measure(self, text):
        rows = self.read_rows(text)
        column = {"time": "time_us", "bandwidth": "bandwidth_MBps"}
        at = {row.size_B: row.values for row in rows}
        return {metric.name: at[metric.size_B][column[metric.quantity]] for metric in self.metrics()}


@rfm.simple_test
class ImbPointToPoint(ImbCheck):
    """Two processes: PingPong (half the round trip) and PingPing (both send at once)."""

    descr = "IMB-MPI1 between two processes"
    benchmark = parameter(["PingPong", "PingPing"], type=str, loggable=True)
    layout = parameter(layouts("pair"), type=str, loggable=True)
    tags = {"imb", "pt2pt", "smoke"}
    sizes_B = powers_of_two(0, 2**LARGEST_LOG2)
    bandwidth = True


@rfm.simple_test
class ImbParallel(ImbCheck):
    """All processes in a ring: Sendrecv (one way round) and Exchange (both ways); bandwidth is that of a process."""

    descr = "IMB-MPI1 between neighbours"
    benchmark = parameter(["Sendrecv", "Exchange"], type=str, loggable=True)
    layout = parameter(layouts("several"), type=str, loggable=True)
    tags = {"imb", "pt2pt"}
    sizes_B = powers_of_two(0, 2**LARGEST_LOG2)
    bandwidth = True


@rfm.simple_test
class ImbCollective(ImbCheck):
    """Collectives over all processes."""

    descr = "IMB-MPI1 collective"
    benchmark = parameter(["Allreduce", "Reduce", "Alltoall", "Allgather", "Bcast"], type=str, loggable=True)
    layout = parameter(layouts("several"), type=str, loggable=True)
    tags = {"imb", "collective"}

    @property
    def sizes_B(self):
        """Reductions are of 4-byte floats, so their sizes begin with one of those."""
        first_B = 4 if self.benchmark in ("Allreduce", "Reduce") else 1
        return [0, *powers_of_two(first_B, 2**LARGEST_LOG2)]


@rfm.simple_test
class ImbBarrier(ImbCheck):
    """A barrier over all processes."""

    descr = "IMB-MPI1 barrier"
    benchmark = "Barrier"
    layout = parameter(layouts("several"), type=str, loggable=True)
    tags = {"imb", "collective", "smoke"}
    sizes_B = [0]

    def metrics(self):
        return [Metric("time", "us", "smaller")]

    def measure(self, text):
        (row,) = self.read_rows(text)
        return {"time": row.values["time_us"]}
