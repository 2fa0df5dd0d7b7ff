# SPDX-License-Identifier: BSD-3-Clause
"""Selection of the records of a command."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import polars as pl

from fabric_checks.core.errors import RecordError, RequestError, cut, quoted
from fabric_checks.records import reader
from fabric_checks.records import sources as sets_of


def load(
    sources: Sequence[str],
    columns: Collection[str],
    where: Mapping[str, str] | None = None,
    *,
    compact: bool = False,
) -> reader.Loaded:
    """Read the results that a user names, or those of this clone.

    :param sources: as :func:`fabric_checks.records.sources.parse` reads them.
    :param columns: the fields to read; :param where: values that fields must have.
    :param compact: see :func:`fabric_checks.records.reader.load`.
    :raises RecordError: if there is nothing.
    """
    named = [sets_of.parse(text) for text in sources] or [sets_of.default()]
    chosen = [replace(each, where={**each.where, **(where or {})}) for each in named]
    return reader.load(chosen, columns, compact=compact)


def matching(frame: pl.DataFrame, patterns: Mapping[str, str | None]) -> pl.DataFrame:
    """Return the records whose fields match regular expressions in full; a field without a pattern always
    matches.

    :raises RequestError: if one is not a regular expression.
    :raises RecordError: if no record matches one.
    """
    for field, pattern in patterns.items():
        if pattern is None:
            continue
        try:
            compiled = re.compile(pattern)
        except (re.error, OverflowError, RecursionError) as error:
            cause = f"{quoted(pattern)} is not a regular expression for a {field}: {cut(str(error), 80)}"
            raise RequestError(
                f"{cause}; a character such as ( stands for itself behind a backslash"
            ) from None
        values = frame[field].drop_nulls().unique().to_list()
        chosen = list(filter(compiled.fullmatch, values))
        if not chosen:
            raise RecordError(
                f"no record there has a {field} {quoted(pattern)}; `fabric-checks show` lists them"
            )
        frame = frame.filter(pl.col(field).is_in(chosen))
    return frame
