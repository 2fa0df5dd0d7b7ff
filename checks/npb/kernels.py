# SPDX-License-Identifier: BSD-3-Clause
"""The NAS Parallel Benchmarks whose time goes into communication: IS and FT."""

from reframe.core.builtins import parameter

from fabric_checks import parsers
from fabric_checks.core import families
from fabric_checks.core.levels import Levels
from fabric_checks.core.metrics import Metric
from fabric_checks.reframe_ext.mixins import ProgramMixin, layouts

from ..base import FabricCheck
from ..builds import built_by_spack
from ..registration import check


@check()
class NpbKernel(ProgramMixin, FabricCheck):
    """Integer sort (IS: all-to-all of small and of large messages) and 3D Fourier transform (FT: all-to-all
    of large).

    Source: NAS Parallel Benchmarks 3.4, MPI version, with their own verification. Rates are in 10^6
    operations a second as NPB counts them: keys ranked for IS, floating-point operations for FT.
    """

    descr = "NAS Parallel Benchmark"
    suite = "npb"
    built = built_by_spack("npb")
    kernel = parameter(["is", "ft"], type=str)
    problem_class = parameter(["A", "B", "C"], type=str)
    # IS and FT take powers of two only.
    layout = layouts("any", where=lambda layout: layout.tasks & (layout.tasks - 1) == 0)
    tags = {"npb", "applications"}
    family = families.APPLICATIONS
    levels = Levels(procurement=True)
    # FT is Fortran, which some environments lack.
    needs_of = {"kernel": {"ft": ("npb_ft",)}}
    time_limit = "30m"

    def command(self):
        """Each class is a program of its own."""
        program = self.program["command"].format(
            benchmark=f"{self.kernel}.{self.problem_class}.x"
        )
        return [program, *self.further_options("npb")]

    def metrics(self):
        return [
            Metric("time", "s", "smaller", about="Time of the kernel"),
            Metric(
                "operation_rate",
                "1/s",
                "larger",
                about="Operations a second, as NPB counts them",
            ),
        ]

    def measure(self, text):
        output = parsers.npb.parse(
            text, self.kernel, self.problem_class, self.num_tasks
        )
        self.note_version("npb", output.version)
        return {"time": output.time_s, "operation_rate": output.Mop_per_s * 1e6}
