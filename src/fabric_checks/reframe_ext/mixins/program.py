# SPDX-License-Identifier: BSD-3-Clause
"""The program of a check, which the environment declares; the check does not know its origin."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

from reframe.core.builtins import run_after, run_before
from reframe.core.exceptions import SanityError
from reframe.core.pipeline import RegressionTestPlugin

from fabric_checks.core.errors import OutputError
from fabric_checks.core.extras import EnvironExtras
from fabric_checks.software.suite import folder_of


class ProgramMixin(RegressionTestPlugin):
    """Find the program of a suite in the environment.

    An environment that offers a suite has its name among the features, and declares under
    ``extras['programs'][suite]``: ``program`` (its name in results), ``version``, ``stack`` (wheels, spack,
    modules) and the keys that the suite's checks need to call it. A Spack build is known only in the session,
    so there ``{view}`` stands for the view of the built environment.

    Needs: ``command()``; ``fabric_programs`` with ``resolved(suite, folder)``, the folder with its shell
    variables replaced; ``verify_placement()`` (:class:`PlacementMixin`); ``container``; of ``built``, if it
    is not None, ``view``, ``note(facts)`` and ``contradiction()``.
    """

    #: The suite that the check's program belongs to; a feature of the environment.
    suite = ""

    #: The fixture that builds the suite (``built_by_spack`` in ``checks/builds.py``); absent or None if
    #: nothing does.
    built: Any

    #: Features of the suite that the environment has to have, too.
    needs: tuple[str, ...] = ()

    @classmethod
    def needed(cls) -> tuple[str, ...]:
        """Return the features that an environment has to have: the suite, and what the check needs of it."""
        return ("mpi", cls.suite, *cls.needs)

    def note_version(self, program, version):
        """Compare the program that the output names with the environment, and record its version.

        :param program: the name that the output's form stands for, such as ``osu`` or ``osu-py``.
        :param version: the version that the output states, or None if it states none.
        :raises OutputError: if the environment offers another program.
        """
        if program != self.program["program"]:
            raise OutputError(
                f"this is the output of {program}, but the environment offers {self.program['program']}"
            )
        if version:
            self.facts.program_version = version

    @cached_property
    def program(self) -> dict[str, Any]:
        """The environment's description of the suite, with the view of a Spack build."""
        described = EnvironExtras.of(self.current_environ).programs[self.suite]
        built = getattr(self, "built", None)
        if built is None:
            return described
        return {
            key: value.replace("{view}", str(built.view))
            if isinstance(value, str)
            else value
            for key, value in described.items()
        }

    @run_after("setup")
    def find_program(self):
        """Note the program that the environment names."""
        facts, program = self.facts, self.program
        facts.program, facts.program_version = program["program"], program["version"]
        facts.stack = program["stack"]

    @run_before("run")
    def look_for_program(self):
        """Skip the case if the folder of the suite's programs is there without its program.

        An older MPI cannot have some: OSU's persistent collectives need MPI 4. A folder that is only on the
        compute nodes, or in an image, is not looked at.
        """
        if self.container:
            return  # its folders are not those of this host
        folder = folder_of(self.program)
        found = self.fabric_programs.resolved(self.suite, folder)
        program = self.command()[0]
        if (
            found
            and Path(found).is_dir()
            and not Path(program.replace(folder, found, 1)).exists()
        ):
            self.skip(f"not in {found}")

    def verify_placement(self):
        """Compare the MPI of the placement probe with the one that Spack built the program for.

        :raises SanityError: if it is another one, such as one that was upgraded in place.
        """
        super().verify_placement()
        wrong = (
            self.built.contradiction(self.facts.mpi)
            if self.program["stack"] == "spack"
            else None
        )
        if wrong:
            raise SanityError(wrong)

    @run_before("sanity")
    def note_build(self):
        """Record the concretized spec and its hash, which go with every value of a Spack build."""
        if self.program["stack"] == "spack":
            self.built.note(self.facts)
