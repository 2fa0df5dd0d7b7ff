# SPDX-License-Identifier: BSD-3-Clause
"""Measure pairs on a fabric, as the program would, with noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from lab.rotate import program

from . import flows
from .fabric import Fabric

_OVERHEAD_S = 3e-4  # of a round: warm-up, barriers, the gathering of times


def noisy(
    rng: np.random.Generator, rates: NDArray[np.float64], noise: float, tail: float
) -> NDArray[np.float64]:
    """Return the rates of tests and pairs with noise; see :class:`Machine`.

    The others are below the best test as those of three normal deviates are, of which the best has 0.748 of
    the deviation of one (Harter, Expected values of normal order statistics, Biometrika 48, 1961).
    """
    of_tests = noise / 0.748 * rng.standard_normal(rates.shape)
    of_best = noise * rng.standard_normal(rates.shape[1])
    rates = rates * np.exp(of_tests - of_tests.max(axis=0) + of_best)
    rates[rng.uniform(size=rates.shape) < tail] *= 0.5
    rates[:, rng.uniform(size=rates.shape[1]) < tail] *= 0.5
    return rates


@dataclass
class Machine:
    """A fabric with a clock.

    :param noise: log-normal, of a value of a pair, which is the best of its tests.
    :param tail: the share of values that are at half, and of single tests.
    """

    fabric: Fabric
    rng: np.random.Generator
    noise: float = 0.03
    tail: float = 0.0
    now: float = 0.0
    transfers_s: float = 0.0
    paused_s: float = 0.0
    _round_s: float = field(default=0.0, init=False)
    _progress: float = field(default=0.0, init=False)

    def run(self, shifts: int, groups: Sequence[int] = ()) -> str:
        """Return the output of a run on this fabric; ``groups``: of the phase ``leaf``."""
        run = program.Run(
            self.fabric.nodes,
            shifts,
            program.in_turn(self.measure),
            groups,
            self._pause,
        )
        return run.text(self.fabric.names, self.transfers_s, self.now - self.paused_s)

    def _pause(self, seconds: float) -> None:
        self.now += seconds
        self.paused_s += seconds

    def measure(
        self, phase: str, pairs: Sequence[tuple[int, int]], progress: float
    ) -> list[tuple[float, float]]:
        """Return the MB/s of pairs that stream at once, in the best test and the slowest, and let the time
        pass."""
        fabric, megabytes = self.fabric, program.SIZE_B * program.MESSAGES / 1e6
        if phase == "leaf":  # the messages to several at once are so much smaller
            megabytes /= sum(sender == pairs[0][0] for sender, _ in pairs)
        step, self._progress = progress - self._progress, progress
        for level in fabric.levels:
            level.reach(progress, step, self.now, self._round_s)
        began, tests = self.now, np.empty((program.TESTS, len(pairs)))
        varies = (
            any(level.changes for level in fabric.levels) or fabric.routing == "message"
        )
        parts = program.MESSAGES if fabric.routing == "message" else 1
        for test in range(program.TESTS if varies else 1):
            each = [pair for pair in pairs for _ in range(parts)]
            numbers = (
                np.arange(len(each)) + test * 100_003
                if parts > 1
                else np.zeros(len(each), dtype=np.int64)
            )
            path, weight = fabric.paths(each, numbers)
            fabric.begin_round()
            ends = flows.finish(
                path,
                weight,
                np.full(len(each), megabytes / parts),
                self.now,
                fabric.state,
            )
            took = ends.reshape(len(pairs), parts).max(axis=1) - self.now
            tests[test if varies else slice(None)] = took
            self.now += took.max() * (1 if varies else program.TESTS)
        rates = noisy(self.rng, megabytes / tests, self.noise, self.tail)
        # Noise takes time, too.
        self.now = max(self.now, began + float((megabytes / rates).max(axis=1).sum()))
        self.transfers_s += self.now - began
        self.now += _OVERHEAD_S
        self._round_s = self.now - began
        return list(
            zip(rates.max(axis=0).tolist(), rates.min(axis=0).tolist(), strict=True)
        )
