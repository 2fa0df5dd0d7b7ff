# SPDX-License-Identifier: BSD-3-Clause
"""Compute rotate on a twin by flows: nothing is executed, each transfer is a flow that shares links with others.

The same links, routes and costs as SimGrid gets (:mod:`fabric_twins.model.platform_file`), and the shares that it would
give; `config/twins/plugin/flows.cpp` tells how. A thousand nodes take seconds instead of minutes.
`python -m lab.flows_against_simgrid` compares the two.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fabric_checks.core.errors import quoted
from fabric_checks.diagnosis.cross_section.matrix import MOST_PAIRS, PairMatrix
from fabric_checks.parsers import rotate_patterns
from fabric_twins import simgrid
from fabric_twins.errors import TwinError
from fabric_twins.model import platform_file
from fabric_twins.model.description import Twin
from fabric_twins.model.topology import host_names
from fabric_twins.simulate import Bounds, bounded, require_end

#: More nodes than this are predicted by flows unless something else is asked for.
MOST_SIMULATED = 1024


def matrix(twin: Twin, size_B: int, shifts: int, bounds: Bounds) -> PairMatrix:
    """Return the bandwidth of the pairs of rotate, one message each.

    :param size_B: of a message. :param shifts: how many rounds, evenly spread; 0: all.
    :raises TwinError: if there are too many nodes, or if it does not come to its end within the bounds.
    """
    half = twin.nodes // 2
    if half * half > MOST_PAIRS:
        raise TwinError(f"{twin.file}: nodes: {twin.nodes} make more pairs than the {MOST_PAIRS} that can be shown")
    rounds = rotate_patterns.from_end_to_end(shifts if 0 < shifts < half else half, half)
    sender, receiver = rotate_patterns.pairs("rotate", twin.nodes, np.array(rounds, dtype=np.int32))
    seconds = _seconds(twin, np.stack((sender, receiver), axis=-1).astype(np.int32), size_B, bounds)
    values = np.full((half, half), np.nan)
    values[sender, receiver - half] = size_B / seconds / 1e6
    ranks = np.arange(half, dtype=np.int64)
    return PairMatrix(ranks, half + ranks, values, host_names(twin.nodes))


def _seconds(twin: Twin, pairs: NDArray[np.int32], size_B: int, bounds: Bounds) -> NDArray[np.float64]:
    """Return what the sender of each pair reads from its clock, in seconds; pairs: rounds x pairs x 2."""
    what = f"{twin.file}: rotate on {twin.nodes} nodes by flows"
    threads = len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as folder:
        platform, pairs_file, times = (Path(folder) / name for name in ("platform", "pairs", "times"))
        platform.write_text(platform_file.platform(twin))
        pairs.tofile(pairs_file)
        numbers = [str(len(pairs)), str(size_B), str(twin.eager_below_B), str(threads)]
        line = [str(simgrid.flows()), str(platform), str(pairs_file), *numbers, str(times)]
        # The memory that is bounded is address space, of which each thread would reserve much more than it needs.
        environment = os.environ | {"MALLOC_ARENA_MAX": "1"}
        _, stderr, status = bounded((line, environment), threads, folder, bounds, what)
        if status != 0:
            lines = stderr.strip().splitlines() or [f"it ended with status {status} and gave no reason"]
            require_end(quoted(lines[-1], 160), bounds, what)
        found = np.fromfile(times)
    return found.reshape(pairs.shape[:2])
