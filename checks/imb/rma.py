# SPDX-License-Identifier: BSD-3-Clause
"""The Intel MPI Benchmarks, IMB-RMA: one-sided communication."""

from dataclasses import replace

from reframe.core.builtins import parameter

from fabric_checks import parsers
from fabric_checks.core import families
from fabric_checks.reframe_ext.mixins import NO_SIZES, layouts

from ..registration import check
from ..tables import Curve
from .base import BANDWIDTH, TIME, ImbProgram

#: Benchmarks whose bandwidth is of one direction.
ONE_DIRECTION = ("Unidir_put", "Unidir_get", "Put_local", "Get_local")
#: A put is over at the origin, or, without "local", at the target; many are completed at once in the mode
#: "aggregate".
ALONE = replace(TIME, mode=parsers.imb.NON_AGGREGATE)
MANY = replace(
    TIME,
    quantity="aggregate_time",
    mode=parsers.imb.AGGREGATE,
    about="Time of an operation where many are completed at once",
)


class ImbOneSidedProgram(ImbProgram):
    """A benchmark of IMB-RMA."""

    family = families.ONE_SIDED
    imb_program = "IMB-RMA"
    needs = ("imb_rma",)
    tags = {"imb", "one-sided"}


@check()
class ImbOneSided(ImbOneSidedProgram):
    """Two processes: puts, gets and accumulates, each completed on its own and many completed at once
    (aggregate)."""

    descr = "IMB-RMA between two processes"
    benchmark = parameter(
        [
            "Unidir_put",
            "Unidir_get",
            "Bidir_put",
            "Bidir_get",
            "Put_local",
            "Get_local",
            "Accumulate",
            "Get_accumulate",
        ],
        type=str,
    )
    layout = layouts("pair")

    @property
    def curves(self):
        """Time and bandwidth, each operation on its own and many at once."""
        alone = replace(
            BANDWIDTH, one_way=self.benchmark in ONE_DIRECTION, mode=ALONE.mode
        )
        about = "Bandwidth where many operations are completed at once"
        many = replace(
            alone, quantity="aggregate_bandwidth", mode=MANY.mode, about=about
        )
        return (ALONE, alone, MANY, many)


@check()
class ImbAtomic(ImbOneSidedProgram):
    """Two processes: atomic operations on one number of 4 bytes, each completed on its own and many at
    once."""

    descr = "IMB-RMA atomic operation"
    benchmark = parameter(["Compare_and_swap", "Fetch_and_op"], type=str)
    layout = layouts("pair")
    settings = NO_SIZES
    rows_B = [4]
    has_sizes = False
    curves = (ALONE, MANY)


@check()
class ImbOneSidedGroup(ImbOneSidedProgram):
    """All processes: one to or from all others, all to or from all others, and neighbours; the average
    time."""

    descr = "IMB-RMA between all processes"
    benchmark = parameter(
        [
            "One_put_all",
            "One_get_all",
            "All_put_all",
            "All_get_all",
            "Put_all_local",
            "Get_all_local",
            "Exchange_put",
            "Exchange_get",
        ],
        type=str,
    )
    layout = layouts("several", scan=False)
    curves = (TIME,)


@check()
class ImbPassiveTarget(ImbOneSidedProgram):
    """A put to a process that waits in a barrier (time), and to one that computes (time_busy_target).

    Where the two are equal, a put needs no help from its target.
    """

    descr = "IMB-RMA put to a passive target"
    benchmark = "Truly_passive_put"
    layout = layouts("pair")
    curves = (
        replace(TIME, column="communication_us"),
        Curve(
            "time_busy_target",
            "us",
            "smaller",
            "overall_us",
            about="Time of a put whose target computes; as long as of an idle one if it needs no help",
        ),
    )
