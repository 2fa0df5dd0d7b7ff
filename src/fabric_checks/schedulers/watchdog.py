# SPDX-License-Identifier: BSD-3-Clause
"""End jobs whose scheduler is silent, forgets them or cannot start them: the common part of all schedulers.

:class:`Watching` keeps why each job failed; :class:`PollingScheduler` is for schedulers that list jobs by one
    command.
Slurm has two sources, accounting and controller, and rules of its own for these.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from reframe.core.exceptions import JobSchedulerError, SpawnedProcessError
from reframe.core.logging import getlogger
from reframe.core.schedulers import Job
from reframe.utility import osext

from fabric_checks.core.errors import OutputError
from fabric_checks.reframe_ext.internals import note
from fabric_checks.schedulers import model
from fabric_checks.schedulers.model import ExitReason, Node

#: How long a job waits for nodes that are out of service before it is cancelled, if too few are in service.
OUT_OF_SERVICE_S = 30.0
#: The interval between questions for the nodes while a job waits.
ASK_NODES_S = 5.0
#: How long a scheduler may be silent, as when it is restarted, or not know a job, before the job is given up.
SILENCE_S, UNKNOWN_S = 180.0, 15.0
#: How long one command of a scheduler may take.
COMMAND_S = 60.0

#: The errors of a command of a scheduler.
FAILURES = (SpawnedProcessError, OSError, OutputError)


@dataclass
class Watch:
    """The state of a job that ReFrame does not keep.

    ``since`` has the conditions that hold, such as ``silent``, with their beginning in seconds of the
    monotonic clock. The last two are Slurm's: the job as the controller last showed it, and whether it is
    over for this session.
    """

    failure: ExitReason | None = None
    began: str | None = None
    cancelled: bool = False
    nodes_asked: float = 0.0
    since: dict[str, float] = field(default_factory=dict)
    shown: Any = None
    is_over: bool = False

    def lasts_s(self, condition: str) -> float:
        """Note that a condition holds, and return for how long it has, in seconds."""
        now = time.monotonic()
        return now - self.since.setdefault(condition, now)

    def end(self, *conditions: str) -> None:
        """Note that conditions do not hold."""
        for each in conditions:
            self.since.pop(each, None)


def run(command: str, timeout_s: float = COMMAND_S) -> str:
    """Return what a command prints.

    :raises SpawnedProcessError, OSError: if it fails, or cannot be started.
    """
    return str(
        osext.run_command(command, check=True, timeout=timeout_s, log=False).stdout
    )


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


class Watching:
    """The part of a scheduler that keeps why jobs failed and when they began.

    A subclass has ``name``, the scheduler's, and ``_ask_nodes``, which returns the nodes that a job can have,
    and raises one of :data:`FAILURES`.
    """

    name: str
    cancel: Callable[[Job], None]
    log: Callable[[str], None]
    _ask_nodes: Callable[[Job], list[Node]]

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

    def give_up(self, job: Job, why: str) -> None:
        """Note that a job is no longer waited for."""
        watch = self._watch(job)
        watch.failure = watch.failure or ExitReason(
            f"job {job.jobid} was given up: {why}"
        )

    @staticmethod
    def _is_late(job: Job) -> bool:
        """Tell whether a job has been in the queue for longer than it may."""
        return bool(
            job.max_pending_time
            and time.time() - job.submit_time >= job.max_pending_time
        )

    def _cannot_start(self, job: Job, *, now: bool) -> bool:
        """Tell whether a job cannot start, and could not for so long that no node may come back in time.

        :param now: whether it cannot at this moment, as also after a restart of the scheduler.
        """
        watch = self._watch(job)
        if not now:
            watch.end("unschedulable")
        return now and watch.lasts_s("unschedulable") >= OUT_OF_SERVICE_S

    def _cancel_waiting(
        self, job: Job, reason: str, nodes: Sequence[Node], *, unschedulable: bool
    ) -> None:
        """Cancel a job that has waited for too long, or cannot start; see :func:`.model.timed_out`."""
        waited_s = time.time() - job.submit_time
        failure = model.timed_out(
            job.jobid, waited_s, self.name, reason, nodes, unschedulable=unschedulable
        )
        self._watch(job).failure = failure
        self.cancel(job)

    def _nodes(self, job: Job) -> list[Node]:
        """Return the nodes that a job can have as they are now; none if the scheduler does not list them."""
        try:
            return self._ask_nodes(job)
        except FAILURES as error:
            self.log(f"{self.name}: its nodes: {last_line(error)}")
            return []


class PollingScheduler(Watching):
    """The part of a scheduler that polls jobs by one command; it comes before ReFrame's class among the
    bases.

    A subclass has ``command``, which lists jobs; ``forgotten``, why it may not know a job; ``exit_reason`` of
    its tools' output, of a job's id, the job and the nodes; ``_end``, which lets ReFrame see that a job is
    over; and ``_ask``, which returns the jobs that are known, by id, and raises one of :data:`FAILURES`.
    """

    command: str
    forgotten: str
    exit_reason: Callable[[str, Any, Sequence[Node]], ExitReason | None]
    _end: Callable[[Job], None]
    _ask: Callable[[Sequence[Job]], dict[str, Any]]

    def is_unschedulable(self, now: Any, nodes: list[Node]) -> bool:
        """Tell whether a job cannot start."""
        return model.too_few(nodes, now.least_nodes)

    def poll(self, *jobs: Job) -> None:
        """Bring jobs up to date, and cancel those that have waited for too long; no exception leaves here.

        Why: ReFrame's raises where the command fails, which ends the session with its jobs left in the queue,
        or takes the jobs for cancelled; and none notes why a job ended.
        """
        running = [job for job in jobs if job is not None and not job.completed]
        try:
            known = self._ask(running) if running else {}
        except FAILURES as error:
            for job in running:
                self._note_silence(job, " ".join(str(error).split()))
            return
        for job in running:
            watch = self._watch(job)
            watch.end("silent")
            if job.jobid in known:
                self._update(job, known[job.jobid])
            elif watch.lasts_s("unknown") >= UNKNOWN_S:
                self.forget(job)

    def _note_silence(self, job: Job, error: str) -> None:
        watch = self._watch(job)
        if "silent" not in watch.since:
            getlogger().warning(f"{self.command} fails ({error}); trying again")
        if (seconds := watch.lasts_s("silent")) >= SILENCE_S:
            self.give_up(
                job,
                f"{self.command} has failed for {seconds:.0f} s; it may still be in the queue",
            )

    def forget(self, job: Job) -> None:
        """Give up a job that has been unknown for long enough."""
        self.give_up(job, f"{self.name} does not know it; {self.forgotten}")

    def give_up(self, job: Job, why: str) -> None:
        """End a job for ReFrame, whatever becomes of it in the queue."""
        super().give_up(job, why)
        note(job, state="FAILED")
        self._end(job)

    def _update(self, job: Job, now: Any) -> None:
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
            watch.failure = self.exit_reason(job.jobid, now, self._nodes(job))
        self._end(job)

    def _cancel_if_late(self, job: Job, now: Any) -> None:
        """Cancel a job that has waited for too long, or that too few nodes are in service for."""
        watch = self._watch(job)
        is_late = self._is_late(job)
        if watch.cancelled or not (
            is_late or time.monotonic() >= watch.nodes_asked + ASK_NODES_S
        ):
            return
        watch.nodes_asked = time.monotonic()
        nodes = self._nodes(job)
        if is_late or self._cannot_start(job, now=self.is_unschedulable(now, nodes)):
            self._cancel_waiting(job, now.reason, nodes, unschedulable=not is_late)
