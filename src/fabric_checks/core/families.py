# SPDX-License-Identifier: BSD-3-Clause
"""Families of checks: the sections of a report, in their order.

A check names its family by the title, as a class attribute that suites set once; the record carries it. A
title that is not listed here is a family as well: it comes after these and before :data:`OTHERS`, in
alphabetical order.
"""

from __future__ import annotations

import re

PAIRS = "Pairs of processes"
STREAMING = "Streaming and ping-pong"
CROSS_SECTION = "Cross-section: all pairs at once"
LATENCY_MAP = "Latency of every pair"
COLLECTIVES = "Collectives"
NON_BLOCKING = "Non-blocking collectives"
OVERLAP = "Overlap: what is left for other work"
ONE_SIDED = "One-sided"
STRESS = "Hot spot, fresh buffers, waiting"
START_UP = "Start-up"
APPLICATIONS = "Applications"
OTHERS = "Others"

#: The families of the collection, in the order of the sections.
KNOWN = (
    PAIRS, STREAMING, CROSS_SECTION, LATENCY_MAP, COLLECTIVES, NON_BLOCKING, OVERLAP, ONE_SIDED, STRESS,
    START_UP, APPLICATIONS,
)  # fmt: skip


def order(family: str) -> tuple[int, str]:
    """Return the key that sorts families: those of the collection in its order, then all others, then
    OTHERS."""
    if family in KNOWN:
        return KNOWN.index(family), family
    return len(KNOWN) + (family == OTHERS), family


def tag(family: str) -> str:
    """Return the tag of a family's checks, made of its title before a colon; also the anchor of its section.

    >>> tag(CROSS_SECTION), tag("Hot spot, fresh buffers, waiting")
    ('cross-section', 'hot-spot-fresh-buffers-waiting')
    """
    return "-".join(re.findall(r"[a-z0-9]+", family.partition(":")[0].lower()))
