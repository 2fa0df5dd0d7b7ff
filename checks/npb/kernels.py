# SPDX-License-Identifier: BSD-3-Clause
"""The NAS Parallel Benchmarks whose time goes into communication: IS and FT."""

from reframe.core.builtins import parameter, run_after

from fabric_checks.core.metrics import Metric
from fabric_checks.parsers import npb
from fabric_checks.reframe_ext.mixins import ProgramMixin, layouts

from ..base import FabricCheck
from ..builds import built_by_spack
from ..registration import check


@check("npb")
class NpbKernel(ProgramMixin, FabricCheck):
    """Integer sort (IS: all-to-all of small and of large messages) and 3D Fourier transform (FT: all-to-all of large).

    Source: NAS Parallel Benchmarks 3.4, MPI version, with their own verification. Rates are in 10^6 operations a
    second as NPB counts them: keys ranked for IS, floating-point operations for FT.
    """

    descr = "NAS Parallel Benchmark"
    suite = "npb"
    built = built_by_spack("npb")
    kernel = parameter(["is", "ft"], type=str)
    problem_class = parameter(["A", "B", "C"], type=str)
    # IS and FT take powers of two only.
    layout = layouts("any", where=lambda layout: layout.tasks & (layout.tasks - 1) == 0)
    tags = {"npb", "applications"}
    for_procurement = True
    time_limit = "30m"

    @run_after("init")
    def ask_for_fortran(self):
        """FT is Fortran, which some environments lack."""
        if self.kernel == "ft":
            self.valid_prog_environs = [f"{environ} +npb_ft" for environ in self.valid_prog_environs]

    def command(self):
        """Each class is a program of its own."""
        return [self.program["command"].format(benchmark=f"{self.kernel}.{self.problem_class}.x")]

    def metrics(self):
        return [Metric("time", "s", "smaller"), Metric("operation_rate", "1/s", "larger")]

    def measure(self, text):
        output = npb.parse(text, self.kernel, self.problem_class, self.num_tasks)
        self.note_version("npb", output.version)
        return {"time": output.time_s, "operation_rate": output.Mop_per_s * 1e6}
