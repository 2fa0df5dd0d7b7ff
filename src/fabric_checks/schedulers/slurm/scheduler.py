# SPDX-License-Identifier: BSD-3-Clause
"""ReFrame's Slurm scheduler, made to get over the loss of a daemon and to tell why a job failed.

ReFrame 4.10's ``slurm`` knows jobs by ``sacct`` alone: the session ends, with its jobs left in the queue, when sacct
fails a few times; it polls for ever when accounting never hears of a job's end; and a job that was cancelled, timed out
or lost its node goes on to the sanity phase like any other. Systems name this one as their scheduler, ``fabric-slurm``;
job scripts, options and ``sched_options`` are those of ``slurm``.
"""

from __future__ import annotations

import itertools
import shlex
import time
from dataclasses import dataclass
from datetime import datetime

from reframe.core.backends import register_scheduler
from reframe.core.exceptions import JobSchedulerError, SpawnedProcessError
from reframe.core.logging import getlogger
from reframe.core.schedulers import Job
from reframe.core.schedulers.slurm import slurm_state_completed, slurm_state_pending
from reframe.utility import osext

from fabric_checks.core.errors import OutputError
from fabric_checks.reframe_ext.internals import SlurmScheduler, nodespec, note
from fabric_checks.schedulers.endings import Ending
from fabric_checks.schedulers.slurm import jobs as slurm

#: The controller is asked about a job after so long, later a quarter of the job's age apart, and at the latest after so
#: long again: the question costs it time.
ASK_FIRST_S, ASK_LAST_S = 5.0, 60.0
#: So long accounting may be behind the controller, or the controller not know a job that accounting does.
BEHIND_S = 15.0
#: So long a job waits for nodes that are out of service before it is cancelled, if there are too few others.
OUT_OF_SERVICE_S = 30.0
#: So long after a failure sacct is left alone.
WITHOUT_ACCOUNTING_S = 30.0
#: So long the controller may be silent, as when it is restarted, while a job is submitted or runs.
SILENCE_S = 180.0

#: What sbatch says when the controller does not answer.
NO_CONTROLLER = "Unable to contact slurm controller"


@dataclass
class _Watch:
    """What is known about a job beside what ReFrame keeps."""

    failure: Ending | None = None
    began: str = ""
    pending_reason: str = ""
    partitions: frozenset[str] = frozenset()
    reservation: str = ""
    given_up: bool = False
    explained: bool = False
    # Since when, in seconds of the monotonic clock, something is wrong; None while it is not.
    unknown: float | None = None
    behind: float | None = None
    hopeless: float | None = None
    silent: float | None = None


def _since(previous: float | None) -> tuple[float, float]:
    """Return when a state of things began, and how long it has lasted."""
    now = time.monotonic()
    begin = now if previous is None else previous
    return begin, now - begin


