# SPDX-License-Identifier: BSD-3-Clause
"""Measure on a twin the values that the documents report of its cluster, with our programs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from statistics import median

import numpy as np

from fabric_checks.analysis import curves
from fabric_checks.core.metrics import half_octaves
from fabric_checks.parsers import rotate, streaming
from fabric_checks.parsers.rotate import Transfers
from fabric_twins.errors import TwinError
from fabric_twins.model.description import Case, Twin
from fabric_twins.model.routing import routes
from fabric_twins.model.topology import with_faults
from fabric_twins.smpirun import PROGRAM_OPTIONS

LARGEST_B = 4 << 20

#: What each of so many pairs on a cable gets: metrics of rotate that no check has, because none knows the
#: routes.
PAIRS_ON_A_LINK = {
    pairs: f"{word}_pairs_on_a_link"
    for pairs, word in enumerate(
        ("two", "three", "four", "five", "six", "seven", "eight"), 2
    )
}

#: Run a program: nodes, processes on each, the program's name, its arguments; returns its output.
Run = Callable[[int, int, str, tuple[str, ...]], str]

#: The values of each case of a twin, by metric.
Values = list[dict[str, float]]


def values(run: Run, twin: Twin) -> tuple[Values, list[str]]:
    """Return the measured values of each case of a description, and the outputs they were taken from.

    :raises TwinError: if the program of a case does not measure one of its metrics.
    """
    measure = {"streaming": _streaming, "rotate": _rotate}
    found, outputs = [], []
    for case in twin.cases:
        metrics, text = measure[case.program](run, twin, case)
        if unknown := {each.metric for each in case.values} - metrics.keys():
            raise TwinError(
                f"{twin.file}: values: {case.program} does not measure {min(unknown)}; it measures "
                f"{', '.join(sorted(metrics))}"
            )
        found.append(metrics)
        outputs.append(text)
    return found, outputs


def _streaming(run: Run, _: Twin, case: Case) -> tuple[dict[str, float], str]:
    depth = int(case.parameters.get("queue_depth", 0))
    options = (
        *PROGRAM_OPTIONS["streaming"],
        "--directions",
        "both",
        "--queue-depth",
        str(depth),
    )
    text = run(case.layout.nodes, case.layout.ppn, "streaming", options)
    output = streaming.parse(
        text, half_octaves(0, LARGEST_B), directions="both", queue_depth=depth
    )
    times = [output.times_us(mode) for mode in streaming.MODES["both"]]
    return curves.streaming_values(times[0], times[1]) | curves.bidirectional_values(
        *times[1:]
    ), text


def _rotate(run: Run, twin: Twin, case: Case) -> tuple[dict[str, float], str]:
    text = run(case.layout.nodes, case.layout.ppn, "rotate", PROGRAM_OPTIONS["rotate"])
    output = rotate.parse(text)
    rates = output.scan.MBps
    found = {
        "median_bandwidth": float(np.median(rates)),
        "slowest_pair_bandwidth": float(rates.min()),
        "slowest_to_median": 100 * float(rates.min() / np.median(rates)),
        "aggregate_bandwidth": output.pairs * float(rates.mean()),
        "perceived_aggregate_bandwidth": output.pairs * float(rates.min()),
    }
    for pairs, MBps in by_sharing(twin, output.scan).items():
        if pairs in PAIRS_ON_A_LINK:
            found[PAIRS_ON_A_LINK[pairs]] = median(MBps)
    return found, text


def by_sharing(twin: Twin, scan: Transfers) -> dict[int, list[float]]:
    """Return the rates of the pairs, in MB/s, by the greatest number of pairs on one cable of their route.

    :param scan: of a run with one process a node, so that a rank is a host.
    """
    wiring = with_faults(twin.topology.wiring(), twin.faults)
    ways = routes(wiring, twin.routing)
    rounds = defaultdict(list)
    for number, sender, receiver, rate in zip(
        scan.round, scan.sender, scan.receiver, scan.MBps, strict=True
    ):
        rounds[int(number)].append(
            (ways.way(wiring, int(sender), int(receiver)), float(rate))
        )
    found = defaultdict(list)
    for pairs in rounds.values():
        load = Counter(arc for way, _ in pairs for arc in way)
        for way, rate in pairs:
            found[max((load[arc] for arc in way), default=1)].append(rate)
    return dict(found)
