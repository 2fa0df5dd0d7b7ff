# SPDX-License-Identifier: BSD-3-Clause
"""The placement probe: before the program, the same launcher starts a small one that reports where each rank is."""

from __future__ import annotations

from pathlib import Path

from reframe.core.builtins import run_before
from reframe.core.exceptions import SanityError
from reframe.core.pipeline import RegressionTestPlugin

from fabric_checks import placement
from fabric_checks.errors import OutputError, PlacementError
from fabric_checks.parsers import placement as parser

PROBE_OUTPUT = "placement.txt"


class PlacementMixin(RegressionTestPlugin):
    """Run the placement probe first and fail unless the ranks ran where they were asked to.

    Needs: ``place`` (:class:`LayoutMixin`); before the phase ``run``, ``placement_probe``, the path of the probe.
    """

    @run_before("run")
    def probe_placement(self):
        """Start the probe by the same launcher as the program; without a placement the program is not started."""
        # ReFrame hands these to the job only after this hook.
        self.job.num_tasks = self.num_tasks
        self.job.num_tasks_per_node = self.num_tasks_per_node
        launch = self.job.launcher.run_command(self.job)
        self.prerun_cmds = [*self.prerun_cmds, f"{launch} {self.placement_probe} > {PROBE_OUTPUT} || exit $?"]

    def verify_placement(self):
        """Compare what the probe saw with the layout, and note it.

        :raises SanityError: if it is not what was asked for.
        """
        path = Path(self.stagedir) / PROBE_OUTPUT
        try:
            found = parser.parse(path.read_text(errors="replace"))
            placement.verify(found.ranks, self.place)
        except OSError as error:
            raise SanityError(f"placement probe: {path}: {error.strerror}") from None
        except OutputError as error:
            raise SanityError(f"placement probe: {path}: {error}{self.last_error_line()}") from None
        except PlacementError as error:
            raise SanityError(f"placement: {error}") from None
        self.facts |= {
            "mpi": found.mpi,
            "compiler": found.compiler,
            "placement": [f"{rank.node}:{rank.cpus}" for rank in found.ranks],
        }
