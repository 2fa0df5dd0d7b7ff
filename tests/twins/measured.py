# SPDX-License-Identifier: BSD-3-Clause
"""What the programs measure on a twin, by the names under which the descriptions have the documents' figures."""

from collections import Counter, defaultdict
from statistics import median

from fabric_checks import curves
from fabric_checks.metrics import half_octaves
from fabric_checks.parsers import rotate, streaming
from fabric_checks.twins.routing import routes
from fabric_checks.twins.topology import with_faults
from tests.twins.simulation import SOURCES

LARGEST = 4 << 20
# Simulated time does not scatter: the fewest samples do.
SHORT = ("--max-seconds-per-point", "0.001", "--min-samples", "8", "--warmup", "1", "--directions", "both")
ROTATE = ("--size", "2M", "--messages", "1", "--tests", "1")

_WORDS = {2: "two", 3: "three", 4: "four", 5: "five"}


def streamed(simulator, twin, nodes, ppn):
    """Return the figures of one run of streaming, and its output."""
    text = simulator.output(twin, nodes, ppn, SOURCES / "streaming.c", *SHORT)
    return _streaming_figures(text), text


def _streaming_figures(text):
    output = streaming.parse(text, half_octaves(0, LARGEST), directions="both")
    one_way = output.times_us("streaming")
    exchange = output.times_us("bidirectional_ping_pong")
    found = curves.streaming_figures(output.times_us("ping_pong"), one_way)
    found |= curves.bidirectional_figures(one_way, exchange, output.times_us("bidirectional_streaming"))
    return found | {"sendrecv": curves.peak_bandwidth_MBps(exchange, messages=2)}


def rotated(simulator, twin):
    """Return the figures of one run of rotate on all nodes, and its output."""
    text = simulator.output(twin, twin.nodes, 1, SOURCES / "rotate.c", *ROTATE)
    output = rotate.parse(text)
    values = output.scan.MBps
    found = {
        "single_pair": values.max(),
        "slowest_pair": values.min(),
        "worst_degradation": 100 * (1 - values.min() / values.max()),
        "aggregate_bandwidth": output.pairs * values.mean(),
    }
    for sharing, rates in _by_sharing(twin, output.scan).items():
        if sharing in _WORDS:
            found[f"{_WORDS[sharing]}_pairs_on_a_link"] = median(rates)
    return found, text


def _by_sharing(twin, scan):
    """Return the rates of the pairs by the greatest number of pairs on one cable of their way."""
    wiring = with_faults(twin.topology.wiring(), twin.faults)
    ways = routes(wiring, twin.routing)
    rounds = defaultdict(list)
    for number, sender, receiver, rate in zip(scan.round, scan.sender, scan.receiver, scan.MBps, strict=True):
        rounds[number].append((ways.way(wiring, int(sender), int(receiver)), rate))
    found = defaultdict(list)
    for pairs in rounds.values():
        load = Counter(arc for way, _ in pairs for arc in way)
        for way, rate in pairs:
            found[max((load[arc] for arc in way), default=1)].append(rate)
    return found


def figures(simulator, twin):
    """Return what was measured, by benchmark and name without its unit, and the outputs it was taken from."""
    found, outputs = {}, []
    if "streaming" in twin.figures:
        inter, text = streamed(simulator, twin, 2, 1)
        found |= {("streaming", name): value for name, value in inter.items()}
        found["sendrecv", "peak_bandwidth"] = inter["sendrecv"]
        outputs.append(text)
    if "two_ppn_ping_pong" in twin.figures:
        intra, text = streamed(simulator, twin, 1, 2)
        found["two_ppn_ping_pong", "zero_byte_latency"] = intra["zero_byte_latency_ping_pong"]
        found["two_ppn_ping_pong", "peak_bandwidth"] = intra["peak_bandwidth_ping_pong"]
        found["two_ppn_sendrecv", "peak_bandwidth"] = intra["sendrecv"]
        outputs.append(text)
    if "rotate" in twin.figures:
        network, text = rotated(simulator, twin)
        found |= {("rotate", name): value for name, value in network.items()}
        outputs.append(text)
    return found, outputs
