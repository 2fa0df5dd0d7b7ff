# SPDX-License-Identifier: BSD-3-Clause
"""What the OSU checks share."""

from reframe.core.builtins import run_after

from fabric_checks.metrics import curve, powers_of_two
from fabric_checks.mixins import ProgramMixin
from fabric_checks.parsers import osu

from ..base import FabricCheck

MiB = 1024**2


class OsuCheck(ProgramMixin, FabricCheck):
    """One OSU benchmark, all message sizes in one launch.

    Source: the OSU Micro-Benchmarks of the Ohio State University. Where an environment offers the Python ports that
    come with mpi4py, results say ``osu-py``: their figures include the interpreter.

    Subclasses declare ``benchmark``, ``largest_B`` and ``column``, the column of the output that is the metric, with
    its ``quantity``, ``unit`` and ``better``; ``has_zero`` tells whether a message of zero bytes makes sense.
    """

    suite = "osu"
    tags = {"osu"}
    has_zero = True

    @property
    def sizes_B(self):
        """Message sizes: from 0 where the environment's program measures that (OSU 7 does not), else from 1."""
        smallest_B = self.current_environ.extras["programs"]["osu"]["smallest_message_B"] if self.has_zero else 1
        return powers_of_two(smallest_B, self.largest_B)

    @run_after("setup")
    def set_command(self):
        """Call the benchmark; message sizes are given to programs that take them."""
        self.executable = self.program["command"].format(benchmark=f"osu_{self.benchmark}")
        if self.program["takes_sizes"] and len(self.sizes_B) > 1:
            self.executable_opts = ["-m", f"{self.sizes_B[0]}:{self.sizes_B[-1]}"]

    def metrics(self):
        return curve(self.quantity, self.unit, self.better, self.sizes_B)

    def measure(self, text):
        output = osu.parse(text, self.benchmark, self.sizes_B)
        self.note_version(output.program, output.version)
        values = [row.values[self.column] for row in output.rows]
        return dict(zip((metric.name for metric in self.metrics()), values, strict=True))
