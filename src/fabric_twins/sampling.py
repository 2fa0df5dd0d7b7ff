# SPDX-License-Identifier: BSD-3-Clause
"""Options of our programs on a simulated clock, which nothing disturbs: few samples say as much as many."""

from __future__ import annotations

#: Options of the programs that sample times. A sample of 50 us rather than 200 us still makes the reading of the clock,
#: which takes 0.1 us of simulated time, less than half a per cent of a value.
FEWEST = ("--max-seconds-per-point", "0.0001", "--min-samples", "8", "--warmup", "1", "--min-batch", "0.00005")

#: Options of rotate. Whoever shares a cable is slow, and is so when measured again: a few such pairs are enough.
ROTATE = ("--size", "1M", "--messages", "2", "--tests", "1", "--confirm-limit", "8")

#: The options of each program; of two options of one name the last counts.
OPTIONS = {
    "streaming": FEWEST,
    "buffer_reuse": FEWEST,
    "hot_spot": FEWEST,
    "notification": FEWEST,
    "overlap": FEWEST,
    "collective_overlap": FEWEST,
    "rotate": ROTATE,
    "latency_map": ("--samples", "1", "--repetitions", "1", "--warmup", "1", "--passes", "1"),
}
