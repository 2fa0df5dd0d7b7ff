# SPDX-License-Identifier: BSD-3-Clause
"""Read records into one table."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import polars as pl

from fabric_checks.perflog import FIELDS
from fabric_checks.store.schema import COLUMNS, NESTED
from fabric_checks.store.sources import Source


@dataclass(frozen=True)
class Loaded:
    """What was read.

    :param frame: the good records: a column ``side``, the label of the source, and the columns asked for, of the types
        of :data:`fabric_checks.store.schema.COLUMNS`. A case that failed before it had figures has a record whose
        ``metric`` and ``value`` are null. In the order of ``time`` within a side.
    :param faults: a line for each record that was left out and each file that could not be read, with file, line,
        cause and remedy. A command prints them and exits with a status other than 0.
    """

    frame: pl.DataFrame
    faults: tuple[str, ...] = ()


def load(sources: Sequence[Source], columns: Collection[str] = FIELDS) -> Loaded:
    """Read sets of results.

    :param columns: the fields that are wanted; few are read faster.
    :raises RecordError: if a source does not exist or has no record at all.
    """
    import json

    frames = []
    for source in sources:
        rows = []
        paths = sorted(source.path.rglob("*.jsonl")) if source.path.is_dir() else [source.path]
        for path in paths:
            for line in path.read_text().splitlines():
                record = json.loads(line)
                row = {name: record.get(name) for name in FIELDS}
                row |= {name: None if row[name] is None else json.dumps(row[name]) for name in NESTED}
                rows.append(row)
        schema = dict(COLUMNS) | {"time": pl.String()}
        frame = pl.DataFrame(rows, schema=schema, orient="row").with_columns(
            pl.col("time").str.to_datetime(time_unit="us", time_zone="UTC", strict=False)
        )
        frames.append(
            frame.sort("time").select(pl.lit(source.label).alias("side"), *[name for name in FIELDS if name in columns])
        )
    return Loaded(pl.concat(frames))
