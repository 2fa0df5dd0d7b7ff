# SPDX-License-Identifier: BSD-3-Clause
"""The base of the checks of the Intel MPI Benchmarks."""

from dataclasses import replace

from fabric_checks import parsers
from fabric_checks.reframe_ext.mixins import ProgramMixin, SizesMixin, optional

from ..base import FabricCheck
from ..builds import built_by_spack
from ..tables import Curve, Tables

TIME = Curve(
    "time",
    "us",
    "smaller",
    "time_us",
    about="t[usec], averaged over the processes; of PingPong half the round trip",
)
BANDWIDTH = Curve(
    "bandwidth",
    "MB/s",
    "larger",
    "bandwidth_MBps",
    about="Bandwidth as IMB counts it: of a pair, or of a process in a ring",
)
ONE_WAY = replace(BANDWIDTH, one_way=True)


class ImbProgram(Tables, SizesMixin, ProgramMixin, FabricCheck):
    """One benchmark of IMB, all message sizes in one launch.

    Source: Intel MPI Benchmarks user guide. Subclasses declare ``imb_program``, ``benchmark``, ``curves``,
    and in ``needs`` the features that the environment has to have in addition to ``imb``.
    """

    #: Iterations at most, at each message size (``-iter``).
    #:
    #: :type: :class:`int` or :obj:`None`
    #: :default: ``None``: 20 to 5000, by benchmark
    iterations = optional(int)

    #: MiB at most that they move at one message size (``-iter``).
    #:
    #: :type: :class:`int` or :obj:`None`
    #: :default: ``None``: 1 to 200, by benchmark
    overall_MiB = optional(int)

    settings = {"iterations": "", "overall_MiB": ""}
    suite = "imb"
    built = built_by_spack("imb")
    range_B = (8, 2**20)
    powers_only = True
    #: Whether the table begins with a row of empty messages.
    has_zero = True
    #: Iterations at most, and MiB at most that they move at one size.
    repetitions = (200, 10)

    @property
    def least_B(self):
        """Reductions and accumulates are of 4-byte floats."""
        return (
            4
            if any(each in self.benchmark.lower() for each in ("reduce", "accumulate"))
            else 1
        )

    def steps_B(self, first_B, last_B):
        """Return the message sizes of a range; IMB leaves out those below a float."""
        return super().steps_B(max(first_B, self.least_B), last_B)

    @property
    def rows_B(self):
        """The message sizes of the table's rows."""
        return [0, *self.sizes_B] if self.has_zero else self.sizes_B

    def command(self):
        """Ask for the sizes, and for all processes only: IMB would go through 2, 4, 8, ... of them.

        IMB refuses an option that comes twice.
        """
        program = self.program["command"].format(benchmark=self.imb_program)
        first, last = (size.bit_length() - 1 for size in self.asked_B)
        words = [
            program,
            self.benchmark,
            *self.buffers(),
            "-npmin",
            str(self.num_tasks),
            "-msglog",
            f"{first}:{last}",
        ]
        further = self.further_options("imb")
        if "-iter" not in further:
            count, volume_MiB = self.repetitions
            words += [
                "-iter",
                f"{self.iterations or count},{self.overall_MiB or volume_MiB}",
            ]
        return [*words, *further]

    def buffers(self):
        """Return the options that choose the memory of the buffers; the programs for the host's have none."""
        return []

    def read_rows(self, text, mode=None):
        """Return the rows of the one block there has to be."""
        output = parsers.imb.parse(
            text,
            self.benchmark,
            self.rows_B,
            self.num_tasks,
            program=self.imb_program,
            mode=mode,
        )
        self.note_version("imb", output.version)
        return output.rows

    def measure(self, text):
        values = {}
        for mode in dict.fromkeys(each.mode for each in self.curves):
            values |= self.values_of(self.read_rows(text, mode), mode)
        return values
