# SPDX-License-Identifier: BSD-3-Clause
"""nccl-tests and rccl-tests: collectives between GPUs, one process a GPU."""

from pathlib import Path

from reframe.core.builtins import parameter, run_before, variable
from reframe.core.exceptions import SanityError

from fabric_checks.core.finding import Finding, Severity
from fabric_checks.core.levels import Levels
from fabric_checks.core.metrics import Headline, Metric, curve, points
from fabric_checks.reframe_ext.mixins import ProgramMixin, SizesMixin, optional

from ..base import FabricCheck
from ..builds import built_by_spack
from ..devices import CUDA, ROCM, ProcessPerGpu, gpu_layouts
from ..registration import check

# What is about GPUs alone is imported where it runs: a listing needs none of it.
# ruff: noqa: PLC0415

FAMILY = "Collectives between GPUs"
#: Those of nccl-tests.
COLLECTIVES = [
    "all_reduce",
    "all_gather",
    "reduce_scatter",
    "alltoall",
    "broadcast",
    "sendrecv",
]
BUS = "Bus bandwidth by nccl-tests' definition, which is comparable with the rate of links"
IN_PLACE_RATIO = Metric(
    "in_place_ratio",
    "1",
    "larger",
    about="Peak bus bandwidth in place over that out of place",
)
#: The folder with what NCCL logs, a file a process, in the stage folder.
LOG = "nccl"


class GpuCollective(ProcessPerGpu, SizesMixin, ProgramMixin, FabricCheck):
    """Bus bandwidth of a collective between GPUs, out of place and in place, and time at all sizes.

    Source: nccl-tests, doc/PERFORMANCE.md. Bus bandwidth is comparable with the rate of links: with one link
    a GPU all collectives reach that of the slowest link. Data are verified. The network and the adapters are
    those that NCCL itself logs; if the partition names a network under ``extras['fabric']``, a case that went
    over TCP fails.

    Of a single GPU there is the time alone, of copies within its memory: no rank has another to send to.
    """

    #: The factor from one message size to the next (``-f``).
    #:
    #: :type: :class:`int`
    #: :default: ``4``
    size_factor = variable(int, value=4)

    #: Timed iterations at each message size (``-n``).
    #:
    #: :type: :class:`int` or :obj:`None`
    #: :default: ``None``: the program's own
    iterations = optional(int)

    #: Iterations before them (``-w``).
    #:
    #: :type: :class:`int` or :obj:`None`
    #: :default: ``None``: the program's own
    warmup = optional(int)

    settings = {"size_factor": "", "iterations": "-n", "warmup": "-w"}
    range_B = (1024, 1024**3)
    benchmark = parameter(COLLECTIVES, type=str)
    family = FAMILY
    levels = Levels(nightly={"benchmark": ["all_reduce", "sendrecv"]}, procurement=True)
    headlines = tuple(
        Headline(
            f"{name}, bus bandwidth, peak", "bus_bandwidth", "Between GPUs", 15, order, "peak", "most nodes",
            parameters={"benchmark": name},
        )
        for order, name in enumerate(("all_reduce", "alltoall"))
    )  # fmt: skip
    tags = {"nccl"}
    program_logs = f"{LOG}/*.txt"
    time_limit = "20m"

    def command(self):
        """Go through all sizes in one launch."""
        program = self.program["command"].format(benchmark=self.benchmark)
        first, last = str(self.sizes_B[0]), str(self.sizes_B[-1])
        sizes = ["-b", first, "-e", last, "-f", str(self.size_factor)]
        words = [program, *sizes, "-g", "1", "-c", "1", *self.setting_options]
        return [*words, *self.further_options(self.suite)]

    def steps_B(self, first_B, last_B):
        """Return the message sizes of a range, each so many times the one before."""
        sizes_B = [first_B]
        while sizes_B[-1] * self.size_factor <= last_B:
            sizes_B.append(sizes_B[-1] * self.size_factor)
        return sizes_B

    def unfit(self):
        """Yield a factor with which sizes do not grow, too."""
        if self.size_factor < 2:
            yield "size_factor", "give 2 or more"
            return
        yield from super().unfit()

    @run_before("run")
    def log_the_network(self):
        """Let each process log what it initializes; the output itself has the table only."""
        self.prerun_cmds = [*self.prerun_cmds, f"mkdir -p {LOG}"]
        self.env_vars |= {
            "NCCL_DEBUG": "INFO",
            "NCCL_DEBUG_SUBSYS": "INIT,NET",
            "NCCL_DEBUG_FILE": f"$PWD/{LOG}/%h.%p.txt",
        }
        self.keep_files = [*self.keep_files, LOG]

    def metrics(self):
        times, apart, in_place = (
            curve(quantity, unit, better, self.sizes_B, about=about)
            for quantity, unit, better, about in (
                ("time", "us", "smaller", "Time of the collective, out of place"),
                ("bus_bandwidth", "MB/s", "larger", f"{BUS}, out of place"),
                ("in_place_bus_bandwidth", "MB/s", "larger", f"{BUS}, in place"),
            )
        )
        if self.num_tasks == 1:
            return times
        return [*times, *apart, *in_place, IN_PLACE_RATIO]

    def measure(self, text):
        from fabric_checks.parsers import nccl_tests

        output = nccl_tests.parse(text, self.benchmark, self.sizes_B, self.num_tasks)
        self.note_version(self.program["program"], output.version)
        self.judge_network()
        times = points(
            "time", {size: each.time_us for size, each in output.out_of_place.items()}
        )
        if self.num_tasks == 1:
            return times
        apart, in_place = (
            {size: each.bus_MBps for size, each in of.items()}
            for of in (output.out_of_place, output.in_place)
        )
        return {
            **times,
            **points("bus_bandwidth", apart),
            **points("in_place_bus_bandwidth", in_place),
            IN_PLACE_RATIO.name: max(in_place.values()) / max(apart.values()),
        }

    def judge_network(self):
        """Note the ways of the GPUs to other nodes, and what stands out.

        :raises SanityError: if NCCL did not use the network that the system's file names.
        """
        if self.current_layout.nodes == 1:
            return
        from fabric_checks.parsers import nccl_debug
        from fabric_checks.ports import gpu_paths

        logs = sorted(Path(self.stagedir).glob(self.program_logs))
        ranks = nccl_debug.parse(
            "".join(path.read_text(errors="replace") for path in logs)
        )
        if len(ranks) < self.num_tasks:
            count = f"{len(ranks)} of {self.num_tasks} ranks"
            text = (
                f"the log of NCCL (NCCL_DEBUG) has {count}: its network is not proven"
            )
            found = [
                Finding(kind="gpu", severity=Severity.NOTE, text=text, key="gpu log")
            ]
        else:
            found = gpu_paths.findings(ranks)
        self._add_findings(*found)
        if why := gpu_paths.disproof(ranks, self.extras.fabric):
            raise SanityError(why)


@check(compare=False)
class NcclCollective(GpuCollective):
    """A collective of NCCL between NVIDIA's GPUs; see :class:`GpuCollective`."""

    descr = "nccl-tests"
    suite = "nccl_tests"
    built = built_by_spack("nccl_tests")
    only_on = (CUDA,)
    layout = gpu_layouts({CUDA: suite}, alone=True)


@check(compare=False)
class RcclCollective(GpuCollective):
    """A collective of RCCL between AMD's GPUs; see :class:`GpuCollective`."""

    descr = "rccl-tests"
    suite = "rccl_tests"
    built = built_by_spack("rccl_tests")
    only_on = (ROCM,)
    layout = gpu_layouts({ROCM: suite}, alone=True)
