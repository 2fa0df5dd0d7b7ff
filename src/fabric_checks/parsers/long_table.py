# SPDX-License-Identifier: BSD-3-Clause
"""Tables of our own programs with a row for each pair: on a thousand nodes these are a million."""

from __future__ import annotations

import io
import re
from collections.abc import Collection, Mapping

import polars as pl

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.parsers import fabric
from fabric_checks.parsers.table import SIX_DIGITS

#: The cells of a column by its type.
_CELLS: Mapping[type[pl.DataType], str] = {pl.Int32: r"(?:0|[1-9][0-9]{0,8})", pl.Float64: f"-?{SIX_DIGITS}"}


def parse(
    text: str,
    program: str,
    types: Mapping[str, type[pl.DataType]],
    valid: pl.Expr,
    rule: str,
    *,
    optional: Collection[str] = (),
) -> tuple[Mapping[str, str], pl.DataFrame]:
    """Read the output of a program whose table is too long to be read line by line: a thousand nodes have 10^6 pairs.

    :param types: the columns that the table has to have, in order, their cells a single space apart.
    :param valid: what has to hold of each row; :param rule: the same in words.
    :param optional: columns that older outputs lack.
    :returns: the header, and the rows, with null in columns that are not there.
    :raises OutputError: as :func:`fabric_checks.parsers.fabric.parse`.
    """
    frame = fabric.split(text, program, tuple(types), optional)
    of_columns = " ".join(_CELLS.get(types[name], r"[a-z]+") for name in frame.columns)
    if torn := re.search(rf"(?m)^(?!{of_columns}$).+", frame.body):
        at = frame.first_line + frame.body.count("\n", 0, torn.start())
        raise OutputError(f"a row of the columns {' '.join(frame.columns)} was expected, found {quoted(torn[0])}", at)
    body = re.sub(r"^\n+", "", frame.body, flags=re.MULTILINE) if "\n\n" in f"\n{frame.body}" else frame.body
    there = {name: types[name] for name in frame.columns}
    table = pl.read_csv(
        io.BytesIO(body.encode()), separator=" ", has_header=False, quote_char=None, schema=there, null_values=[]
    ).with_columns(pl.lit(None, types[name]).alias(name) for name in types if name not in there)
    if len(wrong := table.select(valid.not_().arg_true()).to_series()):
        number, line = list(frame.lines())[wrong[0]]
        raise OutputError(f"{rule}, found {quoted(line)}", number)
    frame.require_count(table.height)
    return frame.header, table
