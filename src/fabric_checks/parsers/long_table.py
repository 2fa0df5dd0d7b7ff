# SPDX-License-Identifier: BSD-3-Clause
"""Tables of our own programs with a row for each pair: on a thousand nodes these are a million."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping

import polars as pl

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.parsers import fabric

#: The cells of a column by its type, as far as they are checked one by one.
_CELLS: Mapping[type[pl.DataType], str] = {pl.Int32: r"[0-9]{1,9}", pl.Float64: r"[-+0-9.eE]{1,40}"}


def parse(
    text: str, program: str, types: Mapping[str, type[pl.DataType]], valid: pl.Expr, rule: str
) -> tuple[Mapping[str, str], pl.DataFrame]:
    """Read the output of a program whose table is too long to be read line by line: a thousand nodes have 10^6 pairs.

    :param types: the columns that the table has to have, in order, their cells a single space apart.
    :param valid: what has to hold of each row; :param rule: the same in words.
    :returns: the header, and the rows.
    :raises OutputError: as :func:`fabric_checks.parsers.fabric.parse`.
    """
    frame = fabric.split(text, program, tuple(types))
    if frame.columns != tuple(types):
        raise OutputError(f"the columns {' '.join(frame.columns)} were expected to be {' '.join(types)}")
    table = _table(frame, types)
    if table is None:
        raise _torn_row(frame, types)
    if len(wrong := table.select(valid.not_().arg_true()).to_series()):
        number, line = list(frame.lines())[wrong[0]]
        raise OutputError(f"{rule}, found {quoted(line)}", number)
    frame.require_count(table.height)
    return frame.header, table


def _table(frame: fabric.Frame, types: Mapping[str, type[pl.DataType]]) -> pl.DataFrame | None:
    """Return the rows of a table; None if a row is not of these columns."""
    body = frame.body
    if body.startswith("\n") or "\n\n" in body:
        body = re.sub(r"^\n+", "", body, flags=re.MULTILINE)
    try:
        table = pl.read_csv(
            io.BytesIO(body.encode(errors="replace")),
            separator=" ",
            has_header=False,
            quote_char=None,
            schema=types,
            null_values=[],
        )
    except pl.exceptions.PolarsError:
        return None
    return None if table.null_count().sum_horizontal()[0] > 0 else table


def _torn_row(frame: fabric.Frame, types: Mapping[str, type[pl.DataType]]) -> OutputError:
    """Return the error for the first row that is not of these columns."""
    for number, line in frame.lines():
        cells = line.split(" ")
        if len(cells) != len(types) or not all(
            re.fullmatch(_CELLS.get(kind, r".+"), cell) for kind, cell in zip(types.values(), cells, strict=True)
        ):
            return OutputError(f"a row of the columns {' '.join(types)} was expected, found {quoted(line)}", number)
    return OutputError(f"the table is not of the columns {' '.join(types)}", frame.first_line)
