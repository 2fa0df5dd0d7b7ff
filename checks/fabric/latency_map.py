# SPDX-License-Identifier: BSD-3-Clause
"""The latency of every pair: who is near whom."""

import reframe  # noqa: F401  (without a word, ReFrame passes over files that do not import it)

from fabric_checks.diagnosis.latency_map.metrics import METRICS
from fabric_checks.reframe_ext.mixins import TopologyMixin, layouts

from ..registration import check
from .base import OwnProgram


@check()
class LatencyMap(TopologyMixin, OwnProgram):
    """Small-message latency of every pair, which nodes are near each other, and which are not where they should be.

    All pairs by ping-pong, in the rounds of a tournament, each pair several times and from both ends. A hop more or
    less shows here, and in no bandwidth: two hosts in each other's place, a way over one switch too many.
    """

    descr = "Latency of all pairs"
    layout = layouts("several")
    own_program = "latency_map"
    packages = ("polars", "numpy", "scipy")
    packages_for = "to find groups of nodes and chance in the matrix of pairs"
    tags = {"fabric", "cross-section"}
    short = True
    #: Beyond so many ranks only so many rounds are measured: the output has a row for each pair.
    most_rounds = 1024

    def arguments(self):
        return ["--shifts", str(self.most_rounds)] if self.num_tasks > self.most_rounds else []

    def metrics(self):
        return list(METRICS)

    def measure(self, text):
        # Only a run: a ReFrame of one's own may lack NumPy, and is to list this and run the rest.
        from fabric_checks.diagnosis.latency_map import evaluation  # noqa: PLC0415  (NumPy, which may be missing)

        output = evaluation.read(text)
        known, doubts = self.known_fabric(output.hosts)
        self.report = evaluation.of_run(output, known)
        self.facts.findings = [*self.report.notes(), *doubts]
        return self.report.metrics()
