# SPDX-License-Identifier: BSD-3-Clause
"""One process a node against more: a second check for every check, both launches in one allocation."""

from __future__ import annotations

from reframe.core.builtins import run_after

from fabric_checks.analysis import ppn_ratio
from fabric_checks.core.layouts import Layout
from fabric_checks.core.levels import SMOKE_NODES
from fabric_checks.core.metrics import Metric
from fabric_checks.reframe_ext.mixins.launches import LaunchesMixin


class PpnRatioMixin(LaunchesMixin):
    """Run a check in a layout with several processes a node and in its counterpart with one, and compare its metrics.

    The counterpart has as many nodes, or, where the program needs more processes than that, as many processes on a
    node each: :func:`fabric_checks.analysis.ppn_ratio.counterpart`. Every metric that exists at both is compared: by
    the ratio, or what can be 0, such as a share, by the difference.

    To be mixed in before a check, with ``counterparts``: the counterpart of each value of the parameter
    ``layout``.
    """

    @property
    def launches(self) -> list[Layout]:
        """The counterpart and the layout."""
        return [Layout.of(self.counterparts[self.layout]), Layout.of(self.layout)]

    @run_after("init")
    def tag_comparison(self):
        """Add the tag of comparisons."""
        self.tags = {*self.tags, "ppn-ratio"}

    @run_after("init", always_last=True)
    def tag_levels(self):
        """Take few comparisons for short: on few nodes, those of the values of ``benchmark`` in ``ppn_short``.

        Pairs that share a node's links are no corner of the layouts, but of interest.
        """
        short = getattr(self, "benchmark", None) in getattr(self, "ppn_short", ())
        on_few = max(layout.nodes for layout in self.launches) <= SMOKE_NODES
        self.tags = {*self.tags, "acceptance"} | ({"smoke", "nightly"} if short and on_few else set())

    def metrics(self) -> list[Metric]:
        """Declare a comparison for every metric that exists at both layouts; of one launch, the check's own metrics."""
        if self.launched:
            own: list[Metric] = super().metrics()
            return own
        return [comparison.metric for comparison in self._comparisons()]

    def _comparisons(self) -> list[ppn_ratio.Comparison]:
        declared = []
        for layout in self.launches:
            with self.launched_in(layout):
                declared.append(self.metrics())
        return ppn_ratio.comparisons(*declared)

    def measure(self, text: str) -> dict[str, float]:
        """Read both outputs, and compare."""
        values = {}
        for layout, output in self.outputs(text).items():
            with self.reading(layout):
                values[layout] = super().measure(output)
        # They are about one launch, and the check itself reports them.
        self.facts.findings = None
        compared = {}
        for comparison in self._comparisons():
            of = {str(layout): values[layout][comparison.of.name] for layout in self.launches}
            compared[comparison.metric.name] = comparison.value(of)
            self.facts.metrics[comparison.metric.name].compared = {
                "metric": comparison.of.name,
                "quantity": comparison.of.quantity,
                "unit": comparison.of.unit,
                "values": of,
            }
        return compared

    def draw(self, folder):
        """Draw nothing: the check itself draws its curves."""
        return []
