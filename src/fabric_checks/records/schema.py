# SPDX-License-Identifier: BSD-3-Clause
"""The columns of a table of records."""

from __future__ import annotations

import polars as pl

from fabric_checks.records.record import TYPES

_KINDS: dict[type, pl.DataType] = {bool: pl.Boolean(), int: pl.Int64(), float: pl.Float64(), str: pl.String()}

#: Fields whose values are lists or objects. They are columns of JSON text, so nothing of them is lost. The text is
#: sound JSON; equal values may differ in text, 1 or 1.0.
NESTED = tuple(name for name, kind in TYPES.items() if kind not in _KINDS)

#: The type of each field's column, in the order of :data:`fabric_checks.records.record.FIELDS`.
COLUMNS: dict[str, pl.DataType] = {name: _KINDS.get(kind, pl.String()) for name, kind in TYPES.items()} | {
    "time": pl.Datetime("us", "UTC")
}

#: Records that agree in these are of one series: the same metric, measured again.
SERIES = ("system", "partition", "environ", "check", "test", "layout", "metric", "unit")

#: Two records that agree in these are one measurement that was written twice.
MEASUREMENT = (
    *("session", "time", "system", "partition", "environ", "check", "test", "metric", "value", "unit"),
    *("jobid", "result", "case_result"),
)

#: Text that a table repeats in many rows. A table that is read as ``compact`` has these as categories: each text is
#: kept once, and a row has a number of four bytes.
REPEATED = (
    *("session", "collection", "reframe", "system", "partition", "about", "environ", "check", "test", "parameters"),
    *(
        "layout",
        "metric",
        "quantity",
        "unit",
        "better",
        "no_reference",
        "evidence",
        "reference_source",
        "result",
        "case_result",
    ),
    *("program", "program_version", "stack", "spec_hash", "spack", "mpi", "compiler", "binding", "fail_reason"),
)
