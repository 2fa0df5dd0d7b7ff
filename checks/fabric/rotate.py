# SPDX-License-Identifier: BSD-3-Clause
"""Cross-section bandwidth: what the fabric gives when every node talks at once."""

from reframe.core.builtins import parameter, run_after

from fabric_checks.analysis.cross_section.metrics import METRICS
from fabric_checks.analysis.ports import moved
from fabric_checks.parsers import rotate_patterns
from fabric_checks.reframe_ext.mixins import layouts

from ..registration import check
from .base import OwnProgram


@check()
class Rotate(OwnProgram):
    """Bandwidth of every pair while all pairs of a round run, and which node or path is slow.

    ``round-robin``: a tournament, of which a night has as many rounds as ``rotate`` does: every node sends and
    receives, and every leaf's way to every other one is measured in both directions. ``rotate``: one half of the nodes
    to the other, every shift; source: Naegle, cross-sectional bandwidth testing on Feynman and Rogue (e-mails of June
    2004). ``shift``: every node through every other, both ways at once, as in mpiGraph. ``bisection``: random
    matchings, as netgauge's effective bisection bandwidth. Slow pairs are measured again, with their neighbours and
    alone, before anything is blamed.
    """

    descr = "Cross-section bandwidth of all pairs"
    pattern = parameter(["round-robin", "rotate", "shift", "bisection"])
    layout = layouts("several")
    own_program = "rotate"
    packages = ("polars", "numpy", "scipy")
    packages_for = "to tell slow nodes, slow paths and chance apart in the matrix of pairs"
    tags = {"fabric", "cross-section"}
    #: On links of 1 Gbit/s the rounds that confirm a node at half rate take nine minutes.
    time_limit = "20m"

    @run_after("init")
    def keep_short(self):
        """Count the pattern that looks at every node both ways among the short checks."""
        self.short = self.pattern == "round-robin"

    def arguments(self):
        few = ["--shifts", str(rotate_patterns.nightly_rounds(self.num_tasks))] if self.short else []
        return ["--pattern", self.pattern, *few, "--confirm"]

    def metrics(self):
        return list(METRICS)

    def measure(self, text):
        # Only a run: a ReFrame of one's own may lack NumPy, and is to list this and run the rest.
        from fabric_checks.analysis.cross_section import evaluation  # noqa: PLC0415

        self.report = evaluation.of_text(text, self.pattern, self.link_MBps)
        self.facts.findings = self.report.notes()
        return self.report.metrics()

    def moved_B(self, text):
        output = self.report.output
        return moved.rotate_B(output.header.get("options", ""), sum(map(len, output.phases.values())))

    @property
    def link_MBps(self):
        """The rate of a link as the partition's extras give it, or None: then as the fastest pairs show it."""
        return self.current_partition.extras.get("link_MBps")

    def draw(self, folder):
        return self.pictures.cross_section(folder, f"{self.pattern}, {self.where}", self.report)
