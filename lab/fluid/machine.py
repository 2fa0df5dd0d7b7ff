# SPDX-License-Identifier: BSD-3-Clause
"""Measure pairs on a fabric, as the program would, with noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from . import flows, program
from .fabric import Fabric

_OVERHEAD_S = 3e-4  # of a round: warm-up, barriers, the gathering of times


@dataclass
class Machine:
    """A fabric with a clock.

    :param noise: log-normal, of a value of a pair, which is the best of its tests.
    :param tail: the share of values that are at half.
    """

    fabric: Fabric
    rng: np.random.Generator
    noise: float = 0.03
    tail: float = 0.0
    now: float = 0.0
    transfers_s: float = 0.0
    paused_s: float = 0.0
    _round_s: float = field(default=0.0, init=False)

    def run(self, shifts: int, groups: Sequence[int] = ()) -> str:
        """Return the output of a run on this fabric; ``groups``: of the phase ``leaf``."""
        run = program.Run(self.fabric.nodes, shifts, self.measure, groups, self._pause)
        return run.text(self.fabric.names, self.transfers_s, self.now - self.paused_s)

    def _pause(self, seconds: float) -> None:
        self.now += seconds
        self.paused_s += seconds

    def measure(self, phase: str, pairs: Sequence[tuple[int, int]], progress: float) -> list[float]:
        """Return the bandwidth of pairs that stream at once, in MB/s, and let the time pass."""
        fabric, megabytes = self.fabric, program.SIZE_B * program.MESSAGES / 1e6
        if phase == "leaf":  # the messages to several at once are so much smaller
            megabytes /= sum(sender == pairs[0][0] for sender, _ in pairs)
        for level in fabric.levels:
            level.reach(progress, self.now + self._round_s * self.rng.uniform())
        began, best = self.now, np.full(len(pairs), np.inf)
        varies = any(level.changes for level in fabric.levels) or fabric.routing == "message"
        parts = program.MESSAGES if fabric.routing == "message" else 1
        for test in range(program.TESTS if varies else 1):
            each = [pair for pair in pairs for _ in range(parts)]
            numbers = np.arange(len(each)) + test * 100_003 if parts > 1 else np.zeros(len(each), dtype=np.int64)
            path, weight = fabric.paths(each, numbers)
            fabric.begin_round()
            ends = flows.finish(path, weight, np.full(len(each), megabytes / parts), self.now, fabric.state)
            took = ends.reshape(len(pairs), parts).max(axis=1) - self.now
            best = np.minimum(best, took)
            self.now += took.max() * (1 if varies else program.TESTS)
        values = megabytes / best * np.exp(self.noise * self.rng.standard_normal(len(pairs)))
        values[self.rng.uniform(size=len(pairs)) < self.tail] *= 0.5
        # Noise takes time, too: no test is faster than the best, whose rate is printed.
        self.now = max(self.now, began + program.TESTS * megabytes / values.min())
        self.transfers_s += self.now - began
        self.now += _OVERHEAD_S
        self._round_s = self.now - began
        return [float(value) for value in values]
