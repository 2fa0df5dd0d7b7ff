# SPDX-License-Identifier: BSD-3-Clause
"""ReFrame's run reports, as far as they are used here: whatever a disk or somebody else made of them.

A report is one JSON object, so that of a cut one nothing is left; a case in it that is none costs that case.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fabric_checks.core import files
from fabric_checks.core.errors import RecordError, quoted

Case = Mapping[str, Any]

_TEXTS = ("system", "partition", "environ", "result")
_OPTIONAL = ("display_name", "fail_phase", "fail_reason")
#: The log files stand near the start of a report, which has megabytes.
_HEAD_B = 65536
#: A longer name is none of a file.
_LONGEST = 200


@dataclass(frozen=True)
class RunReport:
    """What a report says.

    :param command: the command line of the run; empty if it is not told.
    :param runs: the cases of each pass, those that are sound: with texts for name, system, partition, environ and
        result, ``fail_phase`` and ``fail_reason`` a text or null, a truth for ``fixture``, and the metrics that have
        a value under ``metrics``.
    :param faults: a line for each of the others: file, place and cause.
    """

    command: str
    runs: tuple[tuple[Case, ...], ...]
    faults: tuple[str, ...] = ()


def read(path: Path, within: Path | None = None) -> RunReport:
    """Read a report.

    :param within: the folder of results; see :func:`fabric_checks.core.files.require_fit`.
    :raises RecordError: if it is none, as one that was cut when the disk was full.
    """
    try:
        told = json.loads(files.read_bytes(path, within).decode(errors="replace"))
    except OSError as error:
        raise RecordError(f"{path}: {error.strerror}; the run report cannot be read") from None
    except RecursionError:
        raise RecordError(f"{path}: nested too deeply to be a run report; delete it") from None
    except ValueError as error:
        place = f" (line {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
        raise RecordError(
            f"{path}: not a complete run report{place}, for example because a disk was full: its cases are unknown; "
            "delete it, or run them again"
        ) from None
    runs = told.get("runs") if isinstance(told, dict) else None
    if not isinstance(runs, list):
        raise RecordError(f"{path}: not a run report of ReFrame: it has no list 'runs'; delete it")
    faults: list[str] = []
    found = tuple(_cases(path, number, run, faults) for number, run in enumerate(runs, 1))
    info = told.get("session_info")
    command = info.get("cmdline") if isinstance(info, dict) else None
    return RunReport(command if isinstance(command, str) else "", found, tuple(faults))


def _cases(path: Path, number: int, run: Any, faults: list[str]) -> tuple[Case, ...]:
    listed = run.get("testcases") if isinstance(run, dict) else None
    if not isinstance(listed, list):
        faults.append(f"{path}: run {number} has no list 'testcases'; it is left out")
        return ()
    found: list[dict[str, Any]] = []
    for place, case in enumerate(listed, 1):
        if cause := _fault(case):
            faults.append(f"{path}: run {number}, case {place}: {cause}; it is left out")
        else:
            found.append({**case, "metrics": _metrics(case.get("perfvalues") or {})})
    return tuple(_of_failed_dependencies(found))


def _of_failed_dependencies(cases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Give what ReFrame skips because of a dependency that was not run the result of that one.

    Of a chain ReFrame has ``fail_deps`` for the case whose dependency failed, and ``skip`` for those that depend on it.
    """
    failed = {_key(case) for case in cases if case["result"] in ("fail", "fail_deps")}
    while True:
        more = [case for case in cases if case["result"] == "skip" and not failed.isdisjoint(_dependencies(case))]
        if not more:
            return cases
        failed |= {_key(case) for case in more}
        for case in more:
            case["result"] = "fail_deps"


def _key(case: Case) -> tuple[Any, ...]:
    return case.get("unique_name"), f"{case['system']}:{case['partition']}", case["environ"]


def _dependencies(case: Case) -> list[tuple[Any, ...]]:
    told = case.get("dependencies_actual")
    return [tuple(map(str, each)) for each in told if isinstance(each, list)] if isinstance(told, list) else []


def _fault(case: Any) -> str | None:
    """Return what is wrong with a case, or None."""
    if not isinstance(case, dict):
        return "not a JSON object"
    if not (case.get("display_name") or case.get("name")):
        return "it has no name"
    for name in ("name", *_TEXTS, *_OPTIONAL):
        value = case.get(name)
        if not isinstance(value, str) and (value is not None or name in _TEXTS):
            return f"{name!r} is {quoted(str(value)[:100], 40)} where text is expected"
    values = case.get("perfvalues") or {}
    if not isinstance(values, dict) or not all(isinstance(each, list) and each for each in values.values()):
        return "'perfvalues' is not an object of lists"
    return None


def _metrics(values: Mapping[str, Any]) -> frozenset[str]:
    return frozenset(key.split(":")[-1] for key, each in values.items() if each[0] is not None)


def sessions(path: Path, within: Path | None = None) -> list[str]:
    """Return the sessions that a report is of: its log files have their names.

    :raises RecordError: if it does not say.
    """
    try:
        with files.opened(path, within) as file:
            head = re.search(r'"log_files": (\[[^\]\[]*\])', file.read(_HEAD_B).decode(errors="replace"))
        told = json.loads(head[1] if head else files.read_bytes(path, within))
        logs = told if head else told["session_info"]["log_files"]
        stems = [Path(log).stem for log in logs if isinstance(log, str)]
    except OSError as error:
        raise RecordError(f"{path}: {error.strerror}; the run report is skipped") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        stems = []
    found = [stem for stem in stems if 0 < len(stem) <= _LONGEST and "\0" not in stem]
    if not found:
        raise RecordError(f"{path}: a run report that does not name its run; it is skipped: delete it")
    return found
