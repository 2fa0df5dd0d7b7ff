# SPDX-License-Identifier: BSD-3-Clause
"""Tables of our own programs that are too long to be taken apart line by line: a run on a thousand nodes has a
million rows.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping

import polars as pl

from fabric_checks.parsers.fabric import Frame


def rows(frame: Frame, types: Mapping[str, type[pl.DataType]]) -> pl.DataFrame | None:
    """Return the rows of a table, their cells a single space apart.

    :param types: the columns that it has to have, in order, with the type of each.
    :returns: None if the columns are others, or a row is not of them; the caller has to find it.
    """
    if frame.columns != tuple(types):
        return None
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
