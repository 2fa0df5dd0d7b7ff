# SPDX-License-Identifier: BSD-3-Clause
"""The base of the checks of our own programs."""

from pathlib import Path

from reframe.core.builtins import run_after, run_before, variable

from fabric_checks.core.levels import Levels
from fabric_checks.ports import expected_bytes
from fabric_checks.reframe_ext.mixins import SizesMixin, optional

from ..base import FabricCheck


class OwnProgram(FabricCheck):
    """One of the programs in ``checks/fabric/src``, built for the environment.

    Needs ``arguments()``, the program's command line.
    """

    #: The name of the program.
    #:
    #: :type: :class:`str`
    #: :default: required
    own_program = variable(str)

    needs = ("mpi", "mpicc")
    levels = Levels(procurement=True)

    @run_after("setup")
    def note_program(self):
        """Note that it is one of ours."""
        facts = self.facts
        facts.program = f"fabric-checks {self.own_program}"
        facts.program_version = "1"
        facts.stack = "built"

    def command(self):
        """Run the program that was built for this environment; of two options of one name the last counts."""
        program = str(Path(self.fabric_programs.stagedir) / self.own_program)
        return [
            program,
            *self.arguments(),
            *self.setting_options,
            *self.further_options(self.own_program),
        ]

    @run_before("run")
    def require_program(self):
        """Fail with the compiler's first error if the program was not built."""
        if not self.is_dry_run():
            self.fabric_programs.require_program(self.own_program)

    def moved_B(self, text):
        """Return the bytes that the program prints, if each rank has its own node: it does not know who
        shares one."""
        return expected_bytes.stated_B(text) if self.current_layout.ppn == 1 else None


class Sweep(SizesMixin, OwnProgram):
    """A program that goes through message sizes, and at each of them samples until the median is known.

    Subclasses declare ``range_B``.
    """

    #: Seconds after which a point ends, however well its median is known (``--max-seconds-per-point``).
    #:
    #: :type: :class:`float` or :obj:`None`
    #: :default: ``None``: the program's own; of some checks less
    seconds_per_point = optional(float)

    #: Repetitions before the first sample of a point (``--warmup``).
    #:
    #: :type: :class:`int` or :obj:`None`
    #: :default: ``None``: the program's own
    warmup = optional(int)

    settings = {"seconds_per_point": "", "warmup": "--warmup"}
    powers_only = True

    def arguments(self):
        """Return the sizes, and the time of a point."""
        first, last = str(self.sizes_B[0]), str(self.sizes_B[-1])
        words = ["--min-size", first, "--max-size", last]
        if self.seconds_per_point is not None:
            words += ["--max-seconds-per-point", str(self.seconds_per_point)]
        return words
