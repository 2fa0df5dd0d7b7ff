# SPDX-License-Identifier: BSD-3-Clause
"""The Intel MPI Benchmarks, IMB-NBC: non-blocking collectives."""

from reframe.core.builtins import parameter

from fabric_checks.core import families
from fabric_checks.core.metrics import Metric
from fabric_checks.reframe_ext.mixins import layouts

from ..registration import check
from .base import ABOUT, NO_SIZES, ImbProgram, curves, values

OVERLAP = (
    ("overall_time", "us", "smaller", "overall_us", 1),
    ("communication_time", "us", "smaller", "communication_us", 1),
    ("work_time", "us", "smaller", "compute_us", 1),
    ("overlap", "%", "larger", "overlap_percent", 1),
)


class ImbNonBlockingProgram(ImbProgram):
    """A benchmark of IMB-NBC."""

    family = families.NON_BLOCKING
    imb_program = "IMB-NBC"
    needs = ("imb_nbc",)
    tags = {"imb", "collective", "nbc"}
    repetitions = (100, 4)


@check()
class ImbNonBlocking(ImbNonBlockingProgram):
    """A non-blocking collective with work meanwhile: ``t_ovrl``, ``t_pure``, ``t_CPU`` and ``overlap[%]``.

    Overlap by IMB's definition: 100 (communication + work - both at once) / the longer of the two, from 0 to
    100. It is not OSU's, which has the communication alone below the line.
    """

    descr = "IMB-NBC non-blocking collective"
    benchmark = parameter(
        [
            "Iallgather",
            "Iallgatherv",
            "Iallreduce",
            "Ialltoall",
            "Ialltoallv",
            "Ibcast",
            "Igather",
            "Igatherv",
            "Ireduce",
            "Ireduce_scatter",
            "Iscatter",
            "Iscatterv",
        ],
        type=str,
    )
    layout = parameter(layouts("several", scan=False), type=str)

    def metrics(self):
        return curves(OVERLAP, self.sizes_B)

    def measure(self, text):
        return values(OVERLAP, self.read_rows(text), self.sizes_B)


@check()
class ImbNonBlockingBarrier(ImbNonBlockingProgram):
    """A non-blocking barrier with work meanwhile; see :class:`ImbNonBlocking`."""

    descr = "IMB-NBC non-blocking barrier"
    benchmark = "Ibarrier"
    layout = parameter(layouts("several", scan=False), type=str)
    settings = ImbProgram.settings | NO_SIZES
    rows_B = [0]

    def metrics(self):
        return [Metric(name, unit, better, about=ABOUT[name]) for name, unit, better, *_ in OVERLAP]

    def measure(self, text):
        (row,) = self.read_rows(text)
        return {name: row.values[column] for name, _, _, column, _ in OVERLAP}
