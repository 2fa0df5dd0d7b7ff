# SPDX-License-Identifier: BSD-3-Clause
"""Which records of a source are wanted: those of its dates and values."""

from __future__ import annotations

import json
from collections.abc import Sequence

import polars as pl

from fabric_checks.records.schema import COLUMNS, NESTED
from fabric_checks.records.sources import Source


def condition(sources: Sequence[Source]) -> pl.Expr | None:
    """Return what a record has to fulfil to be wanted by one of several sources, or None if all are wanted."""
    each = [_condition(source) for source in sources]
    wanted = [one for one in each if one is not None]
    return pl.any_horizontal(wanted) if len(wanted) == len(each) else None


def _condition(source: Source) -> pl.Expr | None:
    rules = [_has(name, value) for name, value in source.where.items()]
    if source.since:
        rules.append(pl.col("time") >= source.since)
    if source.until:
        rules.append(pl.col("time") < source.until)
    return pl.all_horizontal(rules) if rules else None


def text(source: Source) -> str:
    """Return the limits of a source in words, or nothing."""
    parts = [f"{name}={value}" for name, value in source.where.items()]
    if source.since:
        parts.insert(0, f"from {source.since:%Y-%m-%dT%H:%M:%SZ}")
    if source.until:
        parts.insert(1 if source.since else 0, f"before {source.until:%Y-%m-%dT%H:%M:%SZ}")
    return ", ".join(parts)


def _has(name: str, value: str) -> pl.Expr:
    """Return whether a field has a value that a user wrote; a list or an object must have it as an item."""
    column = pl.col(name)
    if name in NESTED:
        return column.str.contains(json.dumps(value, ensure_ascii=False), literal=True)
    if COLUMNS[name] == pl.String():
        return column == value
    if name == "time":
        return column.dt.strftime("%Y-%m-%dT%H:%M:%S") == value[:19]
    if COLUMNS[name] == pl.Boolean():
        return column == {"true": True, "false": False}.get(value)
    try:
        return column == float(value)
    except ValueError:
        return pl.lit(value=False)
