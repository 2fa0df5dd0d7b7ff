# SPDX-License-Identifier: BSD-3-Clause
"""OSU blocking and non-blocking collectives."""

from dataclasses import replace

from reframe.core.builtins import parameter

from fabric_checks.core import families
from fabric_checks.core.levels import Levels
from fabric_checks.reframe_ext.mixins import layouts

from .. import screen
from ..registration import check
from ..tables import COMMUNICATION_TIME, OVERALL_TIME, OVERLAP, Barrier
from .base import MiB, OsuCheck

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
PERSISTENT = [f"{name}_persistent" for name in (*PORTED, *C_ONLY, "alltoallw")]
#: The benchmarks, each with the features that an environment has to have for it.
BLOCKING = {
    **dict.fromkeys(PORTED, ()),
    **dict.fromkeys(C_ONLY, ("osu_c",)),
    **dict.fromkeys(["alltoallw", *PERSISTENT], ("osu_c", "osu_7_3")),
    "reduce_scatter_block": ("osu_c", "osu_7_4"),
}
NON_BLOCKING = {
    **dict.fromkeys(
        [
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
        ],
        (),
    ),
    "ireduce_scatter": ("osu_7_3",),
    "ireduce_scatter_block": ("osu_7_4",),
}
NEIGHBOURHOOD = ["allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw"]
#: OSU leaves out, without a word, sizes whose buffers for all processes together are larger than this.
MEMORY_LIMIT_B = 512 * MiB


class OsuCollectives(OsuCheck):
    """Collectives over all processes."""

    family = families.COLLECTIVES
    folder = "collective"
    tags = {"osu", "collective"}

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
    benchmark = parameter(list(BLOCKING), type=str)
    needs_of = OsuCheck.needs_of | {"benchmark": BLOCKING}
    layout = layouts("several")
    headlines = screen.collectives("latency")


@check()
class OsuBarrier(Barrier, OsuCollectives):
    """Time of a barrier, averaged over the processes."""

    descr = "OSU barrier"
    benchmark = "barrier"
    layout = layouts("several")
    levels = Levels(nightly=True)
    headlines = (screen.barrier("latency"),)


@check()
class OsuPersistentBarrier(OsuBarrier):
    """Time of a barrier with persistent requests, averaged over the processes."""

    descr = "OSU barrier with persistent requests"
    benchmark = "barrier_persistent"
    levels = Levels()
    headlines = ()
    needs = ("osu_c", "osu_7_3")


@check()
class OsuNeighbourhood(OsuCollectives):
    """Time of a collective with the neighbours of a ring only, averaged over the processes."""

    descr = "OSU neighbourhood collective"
    benchmark = parameter([f"neighbor_{name}" for name in NEIGHBOURHOOD], type=str)
    needs = ("osu_c", "osu_7_3")
    layout = layouts("ring", scan=False, needs=needs)
    has_zero = False


class OsuWithWork(OsuCollectives):
    """Non-blocking collectives with work meanwhile."""

    family = families.NON_BLOCKING
    tags = {"osu", "collective", "nbc"}
    needs = ("osu_c",)
    has_zero = False
    curves = (
        OVERALL_TIME,
        replace(COMMUNICATION_TIME, column="pure_comm_us"),
        OVERLAP,
    )


@check()
class OsuNonBlocking(OsuWithWork):
    """A non-blocking collective with work meanwhile: time of both, of the communication alone, and their
    overlap.

    Overlap by OSU's definition: 100 (1 - (overall time - time of the work) / time of the communication
    alone), not below 0, with work as long as the communication alone.
    """

    descr = "OSU non-blocking collective"
    benchmark = parameter(list(NON_BLOCKING), type=str)
    needs_of = OsuCheck.needs_of | {"benchmark": NON_BLOCKING}
    layout = layouts("several", scan=False)


@check()
class OsuNonBlockingBarrier(Barrier, OsuWithWork):
    """A non-blocking barrier with work meanwhile; see :class:`OsuNonBlocking`."""

    descr = "OSU non-blocking barrier"
    benchmark = "ibarrier"
    layout = layouts("several", scan=False)


@check()
class OsuNonBlockingNeighbourhood(OsuWithWork):
    """A non-blocking collective with the neighbours of a ring only; see :class:`OsuNonBlocking`."""

    descr = "OSU non-blocking neighbourhood collective"
    benchmark = parameter([f"ineighbor_{name}" for name in NEIGHBOURHOOD], type=str)
    needs = ("osu_c", "osu_7_3")
    layout = layouts("ring", scan=False, needs=needs)
