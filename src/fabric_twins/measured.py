# SPDX-License-Identifier: BSD-3-Clause
"""What our programs measure on a twin, by the names under which its description has the documents' values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from statistics import median

import numpy as np

from fabric_checks.analysis import curves
from fabric_checks.core.metrics import half_octaves
from fabric_checks.parsers import rotate, streaming
from fabric_twins.model import sharing
from fabric_twins.model.description import Twin
from fabric_twins.sampling import FEWEST, ROTATE

LARGEST_B = 4 << 20

#: Runs a program: nodes, processes on each, the program's name, its arguments; returns what it prints.
Run = Callable[[int, int, str, tuple[str, ...]], str]

#: Benchmark and name of a value, the latter without its unit.
Values = dict[tuple[str, str], float]


def values(run: Run, twin: Twin) -> tuple[Values, list[str]]:
    """Return what is measured of the values that a description has, and the outputs it was taken from."""
    found: Values = {}
    outputs: list[str] = []
    runs: Mapping[str, Callable[[Run, Twin], tuple[Values, str]]] = {
        "streaming": _between_nodes,
        "streaming_queue_8": partial(_queued, depth=8),
        "streaming_queue_16": partial(_queued, depth=16),
        "streaming_queue_32": partial(_queued, depth=32),
        "two_ppn_ping_pong": _within_a_node,
        "rotate": _rotated,
    }
    for benchmark, measure in runs.items():
        if benchmark in twin.values:
            more, text = measure(run, twin)
            found |= more
            outputs.append(text)
    return found, outputs


def _streamed(run: Run, nodes: int, ppn: int, depth: int = 0) -> tuple[dict[str, float], str]:
    text = run(nodes, ppn, "streaming", (*FEWEST, "--directions", "both", "--queue-depth", str(depth)))
    output = streaming.parse(text, half_octaves(0, LARGEST_B), directions="both", queue_depth=depth)
    times = [output.times_us(mode) for mode in streaming.MODES["both"]]
    return curves.streaming_values(times[0], times[1]) | curves.bidirectional_values(*times[1:]), text


def _between_nodes(run: Run, _: Twin) -> tuple[Values, str]:
    values, text = _streamed(run, 2, 1)
    found = {("streaming", name): value for name, value in values.items()}
    return found | {("sendrecv", "peak_bandwidth"): values["peak_bandwidth_exchange"]}, text


def _queued(run: Run, _: Twin, depth: int) -> tuple[Values, str]:
    values, text = _streamed(run, 2, 1, depth)
    return {(f"streaming_queue_{depth}", name): value for name, value in values.items()}, text


def _within_a_node(run: Run, _: Twin) -> tuple[Values, str]:
    values, text = _streamed(run, 1, 2)
    return {
        ("two_ppn_ping_pong", "zero_byte_latency"): values["zero_byte_latency_ping_pong"],
        ("two_ppn_ping_pong", "peak_bandwidth"): values["peak_bandwidth_ping_pong"],
        ("two_ppn_sendrecv", "peak_bandwidth"): values["peak_bandwidth_exchange"],
    }, text


def _rotated(run: Run, twin: Twin) -> tuple[Values, str]:
    text = run(twin.nodes, 1, "rotate", ROTATE)
    output = rotate.parse(text)
    rates = output.scan.MBps
    found = {
        ("rotate", "single_pair"): float(rates.max()),
        ("rotate", "slowest_pair"): float(rates.min()),
        ("rotate", "slowest_to_median"): 100 * float(rates.min() / np.median(rates)),
        ("rotate", "aggregate_bandwidth"): output.pairs * float(rates.mean()),
        ("rotate", "perceived_aggregate_bandwidth"): output.pairs * float(rates.min()),
    }
    for pairs, values in sharing.by_sharing(str(twin.file), output.scan).items():
        if pairs in sharing.WORDS:
            found["rotate", sharing.name_of(pairs)] = median(values)
    return found, text
