# SPDX-License-Identifier: BSD-3-Clause
"""Write the perflog: one file for each check class, a line for each case.

A line goes out in one write under a lock, so that several writers do not mix; if not all of it can be
written, nothing stays.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from fabric_checks.core.errors import RecordError
from fabric_checks.core.locks import WRITER_WAIT_S, LockedError, exclusive
from fabric_checks.records.record import FIELDS, FORMAT, Case, Judgement
from fabric_checks.records.writing import line_of

#: The lock file of a folder's writers. The perflog itself would not do: a reader could hold its lock for
#: ever.
LOCK = ".lock"


class JsonLinesHandler(logging.Handler):
    """A handler for ReFrame's perflog that appends the records of a finished case to a file of JSON lines.

    :param basedir: the records go to ``basedir/SYSTEM/PARTITION/CHECK.jsonl``.
    """

    def __init__(self, basedir: Path) -> None:
        super().__init__()
        self.basedir = basedir

    def emit(self, record: logging.LogRecord) -> None:
        """Write the records of one case.

        :raises RecordError: with the file and the cause, if they cannot be written; then none of them stays.
        """
        attributes = record.__dict__
        if not attributes.get("check_facts"):
            return  # a build: it has no values, and its dependents name it
        records = records_of(attributes)
        folder = (
            self.basedir
            / str(attributes["check_system"])
            / str(attributes["check_partition"])
        )
        path = folder / f"{records[0]['check']}.jsonl"
        try:
            append(path, line_of(records))
        except (OSError, ValueError, LockedError) as error:
            why = (error.strerror if isinstance(error, OSError) else None) or str(error)
            many = "record is" if len(records) == 1 else "records are"
            raise RecordError(
                f"{path}: {why}: {len(records)} {many} not in the perflog of"
                f" {attributes['check_display_name']}; make room, or make sure that the file can be written,"
                " and run it again"
            ) from None


def records_of(attributes: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Turn what ReFrame logs about a finished case into records, one for each metric.

    :param attributes: the attributes of the log record; of ours, ``check_facts``, the data of
        :class:`fabric_checks.records.record.Facts`.
    """
    facts = dict(attributes["check_facts"])
    metrics: Mapping[str, dict[str, Any]] = facts.pop("metrics", {})
    case = Case(
        reframe=attributes["version"],
        system=attributes["check_system"],
        partition=attributes["check_partition"],
        environ=attributes["check_environ"],
        test=attributes["check_display_name"],
        case_result=attributes["check_result"],
        fail_reason=attributes["check_fail_reason"],
        jobid=attributes.get("check_jobid", attributes.get("check_job_id")),
    )
    common = dict.fromkeys(FIELDS) | facts | asdict(case) | {"format": FORMAT}
    if common["output"] and common["case_result"] != "pass":
        # ReFrame copies to the output folder only the files of cases that pass.
        common["output"] = common["output"].replace("output/", "stage/", 1)
    if not common["time"] and "created" in attributes:
        # The case failed before its output was looked at: its time is that of the log.
        logged = datetime.fromtimestamp(attributes["created"], timezone.utc)
        common["time"] = logged.isoformat(timespec="seconds")
    # The ranks know where they ran; accounting may be incomplete just after a short job.
    common["nodelist"] = common["nodelist"] or list(
        attributes["check_job_nodelist"] or []
    )
    values = attributes["check_perfvalues"] or {}
    return [
        common | _judged(key.split(":")[-1], value, metrics)
        for key, value in values.items()
        if value[0] is not None  # else the case failed before its values were taken
    ] or [common]


def _judged(
    name: str, found: Sequence[Any], metrics: Mapping[str, dict[str, Any]]
) -> dict[str, Any]:
    """Return the fields of a value, as ReFrame logs it and as its check declares its metric."""
    value, reference, lower, upper, unit, result = found
    facts = metrics.get(name, {})
    known = None if facts.get("no_reference") else reference
    return facts | asdict(Judgement(name, value, unit, known, lower, upper, result))


def text_of(line: Mapping[str, Any]) -> bytes:
    """Return an object as a line of JSON.

    :raises ValueError: if a value is not finite; JSON has no such number.
    """
    text = json.dumps(line, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    # Half a surrogate pair, as of a file name that is no text, is no text either.
    return f"{text}\n".encode(errors="replace")


def append(path: Path, line: Mapping[str, Any]) -> None:
    """Append an object to a file of JSON lines.

    A writer that is killed within its single write may leave half a line, which the next writer terminates.

    :raises LockedError: if another writer holds the lock for too long.
    :raises OSError: if the file cannot be written, as on a full disk.
    :raises ValueError: if a value is not finite; JSON has no such number.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    data = text_of(line)
    with exclusive(path.with_name(LOCK), WRITER_WAIT_S):
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            # For readers, who wait a moment for it: without it they may see half of what is being written.
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            end = os.lseek(descriptor, 0, os.SEEK_END)
            if end and os.pread(descriptor, 1, end - 1) != b"\n":
                data = b"\n" + data
            _write_whole(descriptor, data, end, path)
        finally:
            os.close(descriptor)


def _write_whole(descriptor: int, data: bytes, end: int, path: Path) -> None:
    """Write at the end of a file, or leave the file as it was."""
    try:
        if os.write(descriptor, data) < len(data):
            raise OSError(28, "No space left on device", str(path))
    except OSError:
        os.ftruncate(descriptor, end)
        raise
