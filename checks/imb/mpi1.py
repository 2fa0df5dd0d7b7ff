# SPDX-License-Identifier: BSD-3-Clause
"""The Intel MPI Benchmarks, IMB-MPI1."""

from reframe.core.builtins import parameter

from fabric_checks import parsers
from fabric_checks.core import families
from fabric_checks.core.levels import Levels
from fabric_checks.reframe_ext.mixins import layouts

from .. import screen
from ..devices import CUDA, HOST, DeviceMemory
from ..registration import check
from ..tables import MESSAGE_RATE, Barrier
from .base import BANDWIDTH, ONE_WAY, TIME, ImbProgram

LARGEST_B = 4 * 2**20
#: Repetitions at most, and MiB at most, of what is measured well.
THOROUGHLY = (5000, 200)
#: Collectives that are measured at all sizes and well; the others have fewer sizes and repetitions.
THOROUGH = ["Allreduce", "Reduce", "Alltoall", "Allgather", "Bcast"]
QUICK = [
    "Allgatherv",
    "Alltoallv",
    "Gather",
    "Gatherv",
    "Reduce_local",
    "Reduce_scatter",
    "Reduce_scatter_block",
    "Scatter",
    "Scatterv",
]


class ImbCheck(DeviceMemory, ImbProgram):
    """One benchmark of IMB-MPI1, or of IMB-MPI1-GPU with buffers in the memory of a device.

    The time is IMB's ``t[usec]``, or the average over the processes where it prints three. Subclasses declare
    whether all sizes are measured well (``thorough``).
    """

    family = families.PAIRS
    tags = {"imb", "pt2pt"}
    needs_of = {"device": {CUDA: ("imb_cuda",)}}
    curves = (TIME,)
    thorough = True

    @property
    def imb_program(self):
        """The program: one of its own has buffers on devices."""
        return "IMB-MPI1" if self.memory == HOST else "IMB-MPI1-GPU"

    def buffers(self):
        """Return the option for memory of a device, which is no option of IMB-MPI1."""
        return [] if self.memory == HOST else ["-mem_alloc_type", "device"]

    @property
    def range_B(self):
        """The smallest and the largest message without ``-S``."""
        return (1, LARGEST_B) if self.thorough else ImbProgram.range_B

    @property
    def repetitions(self):
        """Repetitions at most, and MiB at most.

        IMB's own 1000 repetitions of a microsecond are a sample of a millisecond, mostly warm-up; it takes
        five times as many here, and fewer where they would outlast its time limit.
        """
        return THOROUGHLY if self.thorough else ImbProgram.repetitions

    def sizes_of(self, column):
        """Return the sizes at which a column is a metric; the row of empty messages has a time alone."""
        # A collective of zero bytes does nothing; its row has to be there, but it measures nothing.
        has_time = column == TIME and self.benchmark not in parsers.imb.COLLECTIVES
        return self.rows_B if has_time else self.sizes_B


@check()
class ImbPointToPoint(ImbCheck):
    """Two processes: PingPong (half the round trip) and PingPing (both send at once)."""

    descr = "IMB-MPI1 between two processes"
    benchmark = parameter(["PingPong", "PingPing"], type=str)
    layout = layouts("pair")
    levels = Levels(
        nightly=True, procurement=True, ppn_ratio={"benchmark": ["PingPong"]}
    )
    headlines = (
        screen.pair("latency", "time", rank=1, benchmark="PingPong"),
        screen.pair("bandwidth", "bandwidth", rank=2, benchmark="PingPong"),
    )
    curves = (TIME, ONE_WAY)


@check()
class ImbBand(ImbCheck):
    """Bandwidth and message rate of many pairs at once with 64 messages in flight, one way and both ways."""

    descr = "IMB-MPI1 bandwidth and message rate"
    benchmark = parameter(["Uniband", "Biband"], type=str)
    layout = layouts("pairs")
    levels = Levels(ppn_ratio={"benchmark": ["Uniband"]})
    thorough = False
    repetitions = (20, 1)

    @property
    def curves(self):
        """Bandwidth, of both directions for Biband, and message rate."""
        return (ONE_WAY if self.benchmark == "Uniband" else BANDWIDTH, MESSAGE_RATE)


@check()
class ImbParallel(ImbCheck):
    """All processes in a ring: Sendrecv (one way round) and Exchange (both ways); bandwidth is that of a
    process."""

    descr = "IMB-MPI1 between neighbours"
    benchmark = parameter(["Sendrecv", "Exchange"], type=str)
    layout = layouts("several")
    levels = Levels(procurement=True, ppn_ratio={"benchmark": ["Sendrecv"]})
    headlines = (screen.pair("both ways", "bandwidth", rank=2, benchmark="Sendrecv"),)
    curves = (TIME, BANDWIDTH)


@check()
class ImbCollective(ImbCheck):
    """Collectives over all processes."""

    descr = "IMB-MPI1 collective"
    family = families.COLLECTIVES
    benchmark = parameter(THOROUGH + QUICK, type=str)
    layout = layouts("several")
    tags = {"imb", "collective"}
    levels = Levels(procurement={"benchmark": THOROUGH})
    headlines = screen.collectives(
        "time", rank=1, names=("Allreduce", "Alltoall", "Allgather", "Bcast")
    )

    @property
    def thorough(self):
        """Whether it is measured at all sizes and well."""
        return self.benchmark in THOROUGH


@check()
class ImbBarrier(Barrier, ImbCheck):
    """A barrier over all processes."""

    descr = "IMB-MPI1 barrier"
    family = families.COLLECTIVES
    benchmark = "Barrier"
    layout = layouts("several")
    tags = {"imb", "collective"}
    levels = Levels(nightly=True)
    headlines = (screen.barrier("time", rank=1),)
