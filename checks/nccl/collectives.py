# SPDX-License-Identifier: BSD-3-Clause
"""nccl-tests and rccl-tests: collectives between GPUs, one process a GPU."""

from pathlib import Path

from reframe.core.builtins import parameter, run_before
from reframe.core.exceptions import SanityError

from fabric_checks.core.levels import Levels
from fabric_checks.core.metrics import Headline, Metric, curve, points
from fabric_checks.parsers import nccl_debug, nccl_tests
from fabric_checks.reframe_ext.mixins import ProgramMixin

from ..base import FabricCheck
from ..builds import built_by_spack
from ..devices import CUDA, ROCM, ProcessPerGpu, gpu_layouts
from ..registration import check

FAMILY = "Collectives between GPUs"
MiB = 1024**2
#: 1 KiB to 1 GiB, in factors of four.
SIZES_B = [1024 * 4**power for power in range(11)]
#: The folder with what NCCL logs, a file a process, in the stage folder.
LOG = "nccl-debug"


class GpuCollective(ProcessPerGpu, ProgramMixin, FabricCheck):
    """Bus bandwidth of a collective between GPUs, out of place and in place, and time at all sizes.

    Source: nccl-tests, doc/PERFORMANCE.md. Bus bandwidth is comparable with the rate of links: with one link a GPU all
    collectives reach that of the slowest link. Data are verified. The network and the adapters are those that NCCL
    itself logs; if the partition names a network under ``extras['fabric']``, a case that went over TCP fails.

    Of a single GPU there is the time alone, of copies within its memory: no rank has another to send to.
    """

    benchmark = parameter(list(nccl_tests.BUS_FACTOR), type=str)
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
    time_limit = "20m"

    def command(self):
        """Go through all sizes in one launch."""
        program = self.program["command"].format(benchmark=self.benchmark)
        sizes = ["-b", str(SIZES_B[0]), "-e", str(SIZES_B[-1]), "-f", "4"]
        return [program, *sizes, "-g", "1", "-c", "1", *self.partition_options(self.suite)]

    @run_before("run")
    def log_the_network(self):
        """Let each process log what it initializes; the output itself has the table only."""
        self.prerun_cmds = [*self.prerun_cmds, f"mkdir -p {LOG}"]
        self.env_vars |= {
            "NCCL_DEBUG": "INFO",
            "NCCL_DEBUG_SUBSYS": "INIT,NET",
            "NCCL_DEBUG_FILE": f"$PWD/{LOG}/%h.%p",
        }
        self.keep_files = [*self.keep_files, LOG]

    def metrics(self):
        times = curve("time", "us", "smaller", SIZES_B)
        if self.num_tasks == 1:
            return times
        return [
            *times,
            *curve("bus_bandwidth", "MB/s", "larger", SIZES_B),
            *curve("in_place_bus_bandwidth", "MB/s", "larger", SIZES_B),
            Metric("in_place_ratio", "1", "larger"),
        ]

    def measure(self, text):
        output = nccl_tests.parse(text, self.benchmark, SIZES_B, self.num_tasks)
        self.note_version(self.program["program"], output.version)
        self.judge_network()
        times = points("time", {size: each.time_us for size, each in output.out_of_place.items()})
        if self.num_tasks == 1:
            return times
        apart, in_place = (
            {size: each.bus_MBps for size, each in of.items()} for of in (output.out_of_place, output.in_place)
        )
        return {
            **times,
            **points("bus_bandwidth", apart),
            **points("in_place_bus_bandwidth", in_place),
            "in_place_ratio": max(in_place.values()) / max(apart.values()),
        }

    def judge_network(self):
        """Note the ways of the GPUs to other nodes, and what stands out.

        :raises SanityError: if NCCL did not use the network that the system's file names.
        """
        from fabric_checks.ports import gpu_paths, pcie  # noqa: PLC0415  (a listing needs none)

        if self.current_layout.nodes == 1:
            return
        logs = sorted((Path(self.stagedir) / LOG).glob("*"))
        ranks = nccl_debug.parse("".join(path.read_text(errors="replace") for path in logs))
        if len(ranks) < self.num_tasks:
            text = f"the log of NCCL (NCCL_DEBUG) has {len(ranks)} of {self.num_tasks} ranks: its network is not proven"
            found = [{"kind": "gpu", "hosts": [], "fault": False, "text": text}]
        else:
            found = gpu_paths.findings(ranks)
            gpus = {rank: of.address for rank, of in ranks.items()}
            found += pcie.far_ranks(self._nodes()[0], self.ranks, self.names_of("fabric"), gpus)
        self._add_findings({each["text"]: each for each in found})
        if why := gpu_paths.disproof(ranks, self.names_of("fabric")):
            raise SanityError(why)


@check(compare=False, only_on=(CUDA,))
class NcclCollective(GpuCollective):
    """A collective of NCCL between NVIDIA's GPUs; see :class:`GpuCollective`."""

    descr = "nccl-tests"
    suite = "nccl_tests"
    built = built_by_spack("nccl_tests")
    partition_features = [CUDA]
    layout = gpu_layouts({CUDA: suite}, alone=True)


@check(compare=False, only_on=(ROCM,))
class RcclCollective(GpuCollective):
    """A collective of RCCL between AMD's GPUs; see :class:`GpuCollective`."""

    descr = "rccl-tests"
    suite = "rccl_tests"
    built = built_by_spack("rccl_tests")
    partition_features = [ROCM]
    layout = gpu_layouts({ROCM: suite}, alone=True)
