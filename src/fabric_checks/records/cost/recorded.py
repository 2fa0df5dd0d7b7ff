# SPDX-License-Identifier: BSD-3-Clause
"""What runs cost, and what was computed before: ``costs.jsonl`` in the folder of results, a JSON object a line."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from itertools import chain
from pathlib import Path
from typing import Any

from fabric_checks.core import files
from fabric_checks.core.errors import RecordError
from fabric_checks.core.layouts import Layout
from fabric_checks.records import jsonlines, perflog, run_report
from fabric_checks.records.cost.plan import level_of, options_of
from fabric_checks.records.record import Record
from fabric_checks.records.run_records import Session

FILE = "costs.jsonl"
COMPUTED, MEASURED = "computed", "measured"

_TEXTS = ("time", "system", "command")
_NUMBERS = ("jobs", "nodes", "node_minutes", "job_minutes")
#: Those of a run that was made, and those that may be null.
_OF_MEASURED = ("timed_jobs", "traffic_jobs", "disk_B", "cases_disk_B")
_OR_NULL = ("wall_minutes", "node_traffic_B", "disk_B")
#: No cost is more; beyond it, sums and shares are no numbers any more.
_LARGEST = 1e30


@dataclass(frozen=True)
class Cost:
    """What a run cost.

    :param session: its name; :param level: the mode it was started with, if any; :param command: its options.
    :param jobs: how many ran; :param timed_jobs: of how many the time is known, which ``node_minutes`` (allocated nodes
        times minutes) and ``job_minutes`` are the sum of.
    :param nodes: the most that a job had.
    :param wall_minutes: from the start of the command to its end, None if it is unknown.
    :param node_traffic_B: bytes in and out of one node of each job, the one that its script ran on; the sum over those
        :param traffic_jobs: jobs whose node told, None if there is none.
    :param disk_B: all that the run left in the folder of results; :param cases_disk_B: what its cases say of that.
    :param computed: what was computed before for such a run, the latest time.
    """

    session: str
    time: str
    system: str
    level: str | None
    command: str
    jobs: int
    timed_jobs: int
    nodes: int
    node_minutes: float
    job_minutes: float
    wall_minutes: float | None
    node_traffic_B: int | None
    traffic_jobs: int
    disk_B: int
    cases_disk_B: int
    computed: Mapping[str, Any] | None = None


def measure(results: Path, session: Session, wall_s: float | None) -> Cost | None:
    """Return what a run cost; None if no job of it was recorded.

    :param wall_s: how long it took in all.
    """
    cases: dict[tuple[Any, ...], list[Record]] = {}
    for record in session.records:
        key = tuple(record[name] for name in ("system", "partition", "environ", "test", "time", "jobid"))
        cases.setdefault(key, []).append(record)
    if not cases:
        return None
    command, jobs = _told_by(session.report)
    timed = [(_nodes(of), of[0]["elapsed_s"] / 60) for of in cases.values() if of[0]["elapsed_s"] is not None]
    traffic = [of[0]["node_traffic_B"] for of in cases.values() if of[0]["node_traffic_B"] is not None]
    found = Cost(
        session=session.name,
        time=_now(),
        system=str(session.records[0]["system"]),
        level=level_of(command),
        command=command,
        jobs=max(jobs, len(cases)),
        timed_jobs=len(timed),
        nodes=max(_nodes(of) for of in cases.values()),
        node_minutes=round(sum(nodes * minutes for nodes, minutes in timed), 3),
        job_minutes=round(sum(minutes for _, minutes in timed), 3),
        wall_minutes=None if wall_s is None else round(wall_s / 60, 3),
        node_traffic_B=sum(traffic) if traffic else None,
        traffic_jobs=len(traffic),
        disk_B=_disk_B(results, session),
        cases_disk_B=sum(of[0]["disk_B"] or 0 for of in cases.values()),
    )
    before = [line for line in read(results)[0] if line["kind"] == COMPUTED and _is_of(line, found)]
    return Cost(**{**asdict(found), "computed": before[-1] if before else None})


def _is_of(line: Mapping[str, Any], cost: Cost) -> bool:
    # In whatever order its options were given.
    commands = [sorted(command.split()) for command in (line["command"], cost.command)]
    return bool(commands[0] == commands[1] and (line["system"], line["jobs"]) == (cost.system, cost.jobs))


def _nodes(case: Sequence[Record]) -> int:
    """Return how many nodes a case had: those of its layout, and of what that is compared with in the same job."""
    if any(record["evidence"] for record in case):
        return 1  # a simulation: the host
    layouts = {layout for record in case for layout in (record["compared"] or {}).get("values", ())}
    return max([case[0]["nodes"] or 1, *(Layout.of(layout).nodes for layout in layouts)])


def _told_by(report: Path | None) -> tuple[str, int]:
    """Return the options of a run and how many jobs it had, as ReFrame's report says; nothing and 0 without one."""
    try:
        told = run_report.read(report) if report else None
        cases = [case for run in told.runs for case in run if not case.get("fixture")] if told else []
        command = options_of(shlex.split(told.command)) if told else ""
    except (RecordError, ValueError):
        return "", 0  # a cut one, which the run's summary names
    return command, sum(case.get("job_stdout") is not None for case in cases)


