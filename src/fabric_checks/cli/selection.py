# SPDX-License-Identifier: BSD-3-Clause
"""Selection of the records of a command."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

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
