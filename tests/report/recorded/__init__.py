# SPDX-License-Identifier: BSD-3-Clause
"""Runs that were recorded, each in one compact file: what their records say that a summary or a report shows.

    python -m tests.report.recorded RESULTS SESSION > tests/report/recorded/NAME.json

writes one from a folder of results. Points of curves that no summary shows by themselves are thinned.
"""

import json
from datetime import datetime, timezone
from pathlib import Path

from fabric_checks.records.record import FIELDS
from fabric_checks.records.runs import Case, Session

HERE = Path(__file__).resolve().parent
NAMES = tuple(sorted(path.stem for path in HERE.glob("*.json")))
#: What a case says of all its values, and what it says of each.
OF_CASE = (
    *(
        "system",
        "partition",
        "environ",
        "test",
        "check",
        "parameters",
        "layout",
        "nodes",
        "ppn",
        "tasks",
        "case_result",
    ),
    *("fail_reason", "program", "program_version", "mpi", "compiler", "nodelist", "binding", "findings", "not_offered"),
    *("stack", "time", "elapsed_s", "collection", "reframe", "link_MBps"),
)
OF_VALUE = (
    *(
        "metric",
        "value",
        "unit",
        "quantity",
        "size_B",
        "better",
        "can_be_zero",
        "result",
        "reference",
        "lower",
        "upper",
    ),
    *("no_reference", "evidence", "compared", "reference_source"),
)


def packed(session):
    """Return a session as JSON text."""
    shared, by_case = [], {}
    for record in session.records:
        key = json.dumps([record[name] for name in OF_CASE])
        of = by_case.setdefault(key, ({name: record[name] for name in OF_CASE if record[name] is not None}, []))
        if not _thin(record["size_B"]):
            continue
        values = [record[name] for name in OF_VALUE]
        key = json.dumps(values[2:4] + values[5:8] + values[11:13])
        if key not in shared:
            shared.append(key)
        of[1].append(
            [shared.index(key), record["metric"], record["value"], record["size_B"], *values[8:11], *values[13:]]
        )
    cases = [
        [case.name, case.result, case.phase, case.reason, case.fixture, case.failed_before, case.system]
        for case in session.cases
    ]
    return json.dumps(
        {
            "session": session.name,
            "cases": cases,
            "shared": [json.loads(each) for each in shared],
            "records": list(by_case.values()),
        },
        separators=(",", ":"),
    )


def _thin(size_B):
    """Tell whether a size is kept: every third power of two, and the last ones."""
    return size_B is None or size_B in (0, 1, 8, 64, 512, 4096, 32768, 262144, 1048576, 4194304)


def records_of(name):
    """Return the records of a recorded run, with their times as in the perflog."""
    told = json.loads((HERE / f"{name}.json").read_text())
    found = []
    for case, values in told["records"]:
        for place, metric, value, size_B, reference, lower, upper, compared, source in values:
            unit, quantity, better, can_be_zero, result, no_reference, evidence = told["shared"][place]
            found.append(
                dict.fromkeys(FIELDS)
                | {"format": 2, "session": told["session"]}
                | case
                | {"metric": metric, "value": value, "unit": unit, "quantity": quantity, "size_B": size_B}
                | {"better": better, "can_be_zero": can_be_zero, "result": result, "no_reference": no_reference}
                | {"reference": reference, "lower": lower, "upper": upper, "evidence": evidence}
                | {"compared": compared, "reference_source": source}
            )
    return found


def session_of(name):
    """Return a recorded run as a session."""
    told = json.loads((HERE / f"{name}.json").read_text())
    records = records_of(name)
    measured = {}
    for record in records:
        key = f"{record['test']} @{record['system']}:{record['partition']}+{record['environ']}"
        measured.setdefault(key, set()).add(record["metric"])
    cases = tuple(
        Case(case, result, phase, reason, fixture, frozenset(measured.get(case, ())), failed_before, system)
        for case, result, phase, reason, fixture, failed_before, system in told["cases"]
    )
    return Session(told["session"], HERE / "report.json", cases, tuple(records))


def with_times(records):
    """Return records whose times are times, as a store gives them."""
    return [
        record | {"time": datetime.fromisoformat(record["time"]).astimezone(timezone.utc)}
        for record in records
        if record["time"]
    ]
