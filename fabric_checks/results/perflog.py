# SPDX-License-Identifier: BSD-3-Clause
"""The perflog: one JSON object a line, one line a metric, one file a check class.

A record says everything that is needed to believe its figure; :data:`FIELDS` lists its keys in order.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import logging
import os
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from fabric_checks.errors import RecordError
from fabric_checks.locks import WRITER_WAIT_S, LockedError, exclusive

#: The file in the folder of a perflog whose lock its writers hold. Readers could hold that of the perflog for ever.
LOCK = ".lock"

#: The keys of a record. ``metric`` and the keys after it up to ``result`` are null in the record of a case that
#: failed before it had figures.
FIELDS = (
    "format",  # version of this format
    "session",  # which run this belongs to
    "time",  # when the record was written, ISO 8601 with time zone
    "collection",  # version and commit of the collection
    "reframe",  # version of ReFrame
    "system",
    "partition",
    "environ",
    "check",  # the class
    "test",  # the class with its parameters
    "layout",  # nodes x processes a node
    "nodes",
    "ppn",
    "tasks",
    "metric",
    "quantity",  # the curve a metric is a point of
    "size_B",  # message size of that point
    "value",
    "unit",
    "better",  # smaller or larger
    "compared",  # of a ratio or difference: metric, unit and values by layout that it comes from; else null
    "reference",
    "lower",  # allowed relative deviation below the reference, e.g. -0.05
    "upper",
    "no_reference",  # why there is none
    "evidence",  # of a simulation: fitted, predicted, said or simulated (references.EVIDENCE); else null
    "reference_source",  # the document and the place that the reference is from; null where none is given
    "result",  # of this metric: pass, fail, xfail, xpass
    "case_result",  # of the whole case
    "fail_reason",
    "program",
    "program_version",
    "source",  # where the program came from: wheels, spack, modules, built
    "spec",  # what Spack built: the concretized spec, its hash, and the release of Spack; else null
    "spec_hash",
    "spack",
    "not_offered",  # suites that the environment does not have, and why
    "sizes_B",  # all message sizes that were asked for
    "mpi",  # as the library itself says
    "compiler",
    "findings",  # what the analysis says beside figures: list of objects with kind and text
    "nodelist",  # where the ranks ran; of a case that failed before that, what the scheduler says
    "placement",  # node and allowed CPUs of each rank
    "binding",  # of ranks to CPUs: none, core, unknown, or CPUs by local rank as in 0-3|4-7 (see placement.binding)
    "jobid",
    "elapsed_s",  # how long the job worked on its nodes, without the queue; null where its node does not tell
    "node_traffic_B",  # bytes in and out of the one node that its script ran on; null where its counters cannot tell
    "disk_B",  # what the case leaves on disk: the files that are kept, and these records
)

#: Keys that records of earlier releases do not have; they are read as null there.
LATER_FIELDS = ("compared", "evidence", "reference_source", "binding", "elapsed_s", "node_traffic_B", "disk_B")


class JsonLinesHandler(logging.Handler):
    """A handler for ReFrame's perflog that appends the records of a finished case to a file of JSON lines.

    :param basedir: the records go to ``basedir/SYSTEM/PARTITION/CHECK.jsonl``.
    """

    def __init__(self, basedir: Path) -> None:
        super().__init__()
        self.basedir = basedir

    def emit(self, record: logging.LogRecord) -> None:
        """Write the records of one case.

        :raises RecordError: with the file and the cause, if they cannot be written; then none of them is.
        """
        attributes = record.__dict__
        if not attributes.get("check_facts"):
            return  # a build: it has no figures, and its dependents name it
        records = records_of(attributes)
        folder = self.basedir / str(attributes["check_system"]) / str(attributes["check_partition"])
        path = folder / f"{records[0]['check']}.jsonl"
        try:
            append(path, records)
        except (OSError, ValueError, LockedError) as error:
            why = (error.strerror if isinstance(error, OSError) else None) or str(error)
            many = "record is" if len(records) == 1 else "records are"
            raise RecordError(
                f"{path}: {why}: {len(records)} {many} not in the perflog of {attributes['check_display_name']}; "
                "make room, or see that the file can be written, and run it again"
            ) from None


def records_of(attributes: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Turn what ReFrame logs about a finished case into records, one for each metric.

    :param attributes: the attributes of the log record; of ours, ``check_facts`` (see ``mixins.results``).
    """
    facts = dict(attributes["check_facts"])
    metrics: Mapping[str, Mapping[str, Any]] = facts.pop("metrics", {})
    reasons: Mapping[str, str] = facts.pop("no_reference", {})
    evidence: Mapping[str, tuple[str, str]] = facts.pop("evidence", {})
    common = dict.fromkeys(FIELDS)
    common |= facts
    if not facts.get("time") and "created" in attributes:
        # The case failed before its output was looked at: its time is that of the log.
        common["time"] = datetime.fromtimestamp(attributes["created"], timezone.utc).isoformat(timespec="seconds")
    common |= {
        "format": 1,
        "reframe": attributes["version"],
        "system": attributes["check_system"],
        "partition": attributes["check_partition"],
        "environ": attributes["check_environ"],
        "test": attributes["check_display_name"],
        "case_result": attributes["check_result"],
        "fail_reason": attributes["check_fail_reason"],
        # The ranks know where they ran; what accounting tells soon after a short job may be half of it.
        "nodelist": _nodes_of(facts.get("placement")) or list(attributes["check_job_nodelist"] or []),
        "jobid": attributes["check_jobid"],
    }
    records = []
    for key, (value, reference, lower, upper, unit, result) in (attributes["check_perfvalues"] or {}).items():
        if value is None:
            continue  # the case failed before its figures were taken
        name = key.split(":")[-1]
        reason = reasons.get(name)
        kind, source = evidence.get(name, (None, None))
        records.append(
            common
            | {
                "metric": name,
                **metrics.get(name, {}),
                "value": value,
                "unit": unit,
                "reference": None if reason else reference,
                "lower": lower,
                "upper": upper,
                "no_reference": reason,
                "evidence": kind,
                "reference_source": source or None,
                "result": result,
            }
        )
    records = records or [common]
    kept_B = facts.get("disk_B")
    if kept_B is not None:
        disk_B = kept_B + length_B(records)
        for record in records:
            record["disk_B"] = disk_B
    return records


