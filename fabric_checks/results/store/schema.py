# SPDX-License-Identifier: BSD-3-Clause
"""The columns of a table of records."""

from __future__ import annotations

import polars as pl

from fabric_checks.results.perflog import FIELDS

#: Fields whose values are lists or objects. They are columns of JSON text: nothing of them is lost, and a table with
#: records of several releases has one type a column. The text is sound JSON; equal values may differ in text, 1 or 1.0.
NESTED = ("compared", "not_offered", "sizes_B", "findings", "nodelist", "placement")

_OTHER: dict[str, pl.DataType] = {
    **dict.fromkeys(("format", "nodes", "ppn", "tasks", "size_B", "node_traffic_B", "disk_B"), pl.Int64()),
    **dict.fromkeys(("value", "reference", "lower", "upper", "elapsed_s"), pl.Float64()),
    "time": pl.Datetime("us", "UTC"),
}

#: The type of each field's column, in the order of :data:`fabric_checks.results.perflog.FIELDS`.
COLUMNS: dict[str, pl.DataType] = {field: _OTHER.get(field, pl.String()) for field in FIELDS}

#: Records that agree in these are of one series: the same figure, measured again.
SERIES = ("system", "partition", "environ", "check", "test", "layout", "metric", "unit")

#: Two records that agree in these are one measurement that was written twice.
MEASUREMENT = (
    *("session", "time", "system", "partition", "environ", "check", "test", "metric", "value", "unit"),
    *("jobid", "result", "case_result"),
)

#: Text that a table repeats in many rows. A table that is read as ``compact`` has these as categories: each text is
#: kept once, and a row has a number of four bytes.
REPEATED = (
    *("session", "collection", "reframe", "system", "partition", "environ", "check", "test", "layout", "metric"),
    *("quantity", "unit", "better", "no_reference", "evidence", "reference_source", "result", "case_result"),
    *("program", "program_version", "source", "spec_hash", "spack", "mpi", "compiler", "binding", "fail_reason"),
)
