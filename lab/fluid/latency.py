# SPDX-License-Identifier: BSD-3-Clause
"""Latency of all pairs by the program ``latency_map``, and how ``LatencyMap`` reads it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lab import patterns

from . import program
from .scenarios import Fault, Random, Scenario, tree
from .scoring import flat

_BASE_US, _SWITCH_US, _PASSES = 0.9, 0.15, 2


@dataclass(frozen=True)
class LatencyRow:
    """A row of the table.

    :param far_us: what nodes of another kind have more, :param share: how many these are.
    :param outliers: the share of medians that are 1.5 to 4 times as long; of half of these the least is, too.
    :param fault: ``node`` or ``pair`` (far by half of the latency), or ``swapped``: two nodes, in the fabric
        only.
    """

    far_us: float = 0.0
    share: float = 0.25
    outliers: float = 0.0
    fault: str = ""
    know: str = "any"
    noise: float = 0.02
    options: tuple[str, ...] = ()

    def build(self, rng: Random, nodes: int) -> tuple[Scenario, str]:
        """Return a trial of this row, and the output of the program."""
        know = (
            str(rng.choice(["switches", "slurm", "nothing"]))
            if self.know == "any"
            else self.know
        )
        at = Scenario(tree(rng, nodes), know)
        latency, names = self._latencies(rng, at), at.fabric.names
        one, other = (int(node) for node in rng.choice(nodes, 2, replace=False))
        if self.fault == "node":
            latency[one, :] *= 1.5
            latency[:, one] *= 1.5
            at.faults.append(Fault("node", frozenset([names[one]]), 0.5))
        elif self.fault == "pair":
            latency[[one, other], [other, one]] *= 1.5
            at.faults.append(Fault("pair", frozenset([names[one], names[other]]), 0.5))
        elif self.fault == "swapped":
            other = int(
                rng.choice(np.flatnonzero(at.fabric.leaf != at.fabric.leaf[one]))
            )
            order = np.arange(nodes)
            order[[one, other]] = other, one
            latency = latency[np.ix_(order, order)]
            at.faults.append(Fault("pair", frozenset([names[one], names[other]]), 0.5))
        return at, self._text(rng, at, latency)

    def _latencies(self, rng: Random, at: Scenario) -> np.ndarray:
        fabric = at.fabric
        pairs = [
            (one, other) for one in range(fabric.nodes) for other in range(fabric.nodes)
        ]
        _, weight = fabric.paths(pairs, np.zeros(len(pairs), dtype=np.int64))
        latency = _BASE_US + _SWITCH_US * ((weight > 0).sum(axis=1) - 1.0).reshape(
            fabric.nodes, fabric.nodes
        )
        far = (
            rng.permutation(fabric.nodes) < round(self.share * fabric.nodes)
        ) * self.far_us
        return np.asarray(latency + far[:, None] + far[None, :])

    def _text(self, rng: Random, at: Scenario, latency: np.ndarray) -> str:
        nodes, rows = at.fabric.nodes, []
        for turn in range(_PASSES):
            for number in patterns.round_robin_rounds(nodes, 0):
                for one, other in program.pairs_of(nodes, number):
                    middle = latency[one, other] * np.exp(
                        self.noise * rng.standard_normal()
                    )
                    least = latency[one, other] * (
                        1 - abs(rng.standard_normal()) * self.noise / 2
                    )
                    if rng.uniform() < self.outliers:
                        middle *= rng.uniform(1.5, 4)
                        least = middle * 0.95 if rng.uniform() < 0.5 else least
                    rows.append(
                        f"{turn} {number} {one} {other} {middle:.6g} {min(least, middle):.6g}"
                    )
        count = len(patterns.round_robin_rounds(nodes, 0))
        options = f"size 8 samples 30 repetitions 4 warmup 10 passes {_PASSES} shifts 0"
        return program.whole(
            [
                *program.head("latency_map", at.fabric.names, options),
                f"# shifts: {count} of {count}",
                (
                    "# method: ping-pong of size bytes, all pairs of a round at once; latency_us is the"
                    " median over samples of half of the time of a ping-pong, least_us the least; in each"
                    " pass every pair is measured from both ends"
                ),
                "# columns: pass round starter other latency_us least_us",
                *rows,
                "# elapsed: 0.1 s",
            ],
            len(rows),
        )


def evaluate(text: str, topology: list[Path]) -> tuple[dict[str, Any], int]:
    """Return metrics and notes as the check ``LatencyMap`` records them, and whether it blames anybody."""
    from fabric_checks.diagnosis.latency_map import evaluation
    from fabric_checks.fabric_map import topology_files

    report = evaluation.of_run(
        evaluation.read(text), topology_files.read(topology) if topology else None
    )
    notes = [flat(found.as_dict()) for found in report.all_findings()]
    return {"metrics": report.metrics(), "notes": notes}, int(
        any(note.get("fault") for note in notes)
    )


LATENCY_ROWS = {
    "latency healthy": LatencyRow(),
    "latency, two kinds 0.3 us apart": LatencyRow(far_us=0.3, share=0.5),
    "latency, a quarter far by 0.3 us": LatencyRow(far_us=0.3),
    "latency, a quarter far by 1 us": LatencyRow(far_us=1.0),
    "latency, 1% outliers": LatencyRow(outliers=0.01),
    "latency, 5% outliers": LatencyRow(outliers=0.05),
    "latency, node far": LatencyRow(fault="node"),
    "latency, node far, 1% outliers": LatencyRow(fault="node", outliers=0.01),
    "latency, pair far": LatencyRow(fault="pair"),
    "latency, two nodes swapped": LatencyRow(fault="swapped"),
}
