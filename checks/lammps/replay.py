# SPDX-License-Identifier: BSD-3-Clause
"""LAMMPS on a simulated cluster: traces of it, replayed."""

import sys

from reframe.core.backends import getlauncher
from reframe.core.builtins import parameter, run_after, run_before

from fabric_checks.analysis import ppn_series
from fabric_checks.core import families
from fabric_checks.core.extras import EnvironExtras
from fabric_checks.core.levels import Levels
from fabric_checks.core.metrics import Metric
from fabric_checks.core.paths import ROOT
from fabric_checks.reframe_ext.mixins import whole_partitions
from fabric_twins import replay_table

from ..base import FabricCheck
from ..registration import check
from .base import note_compared

#: The ranks of the traces.
RANKS = (1, 2, 4, 8, 16, 32)
#: On all nodes of a partition, with two processes on each.
LARGEST = [
    str(layout)
    for layout in whole_partitions()
    if layout.ppn == 2 and layout.tasks in RANKS
]


@check(compare=False)
class LammpsReplay(FabricCheck):
    """Run time, efficiency and gap between one process a node and two, over the nodes: predicted by replay.

    Source: SAND2005-5199, section 6, Figures 15 and 16. The traces have some time steps of 32,000 atoms in
    all, whose computation took what it did on the traced machine; ``rhodo`` stands for the report's own
    second problem.
    """

    descr = "LAMMPS bench, replayed, by processes a node, over the nodes"
    problem = parameter(["lj", "rhodo"], type=str)
    layout = parameter(LARGEST, type=str)
    tags = {"lammps", "applications"}
    family = families.APPLICATIONS
    levels = Levels(nightly={"problem": ["lj"]})
    needs = ("replay",)

    @property
    def replayed(self):
        """The layouts that are replayed: one process a node and two, on 1, 2, 4 ... and on all nodes."""
        return ppn_series.launches(self.current_layout)

    @run_after("setup")
    def note_program(self):
        """Note that it is a program of ours, which replays."""
        facts = self.facts
        facts.program = "fabric-checks replay-series"
        facts.program_version = "1"
        facts.stack = "built"

    @run_after("setup")
    def unpack_traces(self):
        """Unpack the traces into the stage folder."""
        archive = f"{EnvironExtras.of(self.current_environ).traces}/lammps-{self.problem}.tar.xz"
        self.prerun_cmds = [f"{sys.executable} -m tarfile -e {archive} ."]

    @run_before("run")
    def probe_placement(self):
        """Start the probe by the launcher, and the program without it."""
        super().probe_placement()
        self.job.launcher = getlauncher("local")()

    def command(self):
        """Replay each layout in a simulation of its own."""
        words = [
            sys.executable,
            str(ROOT / "ci/bin/fabric-checks"),
            "replay",
            self.problem,
        ]
        return [*words, '"$FABRIC_TWIN"', "--table"]

    def metrics(self):
        declared = ppn_series.metrics(self.current_layout)
        return [
            *declared,
            *(
                Metric(
                    f"communication_share_{each}",
                    "%",
                    "smaller",
                    about="Share of the replayed time in communication",
                )
                for each in self.replayed
            ),
        ]

    def measure(self, text):
        found = replay_table.parse(text, self.replayed)
        times_s = {layout: each.run_s for layout, each in found.items()}
        note_compared(self.facts, times_s)
        values = ppn_series.values(times_s, scaled=False)
        return values | {
            f"communication_share_{layout}": each.communication_percent
            for layout, each in found.items()
        }
