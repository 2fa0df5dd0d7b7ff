# SPDX-License-Identifier: BSD-3-Clause
"""For each of our own programs, a run that is as short as it can be and still goes through all of it."""

SHORT = ["--max-seconds-per-point", "0.001"]
CONFIRM = ["--confirm", "--confirm-repeats", "2", "--suspect-share", "0.01"]
#: The number of ranks and the arguments.
QUICK = {
    "placement": (2, []),
    "streaming": (
        2,
        ["--max-size", "1K", "--directions", "both", "--queue-depth", "8", *SHORT],
    ),
    "overlap": (2, ["--poll", "--min-size", "64", "--max-size", "128", *SHORT]),
    "collective_overlap": (2, ["--min-size", "64", "--max-size", "128", *SHORT]),
    "rotate": (5, ["--size", "4K", "--messages", "2", "--tests", "1", *CONFIRM]),
    "latency_map": (
        3,
        ["--size", "8", "--samples", "3", "--repetitions", "2", "--passes", "1"],
    ),
    "hot_spot": (3, ["--max-size", "16", *SHORT]),
    "buffer_reuse": (2, ["--max-size", "4K", *SHORT]),
    "notification": (2, ["--max-size", "4", "--waits", "2", *SHORT]),
}
