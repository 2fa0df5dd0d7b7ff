# SPDX-License-Identifier: BSD-3-Clause
"""Verify the placement of the ranks by a probe before each launch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from reframe.core.builtins import run_before
from reframe.core.exceptions import SanityError
from reframe.core.pipeline import RegressionTestPlugin

from fabric_checks.core.errors import OutputError, PlacementError

# Modules that read and judge a job's files are imported after the job: a listing needs none of them.
# ruff: noqa: PLC0415
if TYPE_CHECKING:
    from fabric_checks.parsers.placement import RankPlace


class PlacementMixin(RegressionTestPlugin):
    """Verify the placement of the ranks.

    Before the program, the same launcher starts a small probe that reports the node and CPUs of each rank;
    the case fails unless they match the layout, with a core for each rank. A partition whose nodes have fewer
    cores than ``extras['cores']``, as on a test machine, has ``extras['oversubscribed']``: there ranks may
    share cores.

    Needs: ``facts``, ``with_cause()`` (:class:`RecordMixin`), ``current_layout`` (:class:`LayoutMixin`);
    before the phase ``run``, ``placement_probe``, the path of the program; ``of_image()``
    (:class:`ContainerMixin`).
    """

    _ranks_of: Mapping[str, Sequence[RankPlace]] = MappingProxyType({})

    @property
    def ranks(self) -> Sequence[RankPlace]:
        """Node and CPUs of each rank of the current launch; none before its placement is verified."""
        return self._ranks_of.get(str(self.current_layout), ())

    @property
    def probe_output(self):
        """The file with the output of the placement probe, in the stage folder."""
        return f"placement{self.launch_suffix}.txt"

    @run_before("run")
    def probe_placement(self):
        """Start the probe by the same launcher as the program; without a placement the program is not
        started."""
        # ReFrame passes these to the job only after this hook.
        self.job.num_tasks = self.num_tasks
        self.job.num_tasks_per_node = self.num_tasks_per_node
        launch = self.job.launcher.run_command(self.job)
        self.prerun_cmds = [
            *self.prerun_cmds,
            f"{launch} {self.placement_probe} > {self.probe_output} || exit $?",
        ]

    def verify_placement(self):
        """Record the output of the placement probe, and compare it with the layout.

        :raises SanityError: if the two differ.
        """
        from fabric_checks.analysis import placement
        from fabric_checks.parsers import placement as placement_parser

        path = Path(self.stagedir) / self.probe_output
        try:
            found = placement_parser.parse(path.read_text(errors="replace"))
        except (OSError, OutputError) as error:
            why = getattr(error, "strerror", error)
            what = self.with_cause(f"placement probe: {path}: {why}")
            raise SanityError(what) from None
        facts = self.facts
        facts.mpi, facts.compiler = found.mpi, found.compiler
        facts.nodelist = list(dict.fromkeys(rank.node for rank in found.ranks))
        facts.placement = [f"{rank.node}:{rank.cpus}" for rank in found.ranks]
        facts.binding = placement.binding(found.ranks)
        self._ranks_of = {**self._ranks_of, str(self.current_layout): found.ranks}
        oversubscribed = self.extras.oversubscribed
        try:
            placement.verify(found.ranks, self.current_layout, oversubscribed)
        except PlacementError as error:
            raise SanityError(self.of_image(f"placement: {error}")) from None
