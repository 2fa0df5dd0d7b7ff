# SPDX-License-Identifier: BSD-3-Clause
"""Recorded runs, each in one compact file with the fields that a summary or a report shows.

    python -m tests.report.recorded RESULTS SESSION > tests/report/recorded/NAME.json

writes one from a folder of results. Points of curves that no summary shows by themselves are thinned.
"""

import json
from datetime import datetime, timezone
from functools import cache
from pathlib import Path

from fabric_checks.records.record import FIELDS
from fabric_checks.records.runs import Case, Session

HERE = Path(__file__).resolve().parent
NAMES = tuple(sorted(path.stem for path in HERE.glob("*.json")))
#: The fields that all values of a case share, those that many values share, and those of a value alone.
OF_CASE = (
    *("system", "partition", "environ", "test", "check", "family", "parameters", "layout", "nodes", "ppn", "tasks"),
    *("case_result", "fail_reason", "program", "program_version", "mpi", "compiler", "nodelist", "binding", "findings"),
    *("not_offered", "stack", "time", "elapsed_s", "collection", "reframe", "link_MBps"),
)
SHARED = ("unit", "quantity", "better", "can_be_zero", "result", "no_reference", "evidence", "headline")
OWN = ("metric", "value", "size_B", "reference", "lower", "upper", "compared", "reference_source")


def packed(session):
    """Return a session as JSON text."""
    shared, by_case = [], {}
    for record in session.records:
        key = json.dumps([record[name] for name in OF_CASE])
        of = by_case.setdefault(key, ({name: record[name] for name in OF_CASE if record[name] is not None}, []))
        if _is_kept(record["size_B"]):
            key = json.dumps([record[name] for name in SHARED])
            if key not in shared:
                shared.append(key)
            of[1].append([shared.index(key), *(record[name] for name in OWN)])
    cases = [
        [case.name, case.result, case.phase, case.reason, case.fixture, case.failed_before, case.system]
        for case in session.cases
    ]
    content = {
        "session": session.name,
        "cases": cases,
        "shared": [json.loads(each) for each in shared],
        "records": list(by_case.values()),
    }
    return json.dumps(content, separators=(",", ":"))


def _is_kept(size_B):
    """Tell whether a size is kept: every third power of two, and the last ones."""
    return size_B is None or size_B in (0, 1, 8, 64, 512, 4096, 32768, 262144, 1048576, 4194304)


def records_of(name):
    """Return the records of a recorded run, with their times as in the perflog."""
    content = json.loads((HERE / f"{name}.json").read_text())
    of_all = dict.fromkeys(FIELDS) | {"format": 2, "session": content["session"]}
    return [
        of_all | case | dict(zip(SHARED, content["shared"][number], strict=True)) | dict(zip(OWN, own, strict=True))
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
        Case(case, result, phase, reason, fixture, frozenset(measured.get(case, ())), failed_before, system)
        for case, result, phase, reason, fixture, failed_before, system in content["cases"]
    )
    return Session(content["session"], HERE / "report.json", cases, tuple(records))


@cache
def _declared():
    """Return what checks declared in recorded runs: families by check, headlines by check, quantity and parameters."""
    found = {}
    for record in (record for name in NAMES for record in records_of(name)):
        found[record["check"]] = record["family"]
        found[record["check"], record["quantity"], json.dumps(record["parameters"])] = record["headline"]
    return found


def declared(check, quantity, parameters):
    """Return family and headline of a metric, as its check has declared them in a recorded run."""
    of = _declared()
    return {"family": of.get(check), "headline": of.get((check, quantity, json.dumps(parameters)))}


def with_times(records):
    """Return records whose times are times, as a store gives them."""
    return [
        record | {"time": datetime.fromisoformat(record["time"]).astimezone(timezone.utc)}
        for record in records
        if record["time"]
    ]
