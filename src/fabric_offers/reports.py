# SPDX-License-Identifier: BSD-3-Clause
"""Compare the records of an offer with ReFrame's own reports of the sessions, which have the same once more."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from fabric_checks.core import files
from fabric_checks.records.perflog import records_of
from fabric_checks.records.record import FIELDS, Record, case_name
from fabric_checks.records.runs import reports_of
from fabric_offers.bundle_file import Fault
from fabric_offers.recomputation import disagreements
from fabric_offers.runs import Run

#: What a record is made of, as ReFrame's log has it, and the results of cases that have records.
ATTRIBUTES = (
    *("system", "partition", "environ", "display_name", "result", "fail_reason", "jobid", "perfvalues", "job_nodelist"),
    "facts",
)
_RECORDED = ("pass", "fail", "xfail", "xpass")


def differences(folder: Path, runs: Sequence[Run], following: Mapping[str, Collection[str]]) -> Iterator[Fault]:
    """Find fields of records that are others in the report of their session, and cases of that without records.

    :param following: the fields that follow from the outputs, and are left to these, by the folder of a run.
    """
    reports = reports_of(folder)
    by_session: dict[str, list[Run]] = {}
    for run in runs:
        by_session.setdefault(str(run.first["session"]), []).append(run)
    for session, of_session in by_session.items():
        if session not in reports:
            yield Fault("removed", f"reports of {session}", "ReFrame's report of this session is not there")
            continue
        try:
            reported = _records(reports[session], folder)
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            cause = f"{type(error).__name__}: {error}"[:120]
            yield Fault("record", reports[session].name, f"ReFrame's report of the session is broken ({cause})")
            continue
        for run in of_session:
            others = reported.pop(run.first["output"], [])
            fields = [name for name in FIELDS if name not in following.get(run.folder, ())]
            for text in disagreements(run, others, fields, "ReFrame's report"):
                yield Fault("record", run.name, text)
        for output, (first, *_) in reported.items():
            yield Fault("removed", f"{case_name(first)} of {output}", "ReFrame's report has it, but there is no record")


def _records(path: Path, folder: Path) -> dict[str, list[Record]]:
    """Return the records of the cases in a report, by their output folders."""
    report = json.loads(files.read_bytes(path, folder))
    version = report["session_info"]["version"]
    cases = [case for each in report["runs"] for case in each["testcases"]]
    every: list[list[Record]] = [
        [*records_of({"version": version, **{f"check_{name}": case.get(name) for name in ATTRIBUTES}})]
        for case in cases
        if case.get("facts") and case["result"] in _RECORDED
    ]
    return {records[0]["output"]: records for records in every}
