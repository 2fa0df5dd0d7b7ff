# SPDX-License-Identifier: BSD-3-Clause
"""The placement probe: before the program, the same launcher starts a small one that reports where each rank is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from reframe.core.builtins import run_before
from reframe.core.exceptions import SanityError
from reframe.core.pipeline import RegressionTestPlugin

from fabric_checks.analysis import placement
from fabric_checks.core.errors import OutputError, PlacementError
from fabric_checks.parsers import placement as parser


class PlacementMixin(RegressionTestPlugin):
    """Run the placement probe first and fail unless the ranks ran where they were asked to, on a core each.

    A partition whose nodes have fewer cores than ``extras['cores']`` says, as on a test machine, has
    ``extras['oversubscribed']``: there ranks may share cores.

    Needs: ``current_layout`` (:class:`LayoutMixin`); before the phase ``run``, ``placement_probe``, the path of the
    probe.
    """

    #: The nodes that the launches ran on, that of the first rank first; known when the placement is verified.
    hosts = ()
    _ranks_of: Mapping[str, Sequence[parser.RankPlace]] = MappingProxyType({})

    @property
    def ranks(self) -> Sequence[parser.RankPlace]:
        """The places of the ranks of the launch that the check speaks of; none before its placement is verified."""
        return self._ranks_of.get(str(self.current_layout), ())

    @property
    def probe_output(self):
        """The name of the file with what the probe saw, in the stage folder."""
        return "placement.txt"

    @run_before("run")
    def probe_placement(self):
        """Start the probe by the same launcher as the program; without a placement the program is not started."""
        # ReFrame hands these to the job only after this hook.
        self.job.num_tasks = self.num_tasks
        self.job.num_tasks_per_node = self.num_tasks_per_node
        launch = self.job.launcher.run_command(self.job)
        self.prerun_cmds = [*self.prerun_cmds, f"{launch} {self.placement_probe} > {self.probe_output} || exit $?"]

    def verify_placement(self):
        """Note what the probe saw, and compare it with the layout.

        :raises SanityError: if it is not what was asked for.
        """
        path = Path(self.stagedir) / self.probe_output
        try:
            found = parser.parse(path.read_text(errors="replace"))
        except OSError as error:
            raise SanityError(f"placement probe: {path}: {error.strerror}") from None
        except OutputError as error:
            raise SanityError(f"placement probe: {path}: {error}{self.last_error_line()}") from None
        facts = self.facts
        facts.mpi, facts.compiler = found.mpi, found.compiler
        facts.nodelist = list(dict.fromkeys(rank.node for rank in found.ranks))
        facts.placement = [f"{rank.node}:{rank.cpus}" for rank in found.ranks]
        facts.binding = placement.binding(found.ranks)
        self._ranks_of = {**self._ranks_of, str(self.current_layout): found.ranks}
        self.hosts = tuple(dict.fromkeys((*self.hosts, *facts.nodelist)))
        oversubscribed = bool(self.current_partition.extras.get("oversubscribed"))
        try:
            placement.verify(found.ranks, self.current_layout, oversubscribed)
        except PlacementError as error:
            raise SanityError(f"placement: {error}") from None
