# SPDX-License-Identifier: BSD-3-Clause
"""NVIDIA ClusterKit: the text matrices ``bandwidth.txt`` and ``latency.txt`` of its pairwise tests.

It pairs all nodes in each of n - 1 rounds, by default with traffic in both directions at once, and measures
pairs outside its tolerance again (HPC-X documentation, "ClusterKit Evaluation Logic for Pairwise Tests").
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from statistics import fmean

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.matrices.model import End, PairTable, Row, unit
from fabric_checks.matrices.shared_readers import matrix, task_ends
from fabric_checks.parsers.table import number, only

NAME = "ClusterKit"
NEXT = "clusterkit.sh -f {hostfile} --exe_opt '-d bw -d lat -x'"
SIGNATURE = re.compile(r"^[ \t]*Rank:((?:[ \t]+[0-9]{1,6})+)[ \t]*$", re.MULTILINE)
_ROW = re.compile(r"^[ \t]*([0-9]{1,6}) \(([\w.:-]+)\):[ \t]+(.*)$", re.MULTILINE)
_SUMMARY = re.compile(
    r"\b(Minimum|Maximum|Average) (bandwidth|latency):[ \t]*(\S+) +(\w+(?:/\w+)?)", re.IGNORECASE
)
#: Printed extremes are rounded; they differ from those of the matrix by no more than this share.
_ROUNDED = 0.01
_CANNOT_TELL = (
    "pairs outside ClusterKit's tolerance before it measured them again, with fewer others: the file has the"
    " last value"
)


def parse(text: str) -> list[PairTable]:
    """Read the matrix of a file, in which 0 is a pair that was not measured."""
    ranks = only(SIGNATURE.findall(text), "line 'Rank: 0 1 ...'", "give the file of one test").split()
    if ranks != [str(rank) for rank in range(len(ranks))]:
        raise OutputError("the ranks of the columns are not 0, 1, 2, ...")
    found = list(_ROW.finditer(text))
    lines = [(text.count("\n", 0, row.start()) + 1, row[1], row[3].split()) for row in found]
    rows = matrix(ranks, lines, task_ends([row[2] for row in found]))
    metric, factor = _unit(text, [row.value for row in rows if row.value > 0])
    once, both_ways = _once(rows)
    measured = tuple(row._replace(value=row.value * factor) for row in once if row.value != 0)
    return [PairTable(NAME, metric, measured, alone=False, both_ways=both_ways, cannot_tell=(_CANNOT_TELL,))]


def _unit(text: str, measured: list[float]) -> tuple[str, float]:
    """Return metric and factor by the lines with the extremes, which have to be those of the matrix."""
    printed = list(_SUMMARY.finditer(text))
    if len({(each[2].lower(), each[4]) for each in printed}) != 1:
        raise OutputError(
            "one line like 'Average bandwidth: 42107 MB/s' or 'Average latency: 1.74 usec' is missing"
        )
    metric, factor = unit(printed[0][4])
    if metric != printed[0][2].lower():
        raise OutputError(f"a {printed[0][2]} in {quoted(printed[0][4])} is none")
    if not measured:
        raise OutputError("the matrix has no value above 0: give one of a run that measured pairs")
    extremes = {"minimum": min(measured), "maximum": max(measured), "average": fmean(measured)}
    for each in printed:
        own = extremes[each[1].lower()]
        if abs(number(each[3], None) - own) > _ROUNDED * own:
            raise OutputError(f"{quoted(each[0])} is printed, but the matrix has {own:g}")
    return metric, factor


def _once(rows: Sequence[Row]) -> tuple[Sequence[Row], bool]:
    """Return the upper half and True where the lower has the same values, or none; else all rows and False.

    :raises OutputError: if few pairs differ between the halves: of two directions all do.
    """
    pairs = defaultdict[frozenset[End], list[Row]](list)
    for row in rows:
        pairs[frozenset(row[:2])].append(row)
    differ = [(row, back) for row, back in pairs.values() if row.value != back.value]
    if not differ or not any(back.value for _, back in pairs.values()):
        return [row for row, _ in pairs.values()], True
    if len(differ) < sum(row.value > 0 or back.value > 0 for row, back in pairs.values()) / 2:
        row, back = differ[0]
        cause = (
            f"{row.sender} and {row.receiver} have {row.value:g} and {back.value:g}, most others one value"
        )
        raise OutputError(f"{cause}: the file is damaged", back.line)
    return rows, False
