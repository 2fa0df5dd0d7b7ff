# SPDX-License-Identifier: BSD-3-Clause
"""The share of the host that is left for work while messages move."""

from reframe.core.builtins import parameter, run_after

from fabric_checks.core import families
from fabric_checks.core.extras import Extras
from fabric_checks.core.metrics import Headline, curve, points
from fabric_checks.parsers import overlap
from fabric_checks.reframe_ext.mixins import layouts

from ..registration import check
from .base import Sweep

MiB = 1024**2
#: Of each transfer: the metric, its unit and direction, the column, and what it is.
COLUMNS = (
    (
        "overhead",
        "us",
        "smaller",
        "overhead_us",
        "Effective latency: the host time that a transfer takes, by the post-work-wait method",
    ),
    (
        "availability",
        "%",
        "larger",
        "availability_percent",
        "Host availability: the share of the transfer time that is left for work",
    ),
)
OSU_OVERLAP = (
    "osu_overlap",
    "%",
    "larger",
    "osu_overlap_percent",
    "Overlap by OSU's definition",
)
#: The section of the screen.
LEFT = "Host availability"


class OverlapCheck(Sweep):
    """Effective latency (overhead) and host availability by message size, by the post-work-wait method.

    Subclasses declare ``transfers``, the prefixes of the program's columns, ``work_B``, the smallest and the
    largest message, and ``parse``. A partition may end at less (``extras['largest_work_B']``) and at fewer
    ranks: the work reads the clock all the time, which on a simulated one costs more than the transfer.
    """

    family = families.OVERLAP
    columns = COLUMNS

    @run_after("init")
    def leave_out_many_ranks(self):
        """Run only where so many ranks can work at once: ``extras['most_work_tasks']``, without it any
        number."""
        self.run_only_on(
            lambda p: self.num_tasks <= (Extras.of(p).most_work_tasks or self.num_tasks)
        )

    @property
    def range_B(self):
        """The smallest and the largest message without ``-S``."""
        first, last = self.work_B
        return first, min(last, self.extras.largest_work_B or last)

    def metrics(self):
        return [
            metric
            for transfer in self.transfers
            for name, unit, better, _, about in self.columns
            for metric in curve(
                f"{transfer}_{name}",
                unit,
                better,
                self.sizes_B,
                can_be_zero=name == "overhead",
                about=about,
            )
        ]

    def measure(self, text):
        output = self.parse(text)
        values = {}
        for transfer in self.transfers:
            for name, _, _, column, _ in self.columns:
                values |= points(
                    f"{transfer}_{name}", output.values(f"{transfer}_{column}")
                )
        return values


@check()
class Overlap(OverlapCheck):
    """Host availability and effective latency of MPI_Isend and MPI_Irecv.

    With ``poll=test`` the work calls MPI_Test: what is better then is moved by the library, not by the
    hardware. Source: SAND2005-5199 (An Analysis of the PathScale Inc. InfiniBand HCA, InfiniPath), section 5,
    Figures 12 to 14.
    """

    descr = "Overlap of computation and point-to-point messages"
    poll = parameter(["none", "test"])
    layout = layouts("pair")
    own_program = "overlap"
    tags = {"fabric", "pt2pt", "overlap"}
    transfers = overlap.TRANSFERS
    headlines = tuple(
        Headline(
            f"{transfer}, largest size",
            f"{transfer}_availability",
            LEFT,
            order,
            point="last",
            layouts="most nodes",
            parameters={"poll": "none"},
        )
        for order, transfer in enumerate(("isend", "irecv"), 50)
    )
    least_B = 0
    work_B = (0, 4 * MiB)

    def arguments(self):
        return [*super().arguments(), *(["--poll"] if self.poll == "test" else [])]

    def parse(self, text):
        return overlap.parse(text, self.sizes_B)


@check()
class CollectiveOverlap(OverlapCheck):
    """Host availability during MPI_Iallreduce, MPI_Ialltoall and MPI_Ibcast, by the same definition.

    Beside it the overlap by the definition of the OSU micro-benchmarks, for comparison with theirs and with
    IMB-NBC's.
    """

    descr = "Overlap of computation and non-blocking collectives"
    layout = layouts("several")
    own_program = "collective_overlap"
    tags = {"fabric", "collective", "overlap"}
    transfers = overlap.COLLECTIVES
    columns = (*COLUMNS, OSU_OVERLAP)
    headlines = (
        Headline(
            "iallreduce, largest size",
            "iallreduce_availability",
            LEFT,
            52,
            point="last",
        ),
    )
    least_B = 4
    work_B = (8, MiB)

    def parse(self, text):
        return overlap.parse_collectives(text, self.sizes_B)
