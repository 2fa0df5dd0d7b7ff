# SPDX-License-Identifier: BSD-3-Clause
"""Cross-section bandwidth: what the fabric gives when every node talks at once."""

from reframe.core.builtins import parameter, run_after

from fabric_checks.diagnosis.cross_section.metrics import METRICS, OF_SWITCHES
from fabric_checks.parsers import rotate_patterns
from fabric_checks.ports import expected_bytes
from fabric_checks.reframe_ext.mixins import TopologyMixin, layouts

from ..registration import check
from .base import OwnProgram


@check()
class Rotate(TopologyMixin, OwnProgram):
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
    #: The medians within and between switches, once they are known.
    of_switches = {}
    #: On links of 1 Gbit/s the rounds that confirm a node at half rate take nine minutes.
    time_limit = "20m"

    @run_after("init")
    def keep_short(self):
        """Count the pattern that looks at every node both ways among the short checks; a vet goes by it."""
        self.short = self.pattern == "round-robin"
        if self.short and not hasattr(self, "counterparts"):  # a comparison of layouts is no vet
            self.tags = {*self.tags, "vet"}

    def arguments(self):
        few = ["--shifts", str(rotate_patterns.nightly_rounds(self.num_tasks))] if self.short else []
        return ["--pattern", self.pattern, *few, "--confirm"]

    def metrics(self):
        """Declare what every run has, and behind it what this one has because the switches of its nodes are known."""
        return [*METRICS, *(metric for metric in OF_SWITCHES if metric.name in self.of_switches)]

    def measure(self, text):
        # Only a run: a ReFrame of one's own may lack NumPy, and is to list this and run the rest.
        from fabric_checks.diagnosis.cross_section import evaluation  # noqa: PLC0415  (NumPy, which may be missing)

        output = evaluation.read(text, self.pattern)
        known, doubts = self.known_fabric(output.hosts)
        self.report = evaluation.of_run(output, self.link_MBps, known)
        self.facts.findings = [*self.report.notes(), *doubts]
        # Of launches that are compared, one may know of switches and the other not.
        self.of_switches = self.report.of_switches if len(self.launches) == 1 else {}
        declared = {metric.name for metric in self.metrics()}
        return {name: value for name, value in self.report.metrics().items() if name in declared}

    def moved_B(self, text):
        output = self.report.output
        pairs = [pair for phase in output.phases.values() for pair in zip(phase.sender, phase.receiver, strict=True)]
        return expected_bytes.rotate_B(output.header.get("options", ""), output.hosts, pairs)

    @property
    def link_MBps(self):
        """The rate of a link as the partition's extras give it, or None: then as the fastest pairs show it."""
        return self.current_partition.extras.get("link_MBps")
