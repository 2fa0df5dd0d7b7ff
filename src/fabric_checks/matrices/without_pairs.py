# SPDX-License-Identifier: BSD-3-Clause
"""Outputs of programs that measure pairs or nodes, but print no pairs: each is refused with what to give instead."""

from __future__ import annotations

import re

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.core.text import names_text
from fabric_checks.matrices.model import PairTable

NAME = "a program that prints no pairs"
NEXT = ""

#: What begins a line of such an output, what it is, and what to do.
_KNOWN = (
    (
        r"dgnettest has (?:PASSED|FAILED)|Per node bandwidth stats|nprocs=\d+ sets=\d+ maxbytes=",
        "dgnettest prints values of nodes (loopback), of sets of nodes (bisect, all2all) and a histogram (latency)",
        "measure pairs, as with rotate or mpiGraph",
    ),
    (
        r"PER-(?:PROCESS STRAGGLER|NODE) ANALYSIS|SPIKE ANALYSIS|PER-ITERATION STATS",
        "the analysis of nccl-tests names the fastest and slowest process of a collective",
        "give the JSON that it was made from, of runs of sendrecv_perf between two hosts at a time",
    ),
    (
        r"The prefix of cmd to run is: |command prefix: ",
        "ib_validation of superbench has numbers instead of the names of hosts",
        "give results-summary.jsonl of the same run",
    ),
    (
        r" ?(?:Parallel|Serial) +PingPong for step|Parallel Results for step|pingponganalysis: |\Asion",
        "the log of LinkTest has the times of steps, and its SION file is no text",
        "let pingponganalysis -g write gnuplotinput.dat, and give that with mapping.dat before it",
    ),
)
#: The nodes that dgnettest itself calls low.
_LOW = re.compile(r"^(\S+)(?:\s+[\d.]+%?){7}\s+result is low|bandwidth low\b.* nodes: (\S+)", re.MULTILINE)


def recognizes(text: str) -> bool:
    """Return whether a text is one of these."""
    return any(re.search(rf"^(?:{pattern})", text, re.MULTILINE) for pattern, _, _ in _KNOWN)


def parse(text: str) -> list[PairTable]:
    """Raise :class:`OutputError`, which says what the text has instead of pairs, and what to give."""
    low = dict.fromkeys(found[1] or found[2] for found in _LOW.finditer(text))
    named = f" (it calls low itself: {quoted(names_text(list(low)))})" if low else ""
    for pattern, what, remedy in _KNOWN:
        if re.search(rf"^(?:{pattern})", text, re.MULTILINE):
            raise OutputError(f"{what}{named}, but no pairs, without which the slow end is not known: {remedy}")
    return []
