# SPDX-License-Identifier: BSD-3-Clause
"""The base of the checks of our own programs."""

from pathlib import Path

from reframe.core.builtins import run_after, run_before, variable

from fabric_checks.core.levels import Levels
from fabric_checks.ports import expected_bytes

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
        facts.program, facts.program_version, facts.stack = f"fabric-checks {self.own_program}", "1", "built"

    def command(self):
        """Run the program that was built for this environment; of two options of one name the last counts."""
        own = self.partition_options(self.own_program)
        return [str(Path(self.fabric_programs.stagedir) / self.own_program), *self.arguments(), *own]

    @run_before("run")
    def require_program(self):
        """Fail with the compiler's first error if the program was not built."""
        if not self.is_dry_run():
            self.fabric_programs.require_program(self.own_program)

    def moved_B(self, text):
        """Return the bytes that the program prints, if each rank has its own node: it does not know who shares one."""
        return expected_bytes.stated_B(text) if self.current_layout.ppn == 1 else None