def _nodes_of(placement: Sequence[str] | None) -> list[str]:
    """Return the nodes of a placement such as ``["n1:0-1", "n2:0-1"]``, each once, in the order of the ranks."""
    return list(dict.fromkeys(place.rsplit(":", 1)[0] for place in placement or ()))


def append(path: Path, records: Sequence[Mapping[str, Any]]) -> None:
    """Append records to a file of JSON lines.

    All lines go out in one write under a lock, so that several writers do not mix and a kill leaves whole lines; a
    line that an earlier crash left unfinished is closed first. If not all of it can be written, none of it stays.

    :raises LockedError: if another writer has the lock for longer than may be.
    :raises OSError: if the file cannot be written, as on a full disk.
    :raises ValueError: if a value is not finite; JSON has no such number.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    data = "".join(json.dumps(record, allow_nan=False) + "\n" for record in records).encode()
    with exclusive(path.with_name(LOCK), WRITER_WAIT_S):
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            # For readers, who wait a moment for it: without it they may see half of what is being written.
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _append(descriptor, data, path)
        finally:
            os.close(descriptor)


def _append(descriptor: int, data: bytes, path: Path) -> None:
    end = os.lseek(descriptor, 0, os.SEEK_END)
    if end and os.pread(descriptor, 1, end - 1) != b"\n":
        data = b"\n" + data
    try:
        written = os.write(descriptor, data)
        if written < len(data):
            raise OSError(28, "No space left on device", str(path))
    except OSError:
        os.ftruncate(descriptor, end)  # no half-written records
        raise


def length_B(records: Sequence[Mapping[str, Any]]) -> int:
    """Return how long records are in a file, in bytes."""
    return sum(len(json.dumps(record)) + 1 for record in records)
