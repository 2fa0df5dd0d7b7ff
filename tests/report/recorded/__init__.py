# SPDX-License-Identifier: BSD-3-Clause
"""Recorded runs, each in one compact file with the fields that a summary or a report shows.

``lab/pack_run.py`` writes one from a folder of results.
"""

import json
from functools import cache
from pathlib import Path

from fabric_checks.records.record import FIELDS
from fabric_checks.records.runs import Case, Session

HERE = Path(__file__).resolve().parent
NAMES = tuple(sorted(path.stem for path in HERE.glob("*.json")))
#: The fields that all values of a case share, those that many values share, and those of a value alone.
OF_CASE = (
    *(
        "system",
        "partition",
        "environ",
        "test",
        "check",
        "family",
        "parameters",
        "layout",
        "nodes",
        "ppn",
        "tasks",
    ),
    *(
        "case_result",
        "fail_reason",
        "program",
        "program_version",
        "mpi",
        "compiler",
        "nodelist",
        "binding",
        "findings",
    ),
    "limits",
    *(
        "not_offered",
        "stack",
        "time",
        "elapsed_s",
        "collection",
        "reframe",
        "link_MBps",
    ),
)
SHARED = (
    "unit",
    "quantity",
    "better",
    "can_be_zero",
    "result",
    "no_reference",
    "evidence",
    "headline",
)
OWN = (
    "metric",
    "value",
    "size_B",
    "reference",
    "lower",
    "upper",
    "compared",
    "reference_source",
)


def records_of(name):
    """Return the records of a recorded run, with their times as in the perflog."""
    content = json.loads((HERE / f"{name}.json").read_text())
    of_all = dict.fromkeys(FIELDS) | {"format": 3, "session": content["session"]}
    return [
        of_all
        | case
        | dict(zip(SHARED, content["shared"][number], strict=True))
        | dict(zip(OWN, own, strict=True))
        for case, values in content["records"]
        for number, *own in values
    ]


def session_of(name):
    """Return a recorded run as a session."""
    content = json.loads((HERE / f"{name}.json").read_text())
    records = records_of(name)
    measured = {}
    for record in records:
        key = f"{record['test']} @{record['system']}:{record['partition']}+{record['environ']}"
        measured.setdefault(key, set()).add(record["metric"])
    cases = tuple(
        Case(
            case,
            result,
            phase,
            reason,
            fixture,
            frozenset(measured.get(case, ())),
            failed_before,
            system,
        )
        for case, result, phase, reason, fixture, failed_before, system in content[
            "cases"
        ]
    )
    return Session(content["session"], HERE / "report.json", cases, tuple(records))


@cache
def _declared():
    """Return what checks declared in recorded runs: families by check, headlines by check, quantity and
    parameters."""
    found = {}
    for record in (record for name in NAMES for record in records_of(name)):
        found[record["check"]] = record["family"]
        found[record["check"], record["quantity"], json.dumps(record["parameters"])] = (
            record["headline"]
        )
    return found


def declared(check, quantity, parameters):
    """Return family and headline of a metric, as its check has declared them in a recorded run."""
    of = _declared()
    return {
        "family": of.get(check),
        "headline": of.get((check, quantity, json.dumps(parameters))),
    }
