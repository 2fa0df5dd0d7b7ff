# SPDX-License-Identifier: BSD-3-Clause
"""OSU's benchmarks of NCCL and RCCL, one process a GPU."""

from reframe.core.builtins import parameter

from fabric_checks.reframe_ext.mixins import layouts

from ..devices import CUDA, ROCM, ProcessPerGpu, gpu_layouts, kinds_here
from ..registration import check
from .base import BANDWIDTH, ONE_WAY, OsuCheck
from .collective import OsuCollectives


class OsuXccl(ProcessPerGpu, OsuCheck):
    """NCCL, or RCCL between AMD's GPUs, measured as OSU measures MPI, to compare the two on the same buffers.

    The programs' folder is next to that of MPI's. They do not verify the data that arrive; nccl-tests do.
    """

    family = "Collectives between GPUs"
    device = parameter(kinds_here(), type=str)
    needs = ("osu_c", "osu_xccl")
    validates = False
    has_zero = False


@check(compare=False)
class OsuXcclCollective(OsuXccl):
    """Time of a collective of NCCL, averaged over the processes."""

    descr = "OSU collective of NCCL or RCCL"
    benchmark = parameter(
        [
            f"xccl_{name}"
            for name in (
                "allgather",
                "allreduce",
                "alltoall",
                "bcast",
                "reduce",
                "reduce_scatter",
            )
        ],
        type=str,
    )
    folder = "../xccl/collective"
    layout = gpu_layouts({CUDA: "osu_xccl", ROCM: "osu_xccl"})
    tags = {"osu", "nccl", "collective"}
    most_B = OsuCollectives.most_B
    within_memory_B = OsuCollectives.within_memory_B

    @property
    def least_B(self):
        """Reductions are of floats, so their sizes begin with one of those."""
        return 4 if "reduce" in self.benchmark else 1


class OsuXcclPair(OsuXccl):
    """Messages between two processes, of two GPUs."""

    folder = "../xccl/pt2pt"
    settings = {"device_buffers": ""}
    device_buffers = "D D"
    layout = layouts("pair", needs=OsuXccl.needs)
    tags = {"osu", "nccl", "pt2pt"}


@check(compare=False)
class OsuXcclLatency(OsuXcclPair):
    """Ping-pong latency of NCCL between two processes: half the round trip."""

    descr = "OSU latency of NCCL or RCCL"
    benchmark = "xccl_latency"


@check(compare=False)
class OsuXcclBandwidth(OsuXcclPair):
    """Bandwidth of NCCL between two processes with a window of messages in flight, one way and both ways."""

    descr = "OSU bandwidth of NCCL or RCCL"
    benchmark = parameter(["xccl_bw", "xccl_bibw"], type=str)

    @property
    def curves(self):
        """The bandwidth."""
        return (ONE_WAY if self.benchmark == "xccl_bw" else BANDWIDTH,)
