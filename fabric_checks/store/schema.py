# SPDX-License-Identifier: BSD-3-Clause
"""The columns of a table of records."""

from __future__ import annotations

import polars as pl

from fabric_checks.perflog import FIELDS

#: Fields whose values are lists or objects. They are columns of JSON text: nothing of them is lost, and a table with
#: records of several releases has one type a column.
NESTED = ("compared", "not_offered", "sizes_B", "findings", "nodelist", "placement")

_OTHER: dict[str, pl.DataType] = {
    **dict.fromkeys(("format", "nodes", "ppn", "tasks", "size_B"), pl.Int64()),
    **dict.fromkeys(("value", "reference", "lower", "upper"), pl.Float64()),
    "time": pl.Datetime("us", "UTC"),
}

#: The type of each field's column, in the order of :data:`fabric_checks.perflog.FIELDS`.
COLUMNS: dict[str, pl.DataType] = {field: _OTHER.get(field, pl.String()) for field in FIELDS}

#: Records that agree in these are of one series: the same figure, measured again.
SERIES = ("system", "partition", "environ", "check", "test", "layout", "metric", "unit")
