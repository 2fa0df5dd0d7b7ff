# SPDX-License-Identifier: BSD-3-Clause
"""The Intel MPI Benchmarks, IMB-NBC: non-blocking collectives."""

from reframe.core.builtins import parameter

from fabric_checks.core import families
from fabric_checks.reframe_ext.mixins import layouts

from ..registration import check
from ..tables import COMMUNICATION_TIME, OVERALL_TIME, OVERLAP, Barrier, Curve
from .base import ImbProgram


class ImbNonBlockingProgram(ImbProgram):
    """A benchmark of IMB-NBC."""

    family = families.NON_BLOCKING
    imb_program = "IMB-NBC"
    needs = ("imb_nbc",)
    tags = {"imb", "collective", "nbc"}
    repetitions = (100, 4)
    curves = (
        OVERALL_TIME,
        COMMUNICATION_TIME,
        Curve(
            "work_time", "us", "smaller", "compute_us", about="Time of the work alone"
        ),
        OVERLAP,
    )


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
    layout = layouts("several", scan=False)


@check()
class ImbNonBlockingBarrier(Barrier, ImbNonBlockingProgram):
    """A non-blocking barrier with work meanwhile; see :class:`ImbNonBlocking`."""

    descr = "IMB-NBC non-blocking barrier"
    benchmark = "Ibarrier"
    layout = layouts("several", scan=False)
