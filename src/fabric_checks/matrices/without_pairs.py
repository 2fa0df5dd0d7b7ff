# SPDX-License-Identifier: BSD-3-Clause
"""Outputs of programs that measure pairs or nodes, but print no pairs: each is refused with what to give instead."""

from __future__ import annotations

import re

from fabric_checks.core.errors import quoted
from fabric_checks.core.text import names_text

#: What begins a line of such an output, and what it has and what to give instead.
_KNOWN = {
    r"dgnettest has (?:PASSED|FAILED)|Per node bandwidth stats|nprocs=\d+ sets=\d+ maxbytes=": (
        "dgnettest prints values of nodes (loopback), of sets of nodes (bisect, all2all) and a histogram (latency), "
        "but no pairs, without which the slow end is not known: measure pairs, as with rotate or mpiGraph"
    ),
    r"PER-(?:PROCESS STRAGGLER|NODE) ANALYSIS|SPIKE ANALYSIS|PER-ITERATION STATS": (
        "the analysis of nccl-tests names the fastest and slowest process of a collective, but no pairs: give the JSON "
        "that it was made from, of runs of sendrecv_perf between two hosts at a time"
    ),
    r"The prefix of cmd to run is: |command prefix: ": (
        "ib_validation of superbench has numbers instead of the names of hosts: give results-summary.jsonl of that run"
    ),
    r" ?(?:Parallel|Serial) +PingPong for step|Parallel Results for step|pingponganalysis: |\Asion": (
        "the log of LinkTest has the times of steps, and its SION file is no text: let pingponganalysis -g write "
        "gnuplotinput.dat, and give that with mapping.dat before it"
    ),
    r"\A\s*\{(?s:.*)\"Links\"\s*:": (
        "the layout of ClusterKit's JSON is not published: give bandwidth.txt and latency.txt from the same folder"
    ),
}
#: The nodes that dgnettest itself calls low.
_LOW = re.compile(r"^(\S+)(?:\s+[\d.]+%?){7}\s+result is low|bandwidth low\b.* nodes: (\S+)", re.MULTILINE)


def refusal(text: str) -> str:
    """Return what a text has instead of pairs, and what to give; empty if it is none of these."""
    low = dict.fromkeys(found[1] or found[2] for found in _LOW.finditer(text))
    named = f" (it calls low itself: {quoted(names_text(list(low)))})" if low else ""
    return next((why + named for what, why in _KNOWN.items() if re.search(rf"^(?:{what})", text, re.MULTILINE)), "")
