# SPDX-License-Identifier: BSD-3-Clause
"""The latency of every pair: which nodes are near each other."""

from reframe.core.builtins import variable

from fabric_checks.core import families
from fabric_checks.core.levels import Levels
from fabric_checks.diagnosis.latency_map.metrics import METRICS
from fabric_checks.parsers import rotate_patterns
from fabric_checks.reframe_ext.mixins import layouts, optional

from ..registration import check
from .base import OwnProgram

#: The program's own, where a check sets nothing else.
PASSES = 2


@check()
class LatencyMap(OwnProgram):
    """Small-message latency of every pair, which nodes are near each other, and which are misplaced.

    All pairs by ping-pong, in the rounds of a tournament, each pair several times and from both ends. A hop
    more or less shows here, and in no bandwidth: two interchanged hosts, a route with one switch too many.
    """

    descr = "Latency of all pairs"
    ranks_between_nodes = "node"
    layout = layouts("several", ranks=ranks_between_nodes, most=8192)
    own_program = "latency_map"
    needs_whole_fabric = True
    packages = ("polars", "numpy", "scipy")
    packages_for = "to find groups of nodes and chance in the matrix of pairs"
    tags = {"fabric", "cross-section"}
    family = families.LATENCY_MAP
    levels = Levels(nightly=True, procurement=True)
    uses_topology = True
    #: The most rounds that are measured (``--shifts``): the output has a row for each pair.
    #:
    #: :type: :class:`int`
    #: :default: ``1024``
    most_rounds = variable(int, value=1024)

    #: The message size, in bytes (``--size``).
    #:
    #: :type: :class:`int`
    #: :default: ``8``
    message_B = variable(int, value=8)

    #: Ping-pongs of a sample, samples of a pair in a round, and passes through all rounds.
    #:
    #: :type: :class:`int` or :obj:`None`
    #: :default: ``None``: the program's own
    repetitions = optional(int)
    samples = optional(int)
    passes = optional(int)

    settings = {
        "most_rounds": "",
        "message_B": "--size",
        **{name: f"--{name}" for name in ("repetitions", "samples", "passes")},
    }

    def scan_rounds(self):
        """Return how many rounds a pass has: all, or as many as the output holds."""
        if self.num_tasks <= self.most_rounds:
            return rotate_patterns.all_rounds("round-robin", self.num_tasks)
        of_rows = rotate_patterns.most_rounds("round-robin", self.num_tasks)
        return min(self.most_rounds, max(1, of_rows // (self.passes or PASSES)))

    def expected(self, _):
        """Return the time of the scan, of which latency is too small a part to count, and its output."""
        ranks, rounds = self.num_tasks, self.scan_rounds()
        row = f"0 {rounds} {ranks} {ranks} 1.23456 1.12345\n"
        rows = (self.passes or PASSES) * rounds * (ranks // 2)
        from fabric_checks.records.cost import Expected  # noqa: PLC0415  (packages that may be missing)

        return Expected(0.0, rows * len(row))

    def arguments(self):
        rounds = self.scan_rounds()
        is_part = rounds < rotate_patterns.all_rounds("round-robin", self.num_tasks)
        return ["--shifts", str(rounds)] if is_part else []

    def metrics(self):
        return list(METRICS)

    def measure(self, text):
        # Only in a run: a site's own ReFrame may lack NumPy, and has to list this check and run the others.
        from fabric_checks.diagnosis.latency_map import evaluation  # noqa: PLC0415  (NumPy, which may be missing)

        output = evaluation.read(text)
        known, notes = self.known_fabric(output.hosts)
        report = evaluation.of_run(output, known)
        self.facts.findings = [
            *(each.as_dict() for each in report.all_findings()),
            *notes,
        ]
        self.facts.limits = dict(report.limits)
        return report.metrics()