def _disk_B(results: Path, session: Session) -> int:
    """Return what a run has in the folder of results, files and folders, by their lengths as ``du -b`` counts them."""
    folders = [results / kind / session.name for kind in ("output", "stage")]
    files = [results / "logs" / f"{session.name}.log", *([session.report] if session.report else [])]
    found = chain(files, *([folder, *folder.rglob("*")] for folder in folders if folder.is_dir()))
    on_disk = sum(path.lstat().st_size for path in found if path.is_symlink() or path.exists())
    return on_disk + perflog.length_B(session.records)


def append(results: Path, cost: Mapping[str, Any], kind: str) -> None:
    """Add a line, whole or not at all.

    :raises RecordError: if it cannot be written.
    """
    path = results / FILE
    try:
        perflog.append(path, [{"format": 1, "kind": kind, "time": _now(), **cost}])
    except (OSError, ValueError) as error:
        why = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise RecordError(
            f"{path}: {why}: the cost of a run is not recorded; make sure that the file can be written"
        ) from None


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def read(results: Path) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the lines in their order, and a line of text for each that is no cost: file, place, cause, remedy."""
    # Slow to import, and this module is loaded for the help of the command.

    path = results / FILE
    found, faults = [], []
    try:
        lines = files.read_bytes(path).split(b"\n")
    except FileNotFoundError:
        return [], []
    except OSError as error:
        return [], [f"{path}: {error.strerror}; it is skipped: make sure that it can be read"]
    for number, text in enumerate(lines, 1):
        if not text.strip():
            continue
        try:
            line = jsonlines.record_of(text)
            wrong = next(_wrong(line), None)
        except ValueError as error:
            line, wrong = {}, str(error)
        if wrong is None:
            found.append(dict.fromkeys(_OR_NULL) | line)
        else:
            faults.append(f"{path}:{number}: {wrong}; it is skipped: fix or delete the line")
    return found, faults


def _wrong(line: Any) -> Iterator[str]:
    """Yield what is wrong with a line, an object of JSON."""
    if not isinstance(line, dict) or line.get("kind") not in (COMPUTED, MEASURED):
        yield "not the cost of a run"
        return
    for name in (*_TEXTS, *(("session",) if line["kind"] == MEASURED else ())):
        if not isinstance(line.get(name), str):
            yield f"{name} is not text"
    if not isinstance(line.get("level"), str | None):
        yield "level is not text"
    for name in (*_NUMBERS, *(_OF_MEASURED if line["kind"] == MEASURED else ())):
        if not _is_number(line.get(name)):
            yield f"{name} is not a number from 0 to {_LARGEST:g}"
    for name in _OR_NULL:
        if not (line.get(name) is None or _is_number(line[name])):
            yield f"{name} is not a number from 0 to {_LARGEST:g}"
    before = line.get("computed")
    if before is not None and (line["kind"] != MEASURED or next(_wrong(before), None) or before["kind"] != COMPUTED):
        yield "computed is not the cost of a run"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= _LARGEST
