# SPDX-License-Identifier: BSD-3-Clause
"""Read the database of results that ReFrame itself keeps (``storage`` with the back end ``sqlite``, ReFrame 4.10).

Its sessions are whole run reports, and these have the loggable variables of each case. Of a check of this collection
that is everything that its perflog records have, and the records come out the same. Of any other check a record has:
format, session (ReFrame's UUID), time (when the job ended), reframe, system, partition, environ, check (the first word
of its name), test, tasks, metric, quantity (the metric), value, unit, reference and its bounds, result, case_result,
fail_reason, nodelist, jobid. All else is null; so whether a smaller value is better is not known, nor which programs
were measured.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fabric_checks.core.errors import FileError, quoted
from fabric_checks.core.files import LARGEST_B
from fabric_checks.records.perflog import records_of
from fabric_checks.records.record import FIELDS, Facts, MetricFacts
from fabric_checks.records.table import Report

#: How long another process may hold the database, in seconds.
PATIENCE_S = 5.0
_SESSIONS = """
    SELECT uuid, CASE WHEN length(json_blob) <= ? THEN json_blob END FROM sessions ORDER BY session_start_unix, uuid
"""


def records(path: Path, report: Report) -> Iterator[tuple[int, dict[str, Any]]]:
    """Read all records of a database.

    :param report: is called with a number and a cause for each session or case that cannot be read.
    :returns: the number of each record's case, counted over the whole database from 1, and the record.
    :raises FileError: if the database cannot be read at all, or not to its end.
    """
    number = 0
    try:
        # Read-only: without it, a file that is not there would be made.
        connection = sqlite3.connect(f"file:{quote(str(path.resolve()))}?mode=ro", uri=True, timeout=PATIENCE_S)
        try:
            _require_table(connection)
            # As bytes: of a text that is none, one session is lost and not all.
            connection.text_factory = bytes
            for uuid_B, text in connection.execute(_SESSIONS, (LARGEST_B,)):
                uuid = uuid_B.decode(errors="replace") if isinstance(uuid_B, bytes) else str(uuid_B)
                try:
                    session = json.loads(text)
                    version = str(session["session_info"]["version"])
                    cases = [case for run in session["runs"] for case in run["testcases"]]
                except (ValueError, KeyError, TypeError, RecursionError) as error:
                    report(number + 1, f"session {quoted(uuid)} is not a run report ({type(error).__name__})")
                    continue
                for case in cases:
                    number += 1
                    try:
                        found = _of_case(case, uuid, version)
                    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, OSError) as error:
                        report(number, f"a case of session {quoted(uuid)} is incomplete ({repr(error)[:120]})")
                        continue
                    for record in found:
                        yield number, record
        finally:
            connection.close()
    except sqlite3.OperationalError as error:
        if "locked" in str(error) or "busy" in str(error):
            why = f"another process has held it for {PATIENCE_S:g} s; try again when it has ended"
        else:
            why = f"{error}; is it a database of ReFrame's results?"
        raise FileError(path, why) from None
    except sqlite3.DatabaseError as error:
        raise FileError(path, f"a broken database ({error}); restore it from a copy") from None


def _require_table(connection: sqlite3.Connection) -> None:
    """Refuse sessions that are computed when they are read: a view, say, may have no end.

    :raises sqlite3.OperationalError: if they are no plain table.
    """
    found = connection.execute("SELECT type, sql FROM sqlite_master WHERE name = 'sessions'").fetchall()
    create = re.compile(r"\s*CREATE\s+TABLE\b", re.IGNORECASE)
    plain = [sql for kind, sql in found if kind == "table" and create.match(str(sql))]
    # The last column is 0 of one that is kept, and not computed.
    columns = connection.execute("SELECT hidden FROM pragma_table_xinfo('sessions')").fetchall() if plain else []
    if found and (len(plain) != len(found) or any(hidden for (hidden,) in columns)):
        raise sqlite3.OperationalError("'sessions' is not a plain table")


def _of_case(case: Mapping[str, Any], session: str, version: str) -> list[dict[str, Any]]:
    """Return the records of a case, as the perflog has them."""
    if case.get("fixture"):
        return []  # a build: it has no values, as in the perflog
    facts = case.get("facts")
    ours = isinstance(facts, dict) and "check" in facts and "session" in facts
    attributes = {
        "version": version,
        "check_system": case["system"],
        "check_partition": case["partition"],
        "check_environ": case["environ"],
        "check_display_name": case.get("display_name") or case["name"],
        "check_result": case["result"],
        "check_fail_reason": case.get("fail_reason"),
        "check_job_nodelist": case.get("job_nodelist"),
        "check_jobid": case.get("jobid"),
        "check_perfvalues": _perfvalues(case),
        "check_facts": facts if ours else _facts(case, session),
    }
    found = records_of(attributes)
    if not ours:
        for record in found:
            # A reference of 0 is how ReFrame says that there is none.
            if record["reference"] == 0 and record["lower"] is None and record["upper"] is None:
                record["reference"] = None
    for record in found:
        record["time"] = record["time"] or _time(case)
    return [{name: record.get(name) for name in (*FIELDS, *record)} for record in found]


def _perfvalues(case: Mapping[str, Any]) -> dict[str, Any]:
    """Return value, reference, lower, upper, unit and result by metric; before ReFrame 4.8 there was no result."""
    found = {}
    for key, values in (case.get("perfvalues") or {}).items():
        value, reference, lower, upper, unit, *rest = values
        found[key] = (value, reference, lower, upper, unit, rest[0] if rest else None)
    return found


def _facts(case: Mapping[str, Any], session: str) -> dict[str, Any]:
    """Return what is known of a check that is not of this collection."""
    name = str(case.get("display_name") or case["name"])
    tasks = case.get("num_tasks")
    return Facts(
        session=session,
        check=name.split(maxsplit=1)[0],
        # A report does not tell parameters from other variables, but for the name that ReFrame made of them.
        parameters=dict(part.split("=", 1) for part in name.split(" %")[1:] if "=" in part),
        tasks=tasks if isinstance(tasks, int) and tasks > 0 else None,
        metrics={
            name: MetricFacts(quantity=name) for name in (key.split(":")[-1] for key in case.get("perfvalues") or {})
        },
    ).as_data()


def _time(case: Mapping[str, Any]) -> str | None:
    """Return when the job ended."""
    seconds = case.get("job_completion_time_unix")
    if not isinstance(seconds, int | float):
        return None
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat()
