# SPDX-License-Identifier: BSD-3-Clause
"""The base of every check that runs something."""

from pathlib import Path

import reframe as rfm
from reframe.core.builtins import fixture, run_after, run_before

from fabric_checks.reframe_ext.internals import without_deprecated_alias
from fabric_checks.reframe_ext.mixins import (
    CostMixin,
    HostLockMixin,
    JobMixin,
    LayoutMixin,
    PerflogMixin,
    PlacementMixin,
    ReferencesMixin,
    ResultsMixin,
)

from .builds import FabricPrograms


@without_deprecated_alias
class FabricCheck(
    LayoutMixin,
    PlacementMixin,
    JobMixin,
    ReferencesMixin,
    ResultsMixin,  # ReFrame runs the hooks of the last of these first: it begins the facts that the others fill
    CostMixin,
    PerflogMixin,
    HostLockMixin,
    rfm.RunOnlyRegressionTest,
):
    """One launch of one program in one layout, with declared metrics, verified placement and references.

    Subclasses say in ``command()`` what is run: a list of the executable and its options. It is asked for once for each
    launch, so it goes by ``place`` and ``num_tasks`` and changes nothing.
    """

    fabric_programs = fixture(FabricPrograms, scope="environment")
    require_reference = True
    sourcesdir = None
    time_limit = "10m"
    maintainers = ["fabric-checks"]

    @run_after("setup", always_last=True)
    def set_command(self):
        """Run what the check's ``command()`` says: the executable, and its options."""
        self.executable, *self.executable_opts = self.command()

    def around_launch(self):
        """Return the commands before and behind a launch: two lists of shell commands, none by default.

        What stands behind it keeps its exit status.
        """
        return [], []

    @run_before("run", always_last=True)
    def wrap_launch(self):
        """Put the commands around the job's own launch, behind the placement probe."""
        before, behind = self.around_launch()
        self.prerun_cmds = [*self.prerun_cmds, *before]
        self.postrun_cmds = [*behind, *self.postrun_cmds]

    @property
    def placement_probe(self):
        """The path of the placement probe that was built for this environment."""
        return Path(self.fabric_programs.stagedir) / "placement"
