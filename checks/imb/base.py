# SPDX-License-Identifier: BSD-3-Clause
"""The base of the checks of the Intel MPI Benchmarks."""

from fabric_checks import parsers
from fabric_checks.core.metrics import curve, point, powers_of_two
from fabric_checks.reframe_ext.mixins import ProgramMixin

from ..base import FabricCheck
from ..builds import built_by_spack

#: The range of sizes of the quick settings, as powers of two: 8 B to 1 MiB.
QUICK_LOG2 = (3, 20)
QUICK_B = powers_of_two(2 ** QUICK_LOG2[0], 2 ** QUICK_LOG2[1])


class ImbProgram(ProgramMixin, FabricCheck):
    """One benchmark of IMB, all message sizes in one launch.

    Source: Intel MPI Benchmarks user guide. Subclasses declare ``imb_program``, ``benchmark``, ``sizes_B`` and in
    ``needs`` the features that the environment has to have in addition to ``imb``.
    """

    suite = "imb"
    built = built_by_spack("imb")
    sizes_log2 = QUICK_LOG2
    #: Repetitions at most, and MiB at most that they move at one size.
    repetitions = (200, 10)

    def command(self):
        """Ask for the sizes, and for all processes only: IMB would go through 2, 4, 8, ... of them.

        A partition may have options of its own; IMB refuses one that comes twice.
        """
        program = self.program["command"].format(benchmark=self.imb_program)
        first, last = self.sizes_log2
        words = [program, self.benchmark, *self.buffers(), "-npmin", str(self.num_tasks), "-msglog", f"{first}:{last}"]
        own = self.partition_options("imb")
        if "-iter" not in own:
            words += ["-iter", ",".join(map(str, self.repetitions))]
        return [*words, *own]

    def buffers(self):
        """Return the options that choose the memory of the buffers; the programs for the host's have none."""
        return []

    def read_rows(self, text, mode=None):
        """Return the rows of the one block there has to be."""
        output = parsers.imb.parse(
            text, self.benchmark, self.sizes_B, self.num_tasks, program=self.imb_program, mode=mode
        )
        self.note_version("imb", output.version)
        return output.rows


def curves(columns, sizes_B, *, one_way=False):
    """Declare the metrics of a table.

    :param one_way: whether its bandwidths count one direction only.
    :param columns: for each column of the output the name, unit and better of its metric, the column, and a factor.
    """
    return [
        metric
        for name, unit, better, *_ in columns
        for metric in curve(name, unit, better, sizes_B, one_way=one_way and unit == "MB/s")
    ]


def values(columns, rows, sizes_B):
    """Return the metrics that :func:`curves` declares, from the rows of the output."""
    at = {row.size_B: row.values for row in rows}
    return {point(name, size): at[size][column] * factor for name, _, _, column, factor in columns for size in sizes_B}


TIME = ("time", "us", "smaller", "time_us", 1)
BANDWIDTH = ("bandwidth", "MB/s", "larger", "bandwidth_MBps", 1)
MESSAGE_RATE = ("message_rate", "Mmsg/s", "larger", "message_rate_per_s", 1e-6)
