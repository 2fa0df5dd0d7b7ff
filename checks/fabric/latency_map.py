# SPDX-License-Identifier: BSD-3-Clause
"""The latency of every pair: which nodes are near each other."""

from reframe.core.builtins import variable

from fabric_checks.core import families
from fabric_checks.core.levels import Levels
from fabric_checks.diagnosis.latency_map.metrics import METRICS
from fabric_checks.reframe_ext.mixins import layouts, optional

from ..registration import check
from .base import OwnProgram


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

    def arguments(self):
        return (
            ["--shifts", str(self.most_rounds)]
            if self.num_tasks > self.most_rounds
            else []
        )

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
