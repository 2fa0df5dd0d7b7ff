# SPDX-License-Identifier: BSD-3-Clause
"""NVIDIA ClusterKit: the text matrices ``bandwidth.txt`` and ``latency.txt`` of its pairwise tests.

It pairs all nodes in each of n - 1 rounds, by default with traffic in both directions at once, and measures pairs
outside its tolerance again (HPC-X documentation, "ClusterKit Evaluation Logic for Pairwise Tests").
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from statistics import fmean

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.matrices.model import PairTable, Row, unit
from fabric_checks.matrices.reading import cells_of, task_ends
from fabric_checks.parsers.table import number, only

NAME = "ClusterKit"
NEXT = "clusterkit.sh -f {hostfile} --exe_opt '-d bw -d lat -x'"
_HEADER = re.compile(r"^[ \t]*Rank:((?:[ \t]+[0-9]{1,6})+)[ \t]*$", re.MULTILINE)
_ROW = re.compile(r"^[ \t]*([0-9]{1,6}) \(([\w.:-]+)\):[ \t]+(.*)$", re.MULTILINE)
_SUMMARY = re.compile(r"\b(Minimum|Maximum|Average) (bandwidth|latency):[ \t]*(\S+) +(\w+(?:/\w+)?)", re.IGNORECASE)
#: Printed extremes are rounded; they differ from those of the matrix by no more than this share.
_ROUNDED = 0.01
_CANNOT_TELL = (
    "pairs outside ClusterKit's tolerance before it measured them again, with fewer others: the file has the last value"
)


def recognizes(text: str) -> bool:
    """Return whether there is a line of ranks above a matrix."""
    return _HEADER.search(text) is not None


def parse(text: str) -> list[PairTable]:
    """Read the matrix of a file.

    :raises OutputError: if the matrix is cut, contradicts itself or the extremes that are printed with it, or does not
        say whether it has bandwidths or latencies.
    """
    ranks = only(_HEADER.findall(text), "line 'Rank: 0 1 ...'", "give the file of one test").split()
    if ranks != [str(rank) for rank in range(len(ranks))]:
        raise OutputError("the ranks of the columns are not 0, 1, 2, ...")
    found = list(_ROW.finditer(text))
    rows = [(text.count("\n", 0, row.start()) + 1, row[1], row[3].split()) for row in found]
    values = {(row, column): number(cell, line) for line, row, column, cell in cells_of(ranks, rows)}
    cells = {pair: value for pair, value in values.items() if pair[0] != pair[1]}
    metric, factor = _unit(text, [value for value in cells.values() if value > 0])
    both, ends = _is_both(cells), task_ends([row[2] for row in found])
    measured = tuple(
        Row(ends[row], ends[column], value * factor, rows[row][0])
        for (row, column), value in cells.items()
        if value != 0 and (row < column or not both)
    )
    return [PairTable(NAME, metric, measured, alone=False, both_ways=both, cannot_tell=(_CANNOT_TELL,))]


def _unit(text: str, measured: list[float]) -> tuple[str, float]:
    """Return metric and factor by the lines with the extremes, which have to be those of the matrix."""
    printed = list(_SUMMARY.finditer(text))
    if len({(each[2].lower(), each[4]) for each in printed}) != 1:
        raise OutputError("one line like 'Average bandwidth: 42107 MB/s' or 'Average latency: 1.74 usec' is missing")
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


def _is_both(cells: Mapping[tuple[int, int], float]) -> bool:
    """Return whether a value is that of both directions: both halves are equal, or one is empty.

    :raises OutputError: if few pairs differ between the halves: of two directions all do.
    """
    twice = {pair: (value, cells[pair[::-1]]) for pair, value in cells.items() if pair[0] < pair[1]}
    measured = {pair: values for pair, values in twice.items() if any(values)}
    if not any(below for _, below in measured.values()):
        return True
    differ = [pair for pair, (above, below) in measured.items() if above != below]
    if 0 < len(differ) < len(measured) / 2:
        (one, other), (above, below) = differ[0], measured[differ[0]]
        text = f"ranks {one} and {other} have {above:g} and {below:g}, most others one value"
        raise OutputError(f"{text}: the file is damaged")
    return not differ
