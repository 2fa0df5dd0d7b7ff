# SPDX-License-Identifier: BSD-3-Clause
"""Predict the results of rotate on a planned cluster and its alternatives.

Nothing here is measured. The values follow from the description, most of which is assumed as long as the
cluster is a plan, and from flows that share links: they compare alternatives, and are no promise of a number.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fabric_checks.analysis import bandwidths
from fabric_checks.analysis.pair_matrix import PairMatrix, name_of
from fabric_checks.core.text import value_text
from fabric_checks.parsers import rotate_patterns
from fabric_checks.report import svg_panels
from fabric_twins import flows
from fabric_twins.lines import aligned
from fabric_twins.model.description import Twin
from fabric_twins.model.sourced_yaml import sources_by_kind
from fabric_twins.model.topology import Dragonfly, FatTree
from fabric_twins.plan import Alternative


@dataclass(frozen=True)
class Prediction:
    """The predicted values of an alternative.

    :param matrix: the bandwidth of the pairs of rotate.
    """

    alternative: Alternative
    matrix: PairMatrix

    @property
    def pairs(self) -> int:
        """The number of pairs that stream at once."""
        return rotate_patterns.pairs_of_round("rotate", len(self.matrix.hosts))

    @property
    def values(self) -> dict[str, float]:
        """Return the values of rotate, in MB/s and percent.

        The aggregates: :func:`fabric_checks.analysis.bandwidths.values`. The ideal is that each pair
        gets what one gets on its own; ``share_of_ideal`` is the perceived aggregate over that.
        """
        found = bandwidths.values(self.matrix, self.pairs)
        ideal = self.pairs * flows.alone_MBps(self.alternative.twin)
        return {
            "median_bandwidth": found["median_bandwidth"],
            "p10_bandwidth": float(np.percentile(self.matrix.measured, 10)),
            "slowest_pair_bandwidth": found["slowest_pair_bandwidth"],
            "aggregate_bandwidth": found["aggregate_bandwidth"],
            "perceived_aggregate_bandwidth": found["perceived_aggregate_bandwidth"],
            "ideal_aggregate_bandwidth": ideal,
            "share_of_ideal": 100 * found["perceived_aggregate_bandwidth"] / ideal,
        }

    @property
    def slowest_pair(self) -> tuple[str, str]:
        """Return the hosts of the slowest pair, sender and receiver."""
        sender, receiver = bandwidths.slowest_pair(self.matrix)
        hosts = self.matrix.hosts
        return name_of(hosts, sender), name_of(hosts, receiver)


def predict(
    alternatives: Sequence[Alternative], shifts: int, progress: Callable[[str], None]
) -> list[Prediction]:
    """Compute rotate on all alternatives, one after the other.

    :param shifts: the number of rounds, evenly spread; 0: all.
    :param progress: is called with a line for each alternative.
    :raises TwinError: if an alternative has too many nodes.
    """
    found = []
    for number, alternative in enumerate(alternatives, 1):
        progress(f"{number} of {len(alternatives)}: {alternative.name}")
        found.append(Prediction(alternative, flows.matrix(alternative.twin, shifts)))
    return found


# ---------------------------------------------------------------------------------------------------- output

_HEAD = (
    "alternative",
    "median",
    "p10",
    "slowest",
    "slowest pair",
    "aggregate",
    "perceived",
    "of ideal",
)
_UNITS = ("", "MB/s", "MB/s", "MB/s", "", "GB/s", "GB/s", "%")

_NOTES = (
    (
        "p10: a tenth of the pairs is slower. aggregate: pairs x mean. perceived: pairs x slowest, as an"
        " exchange over all"
    ),
    (
        "pairs takes as long as its slowest. of ideal: the perceived aggregate divided by that of pairs each"
        " run alone."
    ),
)


def as_lines(file: Path, outcomes: Sequence[Prediction]) -> list[str]:
    """Return the predictions as lines for a terminal."""
    first = outcomes[0].alternative.twin
    return [
        f"{file}: {first.name}, {first.about}",
        f"PREDICTED by flows that share links, not measured. {_basis(first)}",
        "",
        f"rotate: {outcomes[0].pairs} pairs, all at once, with long messages",
        *aligned(
            [_HEAD, _UNITS, *(_row(outcome) for outcome in outcomes)], left=(0, 4)
        ),
        *_NOTES,
    ]


def _basis(twin: Twin) -> str:
    """Return how many values of the description are published, fitted and assumed."""
    kinds = {
        kind: len(names)
        for kind, names in sources_by_kind(twin.sources).items()
        if names
    }
    return (
        f"Its values: {', '.join(f'{count} {kind}' for kind, count in kinds.items())}."
    )


def _row(outcome: Prediction) -> tuple[str, ...]:
    found = outcome.values
    rates = (found[f"{name}_bandwidth"] for name in ("median", "p10", "slowest_pair"))
    totals = (
        found[f"{name}_bandwidth"] / 1000
        for name in ("aggregate", "perceived_aggregate")
    )
    return (
        outcome.alternative.name,
        *map(value_text, rates),
        " to ".join(outcome.slowest_pair),
        *map(value_text, totals),
        value_text(found["share_of_ideal"]),
    )


def as_json(file: Path, outcomes: Sequence[Prediction]) -> str:
    """Return the predictions as JSON."""
    alternatives = [
        {
            "name": outcome.alternative.name,
            "rotate": {**outcome.values, "slowest_pair": list(outcome.slowest_pair)},
            "sources": sources_by_kind(outcome.alternative.twin.sources),
        }
        for outcome in outcomes
    ]
    units = {
        name: "%" if name == "share_of_ideal" else "MB/s" for name in outcomes[0].values
    }
    return json.dumps(
        {
            "file": str(file),
            "kind": "predicted",
            "units": units,
            "alternatives": alternatives,
        },
        indent=1,
    )


def draw(outcomes: Sequence[Prediction], folder: Path) -> None:
    """Write the pictures: the distributions of all, and of each alternative the matrix and the histogram."""
    folder.mkdir(parents=True, exist_ok=True)
    twin = outcomes[0].alternative.twin
    top_MBps = 1.05 * max(float(each.matrix.measured.max()) for each in outcomes)
    histograms = []
    for each in outcomes:
        rates, found = each.matrix.measured, each.values
        counts, edges = np.histogram(rates, bins=60, range=(0, top_MBps))
        levels = [
            ("median", found["median_bandwidth"]),
            ("slowest", found["slowest_pair_bandwidth"]),
        ]
        if found["slowest_pair_bandwidth"] > 0.9 * found["median_bandwidth"]:
            levels.pop()  # one would hide the other
        caption = (
            f"{each.alternative.name}: perceived {value_text(found['perceived_aggregate_bandwidth'] / 1000)}"
            f" GB/s, {found['share_of_ideal']:.0f} % of ideal"
        )
        histograms.append(
            (caption, svg_panels.histogram(counts.tolist(), edges.tolist(), levels))
        )
    title = f"{twin.name}, {twin.nodes} nodes, predicted: bandwidth of the pairs while all pairs run"
    svg_panels.save(
        folder / "distributions.svg", svg_panels.document(title, histograms)
    )
    for each in outcomes:
        found = each.values
        title = (
            f"{each.alternative.name} ({twin.name}, predicted): median {found['median_bandwidth']:.0f},"
            f" slowest {found['slowest_pair_bandwidth']:.0f} MB/s; perceived {found['share_of_ideal']:.0f} %"
            " of ideal"
        )
        path = folder / f"{_file_name(each.alternative.name)}.svg"
        svg_panels.save(
            path, svg_panels.pair_bandwidths(title, each.matrix, _link_MBps(each))
        )


def _link_MBps(outcome: Prediction) -> float:
    """Return the rate of a cable between switches; on a star, that of the fastest pairs."""
    topology = outcome.alternative.twin.topology
    if isinstance(topology, FatTree):
        return topology.link_MBps
    if isinstance(topology, Dragonfly):
        return topology.global_link_MBps
    return bandwidths.link_rate_MBps(outcome.matrix)


def _file_name(name: str) -> str:
    """Return a name of an alternative as part of the name of a file."""
    words = "".join(
        c if c.isascii() and c.isalnum() else " " for c in name.lower()
    ).split()
    return "-".join(words)[:100] or "unnamed"
