# SPDX-License-Identifier: BSD-3-Clause
"""nccl-tests and rccl-tests: collectives between GPUs, one process a GPU."""

from pathlib import Path

from reframe.core.builtins import parameter, run_after, run_before
from reframe.core.exceptions import ConfigError, SanityError
from reframe.core.logging import getlogger
from reframe.core.runtime import runtime

from fabric_checks.core.layouts import Layout
from fabric_checks.core.levels import Levels
from fabric_checks.core.metrics import Headline, Metric, curve, points
from fabric_checks.parsers import nccl_debug, nccl_tests
from fabric_checks.reframe_ext.mixins import ProgramMixin
from fabric_checks.reframe_ext.mixins.layout import all_layouts_of, offered, partitions

from ..base import FabricCheck
from ..builds import built_by_spack
from ..registration import check

FAMILY = "Collectives between GPUs"
MiB = 1024**2
#: 1 KiB to 1 GiB, in factors of four.
SIZES_B = [1024 * 4**power for power in range(11)]
#: The folder with what NCCL logs, a file a process, in the stage folder.
LOG = "nccl-debug"
KINDS = {"nccl_tests": "cuda", "rccl_tests": "rocm"}


def gpus_of(partition):
    """Return the number of GPUs of a node: of ReFrame's ``devices`` of type ``gpu``, or ``extras['gpus']``; or 0.

    :raises ConfigError: if ``gpus`` is no number.
    """
    devices = sum(each.num_devices for each in partition.devices if each.device_type == "gpu")
    gpus = partition.extras.get("gpus", devices)
    if not isinstance(gpus, int) or isinstance(gpus, bool) or gpus < 0:
        raise ConfigError(f"{partition.fullname}: extras: gpus is {gpus!r}; give the number of GPUs of a node")
    return gpus


def gpu_layouts(suite):
    """Return the parameter ``layout``: a process a GPU, on one, two and all nodes; and one GPU on each of two nodes.

    A warning names a partition whose layouts have no process for each GPU.
    """
    found = set()
    for partition in partitions() if offered(suite) else ():
        gpus = gpus_of(partition)
        if not gpus or KINDS[suite] not in partition.features:
            continue
        fit = all_layouts_of(partition)
        whole = {layout for layout in fit if layout.ppn == gpus and layout.nodes in (1, 2, fit[-1].nodes)}
        if not whole:
            getlogger().warning(
                f"{partition.fullname} has {gpus} GPUs a node, and no layout with as many processes: nothing is "
                f"measured between GPUs; add {gpus} to extras['ppn']",
                cache=True,
            )
        found |= {layout for layout in (*whole, Layout(2, 1)) if layout in fit and layout.tasks > 1}
    return parameter([str(layout) for layout in sorted(found)], type=str)


class GpuCollective(ProgramMixin, FabricCheck):
    """Bus bandwidth of a collective between GPUs, out of place and in place, and time at all sizes.

    Source: nccl-tests, doc/PERFORMANCE.md. Bus bandwidth is comparable with the rate of links: with one link a GPU all
    collectives reach that of the slowest link. Data are verified. The network and the adapters are those that NCCL
    itself logs; if the partition names a network under ``extras['fabric']``, a case that went over TCP fails.
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

    @run_after("init")
    def ask_for_gpus(self):
        """Run only on partitions whose nodes have GPUs of the kind, and as many as the layout needs."""
        able = {p.fullname for p in partitions() if KINDS[self.suite] in p.features}
        enough = {p.fullname for p in runtime().system.partitions if gpus_of(p) >= self.current_layout.ppn}
        self.valid_systems = [name for name in self.valid_systems if name in able & enough]

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
        return [
            *curve("time", "us", "smaller", SIZES_B),
            *curve("bus_bandwidth", "MB/s", "larger", SIZES_B),
            *curve("in_place_bus_bandwidth", "MB/s", "larger", SIZES_B),
            Metric("in_place_ratio", "1", "larger"),
        ]

    def measure(self, text):
        output = nccl_tests.parse(text, self.benchmark, SIZES_B, self.num_tasks)
        self.note_version(self.program["program"], output.version)
        self.judge_network()
        apart, in_place = (
            {size: each.bus_MBps for size, each in of.items()} for of in (output.out_of_place, output.in_place)
        )
        return {
            **points("time", {size: each.time_us for size, each in output.out_of_place.items()}),
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


@check(compare=False)
class NcclCollective(GpuCollective):
    """A collective of NCCL between NVIDIA's GPUs; see :class:`GpuCollective`."""

    descr = "nccl-tests"
    suite = "nccl_tests"
    built = built_by_spack("nccl_tests")
    layout = gpu_layouts("nccl_tests")


@check(compare=False)
class RcclCollective(GpuCollective):
    """A collective of RCCL between AMD's GPUs; see :class:`GpuCollective`."""

    descr = "rccl-tests"
    suite = "rccl_tests"
    built = built_by_spack("rccl_tests")
    layout = gpu_layouts("rccl_tests")
