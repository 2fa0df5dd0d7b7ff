# SPDX-License-Identifier: BSD-3-Clause
"""One process a node against more: the layouts to compare, and the resulting values."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from fabric_checks.core.errors import OutputError
from fabric_checks.core.layouts import Layout
from fabric_checks.core.metrics import Metric, point

#: The end of the name of a comparing check.
SUFFIX = "PpnRatio"


def counterparts(
    own: Collection[Layout], fitting: Collection[Layout]
) -> dict[Layout, Layout]:
    """Return the layout with one process a node that each layout of a check is compared with, where there is
    one.

    It has as many nodes, if the check can run there, which shows the gain of more processes on the same
    nodes; otherwise as many processes, which shows the effect of sharing a node.

    :param own: the layouts of the check. :param fitting: all layouts of the system.

    >>> pair = [Layout(1, 2), Layout(2, 1)]
    >>> {str(layout): str(one) for layout, one in counterparts(pair, pair).items()}
    {'1x2': '2x1'}
    """
    found = {}
    for layout in own:
        on_the_nodes, as_many = Layout(layout.nodes, 1), Layout(layout.tasks, 1)
        if layout.ppn > 1 and (on_the_nodes in own or as_many in fitting):
            found[layout] = on_the_nodes if on_the_nodes in own else as_many
    return found


@dataclass(frozen=True)
class Comparison:
    """One value of a comparing check.

    :param metric: the metric that it declares. :param of: the metric of the check that is compared.
    """

    metric: Metric
    of: Metric

    def value(self, values: Mapping[str, float]) -> float:
        """Return the second value in terms of the first: their ratio, or where that can be 0 their
        difference.

        :param values: the two values by layout, that with one process a node first, in the unit of ``of``.
        :raises OutputError: if a value is no finite number, or the first is 0 where a ratio is wanted.
        """
        (one, first), (_, second) = values.items()
        if not (math.isfinite(first) and math.isfinite(second)):
            raise OutputError(
                f"{self.of.name} cannot be compared: it is {first} at {one}, and {second}"
            )
        if self.of.can_be_zero:
            return second - first
        if first == 0:
            raise OutputError(f"{self.of.name} cannot be compared: it is 0 at {one}")
        return second / first


def comparisons(one: Iterable[Metric], more: Iterable[Metric]) -> list[Comparison]:
    """Return a comparison for every metric that is declared at both layouts.

    A ratio has the unit 1, a difference that of the value; values that may be 0 have differences.
    """
    there = {metric.name: metric for metric in one}
    return [
        Comparison(_metric(metric), metric)
        for metric in more
        if there.get(metric.name) == metric
    ]


def _metric(of: Metric) -> Metric:
    kind, unit = ("difference", of.unit) if of.can_be_zero else ("ratio", "1")
    how = "minus that" if of.can_be_zero else "over that"
    about = (
        f"With more processes a node {how} with one: {of.about[:1].lower()}{of.about[1:]}"
        if of.about
        else ""
    )
    if of.size_B is None:
        return Metric(
            f"{of.name}_{kind}",
            unit,
            of.better,
            can_be_zero=of.can_be_zero,
            about=about,
        )
    quantity = f"{of.quantity}_{kind}"
    return Metric(
        point(quantity, of.size_B),
        unit,
        of.better,
        quantity,
        of.size_B,
        of.can_be_zero,
        about=about,
    )
