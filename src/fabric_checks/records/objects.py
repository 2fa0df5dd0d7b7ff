# SPDX-License-Identifier: BSD-3-Clause
"""Records one by one: what is read whole, such as those of one session, passes the rules of the tables too."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from fabric_checks.core.errors import RecordError
from fabric_checks.records import jsonlines, listing, rows, validation
from fabric_checks.records.faults import LEFT_OUT, Faults
from fabric_checks.records.record import FIELDS

_SCHEMA = validation.raw_schema(FIELDS)


def checked(
    records: Sequence[tuple[int, dict[str, Any]]], report: jsonlines.Report, *, any_unit: bool = False
) -> tuple[pl.DataFrame, list[dict[str, Any]]]:
    """Return the sound ones of some records, as a table and as they were.

    :param records: each with its number. :param report: is called with number and cause of each of the ours.
    :param any_unit: see :func:`fabric_checks.records.validation.checked`.
    """
    # A database has several records of one number: they are counted anew here.
    counted = ((place, record) for place, (_, record) in enumerate(records))
    table = jsonlines.frame_of(counted, _SCHEMA, lambda place, cause: report(records[place][0], cause))
    good, unsound = validation.checked(table, any_unit=any_unit)
    for place, cause in unsound:
        report(records[place][0], cause)
    return good, [records[place][1] for place in good["line"]]


def of_session(results: Path, session: str, earliest_s: float, faults: Faults) -> list[dict[str, Any]]:
    """Read the records of one session from the perflogs in a folder of results: the sound ones, with all they say.

    :param earliest_s: files that were not written to since then, in seconds since the epoch, are passed over.
    :param faults: gets what is left out, also lines that may be of another session; sound ones of ours are not
        read, which would take long.
    """
    found: list[dict[str, Any]] = []
    if not (results / "perflogs").is_dir():
        return found
    try:
        paths = listing.files_of(results, faults).json_lines
    except RecordError:
        return found  # no case has come to its records, which the session itself tells better
    for path in paths:
        try:
            if path.stat().st_mtime >= earliest_s:
                found += _of_file(path, session, faults)
        except OSError as error:
            faults.add(path, 0, f"{error.strerror}; the file is left out")
    return found


def _of_file(path: Path, session: str, faults: Faults) -> list[dict[str, Any]]:
    def report(line: int, cause: str) -> None:
        faults.add(path, line, cause + LEFT_OUT)

    found = []
    for block in jsonlines.blocks(path, report):
        records = jsonlines.records(block, report, about=session)
        ours = [
            each for each in records if each[1].get("session") == session or not isinstance(each[1].get("session"), str)
        ]
        good, as_they_were = checked(ours, report)
        found += [
            # What this release does not know is kept, and what it knows is of the kind that it has to be.
            {**record, **rows.record_of(row)}
            for record, row in zip(as_they_were, good.iter_rows(named=True), strict=True)
            if row["session"] == session
        ]
    return found
