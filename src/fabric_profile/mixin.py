# SPDX-License-Identifier: BSD-3-Clause
"""A check whose program is profiled: its MPI calls are recorded in place of the check's own values."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from reframe.core.builtins import run_after, variable
from reframe.core.exceptions import SanityError
from reframe.core.pipeline import RegressionTestPlugin

from fabric_checks.core.errors import OutputError
from fabric_checks.core.metrics import Metric
from fabric_checks.records.record import SIMULATED

# Only a run that profiles needs them.
# ruff: noqa: PLC0415
if TYPE_CHECKING:
    from fabric_profile.profile import Profile

#: The file with the profile, in the stage folder.
FILE = "profile.txt"


class ProfileMixin(RegressionTestPlugin):
    """Profile the check's program, if ``profile`` is set, as by ``ci/run --profile`` or ``-S profile=true``.

    The output passes the check's own sanity, but the metrics of the profile are recorded: timings under a
    profiler are no values of the check. A comparison of several launches is not profiled, nor is a
    simulation, all of whose ranks are one process.

    Needs: ``metrics()`` and ``launches`` from the start; before the phase ``run``, ``profile_library``, the
    path of the library.
    """

    #: Whether the program is profiled.
    #:
    #: :type: :class:`bool`
    #: :default: ``False``
    profile = variable(bool, value=False)

    def recorded_metrics(self) -> list[Metric]:
        """Return the metrics that go into the record."""
        if not self.profile:
            return list(self.metrics())
        from fabric_profile import evaluation

        return list(evaluation.METRICS)

    def recorded_values(self, values: dict[str, float]) -> dict[str, float]:
        """Return the values that go into the record.

        :param values: those of the check.
        :raises SanityError: if there is no profile, or none that is whole.
        """
        if not self.profile:
            return values
        from fabric_profile import evaluation

        return evaluation.values(self._read_profile())

    @run_after("setup")
    def skip_what_has_no_profile(self):
        """Skip the case where ranks are no processes, and where several launches are compared."""
        if self.profile and len(self.launches) > 1:
            self.skip(
                "several launches are compared here; profile a check with a single launch"
            )
        if self.profile and SIMULATED in self.current_partition.features:
            self.skip(
                "a simulation is not profiled: all of its ranks are in one process"
            )

    def profiled(self, words: list[str]) -> list[str]:
        """Return a command line that profiles that of the check.

        :param words: an executable and its options.
        """
        if not self.profile:
            return words
        return [
            "env",
            f"LD_PRELOAD={self.profile_library}",
            f"FABRIC_PROFILE={FILE}",
            *words,
        ]

    @run_after("setup")
    def keep_profile(self):
        """Keep the file with the output."""
        if self.profile:
            self.keep_files = [*self.keep_files, FILE]

    def _read_profile(self) -> Profile:
        from fabric_profile import profile as parser

        path = Path(self.stagedir) / FILE
        try:
            return parser.parse(path.read_text(errors="replace"), self.num_tasks)
        except FileNotFoundError:
            raise SanityError(
                f"{path}: no profile was written: the program did not reach MPI_Finalize, or its MPI is"
                " another one, or its Fortran calls bypass the library, as with Open MPI"
            ) from None
        except OutputError as error:
            raise SanityError(f"{path}: {error}") from None