@register_scheduler("fabric-slurm")
class WatchfulSlurmScheduler(SlurmScheduler):
    """Slurm by sacct, and by the controller where sacct fails or is behind; every job ends, and says why."""

    def __init__(self) -> None:
        super().__init__()
        self._watches: dict[str, _Watch] = {}
        self._next_question = 0.0
        self._accounting_again = 0.0
        self._controller_is_silent = False

    def why_failed(self, job: Job) -> Ending | None:
        """Return why a job that has ended failed, with its nodes, or None if its output has to say it."""
        return self._watch(job).failure

    def began(self, job: Job) -> str | None:
        """Return when a job that has ended began, ISO 8601 with time zone, as the controller says it; None if not."""
        said = self._watch(job).began
        return datetime.fromisoformat(said).astimezone().isoformat() if said else None

    def _watch(self, job: Job) -> _Watch:
        return self._watches.setdefault(str(job.jobid), _Watch())

    def emit_preamble(self, job: Job) -> list[str]:
        """Return the ``#SBATCH`` lines of a job, which Slurm is not to run a second time.

        Why: a job whose batch host is lost is queued again where the site says nothing else; nobody waits for it, and
        it is in the way of others.
        """
        preamble: list[str] = super().emit_preamble(job)
        return ["#SBATCH --no-requeue", *preamble]

    def submit(self, job: Job) -> None:
        """Submit a job; a controller that does not answer is asked again for a while.

        Why: with ReFrame's, each case that comes to its turn during a restart of slurmctld fails.

        :raises JobSchedulerError: in one line, what sbatch said.
        """
        begin = time.monotonic()
        for pause_s in itertools.cycle([1, 2, 3]):
            try:
                super().submit(job)
            except (SpawnedProcessError, OSError) as error:
                said = _said(error)
                # Once it has been silent for long enough, the cases that are left do not wait for it again.
                if NO_CONTROLLER in said and not self._controller_is_silent:
                    if time.monotonic() - begin < SILENCE_S:
                        getlogger().info(f"{NO_CONTROLLER}: the job will be submitted again")
                        time.sleep(pause_s)
                        continue
                    self._controller_is_silent = True
                raise JobSchedulerError(f"sbatch: {said}") from None
            self._controller_is_silent = False
            return

    def poll(self, *jobs: Job) -> None:
        """Bring jobs up to date; whatever command fails, no exception leaves here.

        Why: an exception here ends the session, with its jobs left in the queue.
        """
        running = [job for job in jobs if job is not None and not self.finished(job)]
        if not running:
            return
        self._ask_accounting(running)
        if time.monotonic() >= self._next_question:
            for job in running:
                if not self.finished(job):
                    self._ask_controller(job)
            age_s = time.time() - min(job.submit_time for job in running)
            self._next_question = time.monotonic() + min(max(ASK_FIRST_S, age_s / 4), ASK_LAST_S)
        self._cancel_if_too_late([job for job in running if not self.finished(job)])
        for job in running:
            self._explain(job)

    def finished(self, job: Job) -> bool:
        """Tell whether a job has ended, or has been given up.

        Why: of a job that Slurm has forgotten accounting never says that it ended.
        """
        return self._watch(job).given_up or super().finished(job)

    def _ask_accounting(self, jobs: list[Job]) -> None:
        if time.monotonic() < self._accounting_again:
            return
        try:
            super().poll(*jobs)
        except (SpawnedProcessError, OSError) as error:
            if not self._accounting_again:
                getlogger().warning(
                    f"sacct fails ({_said(error)}); until it answers, the controller is asked about jobs"
                )
            self._accounting_again = time.monotonic() + WITHOUT_ACCOUNTING_S
        else:
            self._accounting_again = 0.0

    def _ask_controller(self, job: Job) -> None:
        """See whether the controller knows more of a job than accounting."""
        watch = self._watch(job)
        try:
            info = _job(job)
        except (SpawnedProcessError, OSError, OutputError) as error:
            said = _said(error)
            if "Invalid job id" in said:
                watch.unknown, seconds = _since(watch.unknown)
                # Accounting keeps what the controller has forgotten; it may be about to tell how the job ended.
                if seconds >= BEHIND_S:
                    self._give_up(job, "Slurm has forgotten it; perhaps its controller crashed")
                return
            watch.silent, seconds = _since(watch.silent)
            if seconds >= SILENCE_S:
                self._controller_is_silent = True
                self._give_up(job, f"scontrol has failed for {seconds:.0f} s ({said}); it may still be in the queue")
            return
        watch.unknown = watch.silent = None
        watch.reservation = info.reservation
        if slurm_state_completed(info.state):
            watch.behind, seconds = _since(watch.behind)
            if seconds >= BEHIND_S or self._accounting_again:
                self._take_over(job, info)
            return
        watch.behind = None
        if self._accounting_again:
            note(job, state=info.state)
        if _waits(info.state):
            watch.pending_reason, watch.partitions = info.reason, info.partitions
            self._cancel_if_hopeless(job, info)

    def _take_over(self, job: Job, info: slurm.Job) -> None:
        note(job, state=info.state, exitcode=info.exit_status, nodespec=info.nodelist, completion_time=time.time())

    def _give_up(self, job: Job, why: str) -> None:
        watch = self._watch(job)
        watch.given_up = watch.explained = True
        watch.failure = watch.failure or Ending(f"job {job.jobid} was given up: {why}")

    def _cancel_if_hopeless(self, job: Job, info: slurm.Job) -> None:
        watch = self._watch(job)
        # For a moment, as after a restart of the controller, either may be said of nodes that are well.
        if not (self._is_blocked(info.reason) or slurm.too_few(info, self._nodes(watch.reservation))):
            watch.hopeless = None
            return
        watch.hopeless, seconds = _since(watch.hopeless)
        if seconds >= OUT_OF_SERVICE_S:
            self._cancel_waiting(job, hopeless=True)

    def _is_blocked(self, reason: str) -> bool:
        """Tell whether a job waits for what the site's configuration of ReFrame calls a reason to cancel it.

        :param reason: as in ``ReqNodeNotAvail, UnavailableNodes:n3``.
        """
        return reason.partition(",")[0].strip() in self.reasons_to_cancel

    def _cancel_if_too_late(self, jobs: list[Job]) -> None:
        for job in jobs:
            waited_s = time.time() - job.submit_time
            if job.max_pending_time and _waits(job.state) and waited_s >= job.max_pending_time:
                self._cancel_waiting(job)

    def _cancel_waiting(self, job: Job, hopeless: bool = False) -> None:
        if job.is_cancelling:
            return
        watch = self._watch(job)
        nodes = [
            node
            for node in self._nodes(watch.reservation)
            if not watch.partitions or node.partitions & watch.partitions
        ]
        waited_s = time.time() - job.submit_time
        watch.failure = slurm.waiting(job.jobid, waited_s, watch.pending_reason, nodes, hopeless)
        self._withdraw(job)

    def _withdraw(self, job: Job) -> None:
        try:
            self.cancel(job)
        except (SpawnedProcessError, OSError) as error:
            self.log(f"scancel {job.jobid}: {_said(error)}")

    def _explain(self, job: Job) -> None:
        """Note once, when a job has ended, why it failed."""
        watch = self._watch(job)
        if watch.explained or not self.finished(job):
            return
        watch.explained = True
        if nodespec(job) == "None assigned":  # how accounting writes that a job never had a node
            note(job, nodespec="")
        if job.state == "COMPLETED":
            watch.failure = None  # it began after all, before it could be cancelled
        elif watch.failure is None:
            self._complete(job)
            if job.state == "NODE_FAIL":
                # If its host was lost before it began there, Slurm queues it again, whatever was asked.
                self._withdraw(job)
            watch.failure = slurm.ending(job.jobid, job.state, list(job.nodelist), self._nodes(watch.reservation))

    def _complete(self, job: Job) -> None:
        """Take nodes, exit status and begin from the controller.

        Soon after a job's end, accounting may tell half of its nodes, and ``FAILED|0:0`` of one that ended with 3.
        """
        try:
            info = _job(job)
            note(job, nodespec=info.nodelist or nodespec(job), exitcode=info.exit_status or job.exitcode)
            self._watch(job).began = info.began if info.nodelist else ""
            self._watch(job).reservation = info.reservation
        except (SpawnedProcessError, OSError, OutputError) as error:
            self.log(f"scontrol show job {job.jobid}: {_said(error)}")

    def _nodes(self, reservation: str = "") -> list[slurm.Node]:
        """Return the nodes, of a reservation or all, as they are now; none if the controller does not say."""
        try:
            if reservation:
                kept = slurm.parse_reservation(_run(f"scontrol -a -o show reservation {shlex.quote(reservation)}"))
                return slurm.within(slurm.parse_nodes(_run(f"scontrol -a -o show node {shlex.quote(kept.nodes)}")))
            return slurm.parse_nodes(_run("scontrol -a -o show node"))
        except (SpawnedProcessError, OSError, OutputError) as error:
            self.log(f"scontrol show {'reservation' if reservation else 'node'}: {_said(error)}")
            return []


def _waits(state: str | None) -> bool:
    """Tell whether a job has not begun; ReFrame takes one for pending whose end is being tidied up."""
    return slurm_state_pending(state) and state != "COMPLETING"


def _job(job: Job) -> slurm.Job:
    return slurm.parse_job(_run(f"scontrol -d -o show job {job.jobid}"))


def _run(command: str) -> str:
    return str(osext.run_command(command, check=True, timeout=60, log=False).stdout)


def _said(error: Exception) -> str:
    """Return the last line of what a command said, or why it could not be started."""
    if isinstance(error, SpawnedProcessError):
        return slurm.last_words(error.stderr, f"{error.command.split()[0]} failed with status {error.exitcode}")
    return str(error)
