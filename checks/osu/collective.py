# SPDX-License-Identifier: BSD-3-Clause
"""OSU blocking and non-blocking collectives."""

from reframe.core.builtins import parameter

from fabric_checks.core import families
from fabric_checks.core.levels import Levels
from fabric_checks.reframe_ext.mixins import NO_SIZES, layouts

from .. import screen
from ..registration import check
from ..tables import Curve
from .base import LATENCY, MiB, OsuCheck

PORTED = ["allgather", "alltoall", "bcast", "gather", "scatter"]
C_ONLY = [
    "allgatherv",
    "allreduce",
    "alltoallv",
    "gatherv",
    "reduce",
    "reduce_scatter",
    "scatterv",
]
#: These came with later releases.
C_ONLY_7_3 = [
    "alltoallw",
    *(f"{name}_persistent" for name in (*PORTED, *C_ONLY, "alltoallw")),
]
C_ONLY_7_4 = ["reduce_scatter_block"]
NON_BLOCKING = [
    "iallgather",
    "iallgatherv",
    "iallreduce",
    "ialltoall",
    "ialltoallv",
    "ialltoallw",
    "ibcast",
    "igather",
    "igatherv",
    "ireduce",
    "iscatter",
    "iscatterv",
]
NON_BLOCKING_7_3 = ["ireduce_scatter"]
NON_BLOCKING_7_4 = ["ireduce_scatter_block"]
NEIGHBOURHOOD = ["allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw"]
OVERLAP = (
    Curve(
        "overall_time",
        "us",
        "smaller",
        "overall_us",
        about="Time of the collective with work meanwhile",
    ),
    Curve(
        "communication_time",
        "us",
        "smaller",
        "pure_comm_us",
        about="Time of the collective alone",
    ),
    Curve(
        "overlap",
        "%",
        "larger",
        "overlap_percent",
        about="Overlap of the collective with work, as its suite defines it",
    ),
)
#: OSU leaves out, without a word, sizes whose buffers for all processes together are larger than this.
MEMORY_LIMIT_B = 512 * MiB


class OsuCollectives(OsuCheck):
    """Collectives over all processes."""

    family = families.COLLECTIVES
    folder = "collective"

    @property
    def most_B(self):
        """1 MiB, or less where the buffers for all processes would outgrow OSU's limit."""
        return min(MiB, self.within_memory_B)

    @property
    def within_memory_B(self):
        """The largest message within OSU's limit, a power of two."""
        return 1 << (MEMORY_LIMIT_B // self.num_tasks).bit_length() - 1

    def unfit(self):
        """Yield a size that OSU would leave out, too."""
        yield from super().unfit()
        if self.asked_B[1] > self.within_memory_B:
            yield (
                "largest_B",
                f"OSU leaves out what is above {self.within_memory_B} on {self.num_tasks} processes",
            )


@check()
class OsuCollective(OsuCollectives):
    """Time of a blocking collective, averaged over the processes; with persistent requests too."""

    descr = "OSU blocking collective"
    benchmark = parameter([*PORTED, *C_ONLY, *C_ONLY_7_3, *C_ONLY_7_4], type=str)
    needs_of = {
        **OsuCheck.needs_of,
        "benchmark": {
            **dict.fromkeys(C_ONLY, ("osu_c",)),
            **dict.fromkeys(C_ONLY_7_3, ("osu_c", "osu_7_3")),
            **dict.fromkeys(C_ONLY_7_4, ("osu_c", "osu_7_4")),
        },
    }
    layout = layouts("several")
    tags = {"osu", "collective"}
    headlines = screen.collectives("latency")
    curves = (LATENCY,)


@check()
class OsuBarrier(OsuCollectives):
    """Time of a barrier, averaged over the processes."""

    descr = "OSU barrier"
    benchmark = "barrier"
    devices = ()  # there is no buffer
    validates = False
    layout = layouts("several")
    tags = {"osu", "collective"}
    levels = Levels(nightly=True)
    headlines = (screen.barrier("latency"),)
    settings = NO_SIZES
    sizes_B = [0]
    has_sizes = False


@check()
class OsuPersistentBarrier(OsuBarrier):
    """Time of a barrier with persistent requests, averaged over the processes."""

    descr = "OSU barrier with persistent requests"
    benchmark = "barrier_persistent"
    levels = Levels()
    headlines = ()
    needs = ("osu_c", "osu_7_3")
    tags = {"osu", "collective"}


@check()
class OsuNeighbourhood(OsuCollectives):
    """Time of a collective with the neighbours of a ring only, averaged over the processes."""

    descr = "OSU neighbourhood collective"
    benchmark = parameter([f"neighbor_{name}" for name in NEIGHBOURHOOD], type=str)
    needs = ("osu_c", "osu_7_3")
    layout = layouts("ring", scan=False, needs=needs)
    tags = {"osu", "collective"}
    has_zero = False


@check()
class OsuNonBlocking(OsuCollectives):
    """A non-blocking collective with work meanwhile: time of both, of the communication alone, and their
    overlap.

    Overlap by OSU's definition: 100 (1 - (overall time - time of the work) / time of the communication
    alone), not below 0, with work as long as the communication alone.
    """

    descr = "OSU non-blocking collective"
    family = families.NON_BLOCKING
    benchmark = parameter(
        [*NON_BLOCKING, *NON_BLOCKING_7_3, *NON_BLOCKING_7_4], type=str
    )
    needs = ("osu_c",)
    needs_of = {
        **OsuCheck.needs_of,
        "benchmark": {
            **dict.fromkeys(NON_BLOCKING_7_3, ("osu_7_3",)),
            **dict.fromkeys(NON_BLOCKING_7_4, ("osu_7_4",)),
        },
    }
    layout = layouts("several", scan=False)
    tags = {"osu", "collective", "nbc"}
    has_zero = False
    curves = OVERLAP


@check()
class OsuNonBlockingBarrier(OsuCollectives):
    """A non-blocking barrier with work meanwhile; see :class:`OsuNonBlocking`."""

    descr = "OSU non-blocking barrier"
    family = families.NON_BLOCKING
    benchmark = "ibarrier"
    devices = ()  # there is no buffer
    validates = False
    needs = ("osu_c",)
    layout = layouts("several", scan=False)
    tags = {"osu", "collective", "nbc"}
    settings = NO_SIZES
    sizes_B = [0]
    has_sizes = False
    curves = OVERLAP


@check()
class OsuNonBlockingNeighbourhood(OsuCollectives):
    """A non-blocking collective with the neighbours of a ring only; see :class:`OsuNonBlocking`."""

    descr = "OSU non-blocking neighbourhood collective"
    family = families.NON_BLOCKING
    benchmark = parameter([f"ineighbor_{name}" for name in NEIGHBOURHOOD], type=str)
    needs = ("osu_c", "osu_7_3")
    layout = layouts("ring", scan=False, needs=needs)
    tags = {"osu", "collective", "nbc"}
    has_zero = False
    curves = OVERLAP
