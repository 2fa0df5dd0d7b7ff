# SPDX-License-Identifier: BSD-3-Clause
"""End jobs whose scheduler is silent, forgets them or cannot start them: the common part of all schedulers.

:class:`PollingScheduler` asks one command about jobs, and keeps why each failed.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from reframe.core.exceptions import JobSchedulerError, SpawnedProcessError
from reframe.core.logging import getlogger
from reframe.core.schedulers import Job

from fabric_checks.core.commands import printed
from fabric_checks.core.errors import FabricError
from fabric_checks.reframe_ext.internals import note
from fabric_checks.schedulers import model
from fabric_checks.schedulers.model import ExitReason, Node

#: How long a job waits for nodes that are out of service before it is cancelled, if too few are in service.
OUT_OF_SERVICE_S = 30.0
#: The interval between questions for the nodes while a job waits.
ASK_NODES_S = 5.0
#: How long a scheduler may be silent, as when it is restarted, or not know a job, before the job is given up.
SILENCE_S, UNKNOWN_S = 180.0, 15.0
#: The least time between two questions about jobs.
PAUSE_S = 1.0


@dataclass
class Watch:
    """The state of a job that ReFrame does not keep.

    ``since`` has the conditions that hold, such as ``silent``, with their beginning in seconds of the
    monotonic clock.
    """

    failure: ExitReason | None = None
    began: str | None = None
    cancelled: bool = False
    nodes_asked: float = 0.0
    since: dict[str, float] = field(default_factory=dict)

    def lasts_s(self, condition: str) -> float:
        """Note that a condition holds, and return for how long it has, in seconds."""
        now = time.monotonic()
        return now - self.since.setdefault(condition, now)

    def end(self, *conditions: str) -> None:
        """Note that conditions do not hold."""
        for each in conditions:
            self.since.pop(each, None)


def last_line(error: Exception) -> str:
    """Return the last line of a command's standard error, without its own prefix, or why it could not be
    started."""
    if not isinstance(error, SpawnedProcessError):
        return str(error)
    lines: list[str] = (error.stderr or "").strip().splitlines()
    if not lines:
        return f"{error.command.split()[0]} failed with status {error.exitcode}"
    return re.sub(r"^\w+: error: ", "", lines[-1].strip())


@contextmanager
def refusals(command: str) -> Iterator[None]:
    """Turn the failure of a command in the block, which submits a job, into what it printed, in one line.

    :raises JobSchedulerError: with that.
    """
    try:
        yield
    except (SpawnedProcessError, OSError) as error:
        raise JobSchedulerError(f"{command}: {last_line(error)}") from None


class PollingScheduler:
    """The part of a scheduler that polls jobs by one command, and keeps why they failed; it comes before
    ReFrame's class among the bases.

    A subclass has ``name``, the scheduler's; ``command``, which shows the job whose id is its last word, and
    ``cancel_command`` likewise; ``parse_jobs``, which returns the jobs in what the first prints, by id;
    ``unknown``, what it prints of a job that it does not know, and ``forgotten``, why that may be;
    ``exit_reason`` of a job's id, the job and the nodes; ``_ask_nodes``, which returns the nodes that a job
    can have, given what is known of it; and ``_end``, which lets ReFrame see that a job is over.
    """

    name: str
    command: str
    cancel_command: str
    parse_jobs: Callable[[str], Mapping[str, Any]]
    unknown: str
    forgotten: str
    exit_reason: Callable[[str, Any, Sequence[Node]], ExitReason | None]
    log: Callable[[str], None]
    finished: Callable[[Job], bool]
    _ask_nodes: Callable[[Any], list[Node]]
    _end: Callable[[Job], None]
    _next_s = 0.0

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._watches: dict[str, Watch] = {}

    def _watch(self, job: Job) -> Watch:
        return self._watches.setdefault(str(job.jobid), Watch())

    def why_failed(self, job: Job) -> ExitReason | None:
        """Return why a job that has ended failed, with its nodes, or None if its output explains it."""
        return self._watch(job).failure

    def began(self, job: Job) -> str | None:
        """Return when a job began, ISO 8601 with time zone; None if it has not, or that is not known."""
        return self._watch(job).began

    def cancel(self, job: Job) -> None:
        """Cancel a job; one that cannot be is tried again at the next poll.

        Why: ReFrame's raise where that fails, as it does if the job has just ended.
        """
        try:
            printed([*self.cancel_command.split(), job.jobid])
            self._watch(job).cancelled = True
        except FabricError as error:
            self.log(str(error))

    def is_unschedulable(self, now: Any, nodes: list[Node]) -> bool:
        """Tell whether a job cannot start."""
        return model.too_few(nodes, now.least_nodes)

    def poll(self, *jobs: Job) -> None:
        """Bring jobs up to date, and cancel those that have waited for too long; no exception leaves here.

        Why: ReFrame's raises where the command fails, which ends the session with its jobs left in the queue,
        or takes the jobs for cancelled; and none notes why a job ended.
        """
        if time.monotonic() < self._next_s:
            return
        self._next_s = time.monotonic() + PAUSE_S
        running = [job for job in jobs if job is not None and not self.finished(job)]
        try:
            known = self._ask(running)
        except FabricError as error:
            for job in running:
                self._note_silence(job, str(error))
            return
        for job in running:
            watch = self._watch(job)
            watch.end("silent")
            if job.jobid in known:
                self.update(job, known[job.jobid])
            elif watch.lasts_s("unknown") >= UNKNOWN_S:
                self.forget(job)

    def _ask(self, jobs: Sequence[Job]) -> dict[str, Any]:
        """Return the jobs that are known, by id.

        One by one: for several, qstat of OpenPBS 23.06.06 prints the first as JSON, and nothing of the
        others.
        """
        known: dict[str, Any] = {}
        for job in jobs:
            try:
                printed_of_job = printed([*self.command.split(), job.jobid])
            except FabricError as error:
                if self.unknown not in str(error):
                    raise
            else:
                known |= self.parse_jobs(printed_of_job)
        return known

    @property
    def _tool(self) -> str:
        """The command without its options."""
        return self.command.partition(" -")[0]

    def _note_silence(self, job: Job, error: str) -> None:
        watch = self._watch(job)
        if "silent" not in watch.since:
            getlogger().warning(f"{error}; trying again")
        if (seconds := watch.lasts_s("silent")) >= SILENCE_S:
            self.give_up(
                job,
                f"{self._tool} has failed for {seconds:.0f} s; it may still be in the queue",
            )

    def forget(self, job: Job) -> None:
        """Give up a job that has been unknown for long enough."""
        self.give_up(job, f"{self.name} does not know it; {self.forgotten}")

    def give_up(self, job: Job, why: str) -> None:
        """End a job for ReFrame, whatever becomes of it in the queue."""
        watch = self._watch(job)
        text = f"job {job.jobid} was given up: {why}"
        watch.failure = watch.failure or ExitReason(text)
        note(job, state="FAILED")
        self._end(job)

    def update(self, job: Job, now: Any) -> None:
        """Take over what is known of a job."""
        watch = self._watch(job)
        watch.end("unknown")
        watch.began = now.began or watch.began
        if now.nodes:
            note(job, nodelist=list(now.nodes))
        note(job, state=now.state)
        if now.has_ended:
            self._note_end(job, now)
        elif now.waits:
            self._cancel_if_late(job, now)

    def _note_end(self, job: Job, now: Any) -> None:
        watch = self._watch(job)
        note(job, completion_time=time.time())
        if now.exit_status is not None:
            note(job, exitcode=now.exit_status)
        if now.state == "COMPLETED":
            watch.failure = None  # it began after all, before it could be cancelled
        elif watch.failure is None and not watch.cancelled:
            watch.failure = self.exit_reason(job.jobid, now, self._nodes(now))
        self._end(job)

    def _cancel_if_late(self, job: Job, now: Any) -> None:
        """Cancel a job that has waited for too long, or that too few nodes are in service for."""
        watch, waited_s = self._watch(job), time.time() - job.submit_time
        is_late = bool(job.max_pending_time) and waited_s >= job.max_pending_time
        if watch.cancelled or not (
            is_late or time.monotonic() >= watch.nodes_asked + ASK_NODES_S
        ):
            return
        watch.nodes_asked = time.monotonic()
        nodes = self._nodes(now)
        if is_late or self._cannot_start(watch, now, nodes):
            watch.failure = model.timed_out(
                job.jobid,
                waited_s,
                self.name,
                now.reason,
                nodes,
                unschedulable=not is_late,
            )
            self.cancel(job)

    def _cannot_start(self, watch: Watch, now: Any, nodes: list[Node]) -> bool:
        """Tell whether a job cannot start, and could not for so long that no node may come back in time."""
        if not self.is_unschedulable(now, nodes):
            watch.end("unschedulable")
            return False
        return watch.lasts_s("unschedulable") >= OUT_OF_SERVICE_S

    def _nodes(self, now: Any) -> list[Node]:
        """Return the nodes that a job can have as they are now; none if the scheduler does not list them."""
        try:
            return self._ask_nodes(now)
        except FabricError as error:
            self.log(f"{self.name}: its nodes: {error}")
            return []
