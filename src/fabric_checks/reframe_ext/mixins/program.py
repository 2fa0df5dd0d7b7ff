# SPDX-License-Identifier: BSD-3-Clause
"""Where a check's program comes from: the environment says, the check does not know."""

from __future__ import annotations

from reframe.core.builtins import run_after, run_before, variable
from reframe.core.exceptions import SanityError
from reframe.core.pipeline import RegressionTestPlugin

from fabric_checks.core.errors import OutputError


class ProgramMixin(RegressionTestPlugin):
    """Find the program of a suite in the environment.

    An environment that offers a suite has its name among the features, and says under ``extras['programs'][suite]``:
    ``program`` (the name that results carry), ``version``, ``stack`` (wheels, spack, modules) and whatever the
    suite's checks need to call it. What Spack builds is known only in the session, so there ``{view}`` stands for the
    view of the built environment.

    Needs: ``built``, the fixture that builds the suite, with ``view``, ``note(facts)``, ``doubts()`` and
    ``contradiction()``, or None where no environment of the current system has it built;
    ``verify_placement()`` (:class:`PlacementMixin`).
    """

    #: The suite that the check's program belongs to; a feature of the environment.
    #:
    #: :type: :class:`str`
    #: :default: required
    suite = variable(str)

    #: What the environment has to offer beside the suite: features that the suite declares.
    needs: tuple[str, ...] = ()

    @run_after("init")
    def ask_for_suite(self):
        """Run in every environment that offers what the check needs."""
        self.valid_prog_environs = [" +".join(["+mpi", self.suite, *self.needs])]

    def note_version(self, program, version):
        """Hold what the output says of its program against the environment, and record its version.

        :param program: the name that the output's form stands for, such as ``osu`` or ``osu-py``.
        :param version: the version that the output states, or None if it states none.
        :raises OutputError: if the environment offers another program.
        """
        if program != self.program["program"]:
            raise OutputError(f"this is the output of {program}, but the environment offers {self.program['program']}")
        if version:
            self.facts.program_version = version

    @run_after("setup")
    def find_program(self):
        """Take over the environment's description of the suite."""
        self.program = dict(self.current_environ.extras["programs"][self.suite])
        if self.built is not None:
            view = str(self.built.view)
            self.program |= {k: v.replace("{view}", view) for k, v in self.program.items() if isinstance(v, str)}
        facts = self.facts
        facts.program, facts.program_version = self.program["program"], self.program["version"]
        facts.stack = self.program["stack"]

    def verify_placement(self):
        """Hold the MPI that the probe met to the one that Spack built the program for.

        :raises SanityError: if it is another one, such as one that was upgraded in place.
        """
        super().verify_placement()
        wrong = self.built.contradiction(self.facts.mpi) if self.program["stack"] == "spack" else None
        if wrong:
            raise SanityError(wrong)

    @run_before("sanity")
    def note_build(self):
        """Record what Spack built: the concretized spec and its hash go with every value."""
        if self.program["stack"] == "spack":
            self.built.note(self.facts)

    @run_before("performance")
    def note_doubts(self):
        """Record what is unknown about what Spack built, after what the analysis has found."""
        if self.program["stack"] == "spack" and self.built.doubts():
            self.facts.findings = [*(self.facts.findings or []), *self.built.doubts()]
