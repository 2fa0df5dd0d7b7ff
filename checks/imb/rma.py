# SPDX-License-Identifier: BSD-3-Clause
"""The Intel MPI Benchmarks, IMB-RMA: one-sided communication."""

from reframe.core.builtins import parameter

from fabric_checks import parsers
from fabric_checks.core import families
from fabric_checks.core.metrics import Metric
from fabric_checks.reframe_ext.mixins import layouts

from ..registration import check
from .base import ABOUT, BANDWIDTH, NO_SIZES, TIME, ImbProgram, curves, values

#: Benchmarks whose bandwidth is of one direction.
ONE_WAY = ("Unidir_put", "Unidir_get", "Put_local", "Get_local")
ATOMIC = ["Compare_and_swap", "Fetch_and_op"]
#: A put is over at the origin, or, without "local", at the target; many are completed at once in the mode
#: "aggregate".
AGGREGATED = [(f"aggregate_{name}", *rest) for name, *rest in (TIME, BANDWIDTH)]


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
    layout = parameter(layouts("pair"), type=str)

    def metrics(self):
        return curves([TIME, BANDWIDTH, *AGGREGATED], self.sizes_B, one_way=self.benchmark in ONE_WAY)

    def measure(self, text):
        alone = values([TIME, BANDWIDTH], self.read_rows(text, parsers.imb.NON_AGGREGATE), self.sizes_B)
        return alone | values(AGGREGATED, self.read_rows(text, parsers.imb.AGGREGATE), self.sizes_B)


@check()
class ImbAtomic(ImbOneSidedProgram):
    """Two processes: atomic operations on one number of 4 bytes, each completed on its own and many at
    once."""

    descr = "IMB-RMA atomic operation"
    benchmark = parameter(ATOMIC, type=str)
    layout = parameter(layouts("pair"), type=str)
    settings = ImbProgram.settings | NO_SIZES
    rows_B = [4]

    def metrics(self):
        return [Metric(name, "us", "smaller", about=ABOUT[name]) for name in ("time", "aggregate_time")]

    def measure(self, text):
        (alone,), (many,) = (
            self.read_rows(text, mode) for mode in (parsers.imb.NON_AGGREGATE, parsers.imb.AGGREGATE)
        )
        return {"time": alone.values["time_us"], "aggregate_time": many.values["time_us"]}


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
    layout = parameter(layouts("several", scan=False), type=str)

    def metrics(self):
        return curves([TIME], self.sizes_B)

    def measure(self, text):
        return values([TIME], self.read_rows(text), self.sizes_B)


@check()
class ImbPassiveTarget(ImbOneSidedProgram):
    """A put to a process that waits in a barrier (time), and to one that computes (time_busy_target).

    Where the two are equal, a put needs no help from its target.
    """

    descr = "IMB-RMA put to a passive target"
    benchmark = "Truly_passive_put"
    layout = parameter(layouts("pair"), type=str)
    columns = (
        ("time", "us", "smaller", "communication_us", 1),
        ("time_busy_target", "us", "smaller", "overall_us", 1),
    )

    def metrics(self):
        return curves(self.columns, self.sizes_B)

    def measure(self, text):
        return values(self.columns, self.read_rows(text), self.sizes_B)
