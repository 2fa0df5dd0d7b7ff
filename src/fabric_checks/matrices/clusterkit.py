# SPDX-License-Identifier: BSD-3-Clause
"""NVIDIA ClusterKit: the text matrices ``bandwidth.txt`` and ``latency.txt`` of its pairwise tests.

It pairs all nodes in each of n - 1 rounds, by default with traffic in both directions at once, and measures pairs
outside its tolerance again (HPC-X documentation, "ClusterKit Evaluation Logic for Pairwise Tests").
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.matrices.model import End, PairTable, Row, of_rows, unit
from fabric_checks.parsers.table import number, only

Array = NDArray[np.float64]

NAME = "ClusterKit"
NEXT = "clusterkit.sh -f {hostfile} --exe_opt '-d bw -d lat -x'"
_HEADER = re.compile(r"^[ \t]*Rank:((?:[ \t]+[0-9]{1,6})+)[ \t]*$", re.MULTILINE)
_ROW = re.compile(r"[ \t]*([0-9]{1,6}) \(([^()\s]+)\):[ \t]+(.*?)[ \t]*")
_SUMMARY = re.compile(r"\b(Minimum|Maximum|Average) (bandwidth|latency):[ \t]*(\S+) +(\w+(?:/\w+)?)", re.IGNORECASE)
_JSON = re.compile(r'\A\s*\{.*"Links"\s*:', re.DOTALL)
#: Printed extremes are rounded; they differ from those of the matrix by no more than this share.
_ROUNDED = 0.01
_CANNOT_TELL = (
    "pairs outside ClusterKit's tolerance before it measured them again, with fewer others: the file has the last value"
)


def recognizes(text: str) -> bool:
    """Return whether there is a line of ranks above a matrix, or the JSON file of the same results."""
    return _HEADER.search(text) is not None or _JSON.match(text) is not None


def parse(text: str) -> list[PairTable]:
    """Read the matrix of a file.

    :raises OutputError: for its JSON, whose layout is not published; if the matrix is cut, contradicts itself or the
        extremes that are printed with it, or does not say whether it has bandwidths or latencies.
    """
    if _HEADER.search(text) is None:
        raise OutputError(
            "the layout of ClusterKit's JSON is not published: give bandwidth.txt and latency.txt from the same folder"
        )
    header = only(list(_HEADER.finditer(text)), "line 'Rank: 0 1 ...'", "give the file of one test")
    first = text.count("\n", 0, header.start(1)) + 2
    ranks = len(header[1].split())
    if header[1].split() != [str(rank) for rank in range(ranks)]:
        raise OutputError("the ranks of the columns are not 0, 1, 2, ...", first - 1)
    names, matrix = [], np.zeros((ranks, ranks))
    for rank, line in enumerate(text.splitlines()[first - 1 : first - 1 + ranks]):
        row = _ROW.fullmatch(line)
        values = row[3].split() if row else []
        if row is None or int(row[1]) != rank or len(values) != ranks:
            raise OutputError(
                f"the row of rank {rank} with {ranks} values was expected, found {quoted(line)}", first + rank
            )
        names.append(row[2])
        matrix[rank] = [number(value, first + rank) for value in values]
    if len(names) != ranks:
        raise OutputError(f"the matrix has {len(names)} of {ranks} rows: the file is cut")
    _require_halves(matrix, first)
    factor, metric = _unit(text, matrix)
    return [
        of_rows(
            NAME,
            metric,
            _rows(names, matrix * factor, first),
            alone=False,
            both_ways=_is_both(matrix),
            cannot_tell=[_CANNOT_TELL],
        )
    ]


def _unit(text: str, matrix: Array) -> tuple[float, str]:
    """Return factor and metric by the lines with the extremes, which have to be those of the matrix."""
    printed = list(_SUMMARY.finditer(text))
    if len({(each[2].lower(), each[4]) for each in printed}) != 1:
        raise OutputError("one line like 'Average bandwidth: 42107 MB/s' or 'Average latency: 1.74 usec' is missing")
    metric, factor = unit(printed[0][4])
    if metric != printed[0][2].lower():
        raise OutputError(f"a {printed[0][2]} in {quoted(printed[0][4])} is none")
    measured = matrix[matrix > 0]
    if not len(measured):
        raise OutputError("the matrix has no value above 0: give one of a run that measured pairs")
    extremes = {"minimum": measured.min(), "maximum": measured.max(), "average": measured.mean()}
    for each in printed:
        own = float(extremes[each[1].lower()])
        if abs(number(each[3], None) - own) > _ROUNDED * own:
            raise OutputError(f"{quoted(each[0])} is printed, but the matrix has {own:g}")
    return factor, metric


def _require_halves(matrix: Array, first: int) -> None:
    """Raise :class:`OutputError` if few pairs differ between the halves: measured ones differ all, or none does."""
    both = np.triu((matrix != 0) & (matrix.T != 0), 1)
    differ = np.argwhere(both & (matrix != matrix.T))
    if 0 < len(differ) < both.sum() / 2:
        one, other = differ[0].tolist()
        text = f"ranks {one} and {other} have {matrix[one, other]:g} and {matrix[other, one]:g}, most others one value"
        raise OutputError(f"{text}: the file is damaged", first + one)


def _is_both(matrix: Array) -> bool:
    """Return whether both halves are equal, or one is empty: then a value is that of both directions."""
    return bool(np.array_equal(matrix, matrix.T) or not np.tril(matrix, -1).any())


def _rows(names: list[str], matrix: Array, first: int) -> list[Row]:
    """Return the rows of all pairs that were measured; several ranks of a host are its processes."""
    ends = [
        End(name, f"process {names[:rank].count(name)}" if names.count(name) > 1 else "")
        for rank, name in enumerate(names)
    ]
    values = np.triu(matrix) if _is_both(matrix) else matrix
    return [
        Row(ends[sender], ends[receiver], float(values[sender, receiver]), first + sender)
        for sender, receiver in np.argwhere(values != 0).tolist()
        if sender != receiver
    ]
