# SPDX-License-Identifier: BSD-3-Clause
"""NVIDIA ClusterKit: the text matrices ``bandwidth.txt`` and ``latency.txt`` of its pairwise tests.

It pairs all nodes in each of n - 1 rounds, by default with traffic in both directions at once, and measures
pairs outside its tolerance again (HPC-X documentation, "ClusterKit Evaluation Logic for Pairwise Tests").
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations
from statistics import fmean

from fabric_checks.core.errors import quoted
from fabric_checks.matrices.model import End, PairTable, Row, unit
from fabric_checks.matrices.shared_readers import matrix, task_ends
from fabric_checks.parsers.table import number, only, require

NAME = "ClusterKit"
SIGNATURE = re.compile(r"(?m)^[ \t]*Rank:((?:[ \t]+[0-9]{1,6})+)[ \t]*$")
_ROW = re.compile(r"[ \t]*([0-9]{1,6}) \(([\w.:-]+)\):[ \t]+(.*)")
_SUMMARY = re.compile(
    r"(?i)\b(minimum|maximum|average) (bandwidth|latency):[ \t]*(\S+) +(\w+(?:/\w+)?)",
)
#: Printed extremes are rounded; they differ from those of the matrix by no more than this share.
_ROUNDED = 0.01
_CANNOT_TELL = (
    "pairs outside ClusterKit's tolerance before it measured them again, with fewer others: the file has the"
    " last value"
)


def parse(text: str) -> list[PairTable]:
    """Read the matrix of a file, in which 0 is a pair that was not measured."""
    ranks = only(
        SIGNATURE.findall(text), "line 'Rank: 0 1 ...'", "give the file of one test"
    ).split()
    lines = enumerate(map(_ROW.fullmatch, text.splitlines()), 1)
    found = [(line, row.groups()) for line, row in lines if row]
    ends = task_ends([host for _, (_, host, _) in found])
    rows = matrix(
        ranks, [(line, rank, cells.split()) for line, (rank, _, cells) in found], ends
    )
    metric, factor = _unit(text, [row.value for row in rows if row.value > 0])
    once, both_ways = _once(rows, ends)
    measured = tuple(
        row._replace(value=row.value * factor) for row in once if row.value != 0
    )
    return [
        PairTable(
            NAME,
            metric,
            measured,
            alone=False,
            both_ways=both_ways,
            cannot_tell=(_CANNOT_TELL,),
        )
    ]


def _unit(text: str, measured: Sequence[float]) -> tuple[str, float]:
    """Return metric and factor by the lines with the extremes, which have to be those of the matrix."""
    printed = _SUMMARY.findall(text)
    kinds = {(kind.lower(), name) for _, kind, _, name in printed}
    kind, name = only(
        list(kinds), "line like 'Average bandwidth: 42107 MB/s'", "give the whole file"
    )
    metric, factor = unit(name)
    wrong = (
        f"{len(measured)} values above 0 of {kind} in {quoted(name)} are no measurement"
    )
    require(metric == kind and measured, wrong)
    extremes = {
        "minimum": min(measured),
        "maximum": max(measured),
        "average": fmean(measured),
    }
    for which, _, value, _ in printed:
        own = extremes[which.lower()]
        wrong = (
            f"{which} {kind} is printed as {quoted(value)}, but the matrix has {own:g}"
        )
        require(abs(number(value, None) - own) <= _ROUNDED * own, wrong)
    return metric, factor


def _both_ways(rows: Sequence[Row], ends: Sequence[End]) -> list[tuple[Row, Row]]:
    """Return the rows above the diagonal, each with that below it, unless neither was measured."""
    by_ends = {row[:2]: row for row in rows}
    ways = [(by_ends[pair], by_ends[pair[::-1]]) for pair in combinations(ends, 2)]
    return [each for each in ways if {row.value for row in each} != {0}]


def _once(rows: Sequence[Row], ends: Sequence[End]) -> tuple[Sequence[Row], bool]:
    """Return the upper half and True where the lower has the same values, or none; else all rows and False.

    :raises OutputError: if few pairs differ between the halves: of two directions all do.
    """
    pairs = _both_ways(rows, ends)
    differ = [back for row, back in pairs if row.value != back.value]
    has_lower = {back.value for _, back in pairs} - {0}
    if not (differ and has_lower):
        return [row for row, _ in pairs], True
    one, other, value, line, _ = differ[0]
    require(
        len(differ) >= len(pairs) / 2,
        f"{one} to {other} has {value:g}, not as {other} to {one}, but most pairs have one value: the file is"
        " damaged",
        line,
    )
    return rows, False
