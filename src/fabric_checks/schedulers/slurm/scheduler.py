# SPDX-License-Identifier: BSD-3-Clause
"""``fabric-slurm``: ReFrame's Slurm scheduler, made to survive the loss of a daemon and to report why a job
failed.

ReFrame 4.10's ``slurm`` knows jobs by ``sacct`` alone: the session ends, with its jobs left in the queue,
when sacct fails a few times; it polls for ever when accounting never hears of a job's end; and a job that was
cancelled, timed out or lost its node goes on to the sanity phase like any other. Job scripts, options and
``sched_options`` of this one are those of ``slurm``.
"""

from __future__ import annotations

import shlex
import time
from datetime import datetime

from reframe.core.backends import register_scheduler
from reframe.core.exceptions import SpawnedProcessError
from reframe.core.logging import getlogger
from reframe.core.schedulers import Job
from reframe.core.schedulers.slurm import slurm_state_completed, slurm_state_pending

from fabric_checks.reframe_ext.internals import SlurmScheduler, nodespec, note
from fabric_checks.schedulers import watchdog
from fabric_checks.schedulers.model import Node
from fabric_checks.schedulers.slurm import output
from fabric_checks.schedulers.watchdog import (
    FAILURES,
    Watch,
    Watching,
    last_line,
    refusals,
    run,
)

#: When the controller is first asked about a job, and the longest interval after that; in between it is a
#: quarter of the job's age. The question costs the controller time.
ASK_FIRST_S, ASK_LAST_S = 5.0, 60.0
#: How long accounting may be behind the controller, or the controller not know a job that accounting does.
BEHIND_S = 15.0


@register_scheduler("fabric-slurm")
class WatchfulSlurmScheduler(Watching, SlurmScheduler):
    """Slurm by sacct, and by the controller where sacct fails or is behind; every job ends with an exit
    reason."""

    name = "Slurm"

    def __init__(self) -> None:
        super().__init__()
        self._next_question = 0.0
        self._has_accounting = True
        self._controller = Watch()

    def emit_preamble(self, job: Job) -> list[str]:
        """Return the ``#SBATCH`` lines of a job, which Slurm is not to run a second time.

        Why: unless the site configures otherwise, a job whose batch host is lost is queued again; nobody
        waits for it, and it is in the way of other jobs.
        """
        return ["#SBATCH --no-requeue", *super().emit_preamble(job)]

    def submit(self, job: Job) -> None:
        """Submit a job.

        Why: ReFrame's raises an error of many lines.

        :raises JobSchedulerError: in one line, what sbatch printed.
        """
        with refusals("sbatch"):
            super().submit(job)

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
                self._ask_controller(job)
            age_s = time.time() - min(job.submit_time for job in running)
            pause_s = min(max(ASK_FIRST_S, age_s / 4), ASK_LAST_S)
            self._next_question = time.monotonic() + pause_s
        for job in running:
            self._conclude(job)

    def _conclude(self, job: Job) -> None:
        """Explain a job that has ended, and withdraw one that has waited for too long."""
        if self.finished(job):
            self._explain(job)
        elif self._is_late(job) and _waits(job.state):
            self._withdraw(job, unschedulable=False)

    def finished(self, job: Job) -> bool:
        """Tell whether a job has ended, or has been given up.

        Why: accounting never reports the end of a job that Slurm has forgotten.
        """
        return bool(self._watch(job).is_over or super().finished(job))

    def _ask_accounting(self, jobs: list[Job]) -> None:
        try:
            super().poll(*jobs)
            self._has_accounting = True
        except (SpawnedProcessError, OSError) as error:
            if self._has_accounting:
                getlogger().warning(
                    f"sacct fails ({last_line(error)}); until it answers, the controller is asked about jobs"
                )
            self._has_accounting = False

    def _ask_controller(self, job: Job) -> None:
        """Take over what the controller knows of a job and accounting does not."""
        if self.finished(job):
            return
        watch = self._watch(job)
        try:
            info = watch.shown = _job(job)
        except FAILURES as error:
            self._note_failure(job, last_line(error))
            return
        watch.end("unknown")
        self._controller.end("silent")
        if slurm_state_completed(info.state):
            if watch.lasts_s("behind") >= BEHIND_S or not self._has_accounting:
                note(
                    job,
                    state=info.state,
                    exitcode=info.exit_status,
                    nodespec=info.nodelist,
                )
                note(job, completion_time=time.time())
            return
        watch.end("behind")
        if not self._has_accounting:
            note(job, state=info.state)
        if _waits(info.state):
            # As in `ReqNodeNotAvail, UnavailableNodes:n3`: what the configuration calls a reason to cancel a
            # job.
            is_blocked = info.reason.partition(",")[0].strip() in self.reasons_to_cancel
            # For a moment, as after a restart of the controller, either may be true of nodes that are well.
            if self._cannot_start(
                job, now=is_blocked or output.too_few(info, self._nodes(job))
            ):
                self._withdraw(job, unschedulable=True)

    def _note_failure(self, job: Job, cause: str) -> None:
        """Give up a job that the controller does not know, or of which it has not answered for long."""
        if "Invalid job id" in cause:
            # Accounting keeps what the controller has forgotten; it may be about to report how the job ended.
            if self._watch(job).lasts_s("unknown") >= BEHIND_S:
                self.give_up(
                    job, "Slurm has forgotten it; perhaps its controller crashed"
                )
        elif (seconds := self._controller.lasts_s("silent")) >= watchdog.SILENCE_S:
            why = f"scontrol has failed for {seconds:.0f} s ({cause}); it may still be in the queue"
            self.give_up(job, why)

    def give_up(self, job: Job, why: str) -> None:
        """End a job for ReFrame, whatever becomes of it in the queue."""
        super().give_up(job, why)
        self._watch(job).is_over = True

    def _withdraw(self, job: Job, *, unschedulable: bool) -> None:
        if not job.is_cancelling:
            shown = self._watch(job).shown
            reason, nodes = shown.reason if shown else "", self._nodes(job)
            if shown:
                nodes = [node for node in nodes if node.partitions & shown.partitions]
            self._cancel_waiting(job, reason, nodes, unschedulable=unschedulable)

    def cancel(self, job: Job) -> None:
        """Cancel a job; one that cannot be is tried again at the next poll.

        Why: ReFrame's raises where scancel fails, which ends the session.
        """
        try:
            super().cancel(job)
        except (SpawnedProcessError, OSError) as error:
            self.log(f"scancel {job.jobid}: {last_line(error)}")

    def _explain(self, job: Job) -> None:
        """Note once, when a job has ended, why it failed."""
        watch = self._watch(job)
        if watch.is_over:
            return
        watch.is_over = True
        if (
            nodespec(job) == "None assigned"
        ):  # how accounting writes that a job never had a node
            note(job, nodespec="")
        if job.state == "COMPLETED":
            watch.failure = None  # it began after all, before it could be cancelled
        elif watch.failure is None:
            failed_node = self._complete(job)
            if job.state == "NODE_FAIL":
                # If its host was lost before it began there, Slurm queues it again, whatever was asked.
                self.cancel(job)
            names, nodes = list(job.nodelist), self._nodes(job)
            watch.failure = output.exit_reason(
                job.jobid, job.state, names, nodes, failed_node
            )

    def _complete(self, job: Job) -> str:
        """Take nodes, exit status and begin from the controller, and return the node that failed, if it names
        one.

        Soon after a job's end, accounting may have half of its nodes, and ``FAILED|0:0`` of one that ended
        with 3.
        """
        watch = self._watch(job)
        try:
            info = watch.shown = _job(job)
        except FAILURES as error:
            self.log(f"scontrol show job {job.jobid}: {last_line(error)}")
            return ""
        note(
            job,
            nodespec=info.nodelist or nodespec(job),
            exitcode=info.exit_status or job.exitcode,
        )
        if info.nodelist and info.began != "Unknown":
            watch.began = datetime.fromisoformat(info.began).astimezone().isoformat()
        return info.failed_node

    def _ask_nodes(self, job: Job) -> list[Node]:
        """Return the nodes of a job's reservation, or all."""
        shown = self._watch(job).shown
        if not (shown and shown.reservation):
            return output.parse_nodes(run("scontrol -a -o show node"))
        text = run(f"scontrol -a -o show reservation {shlex.quote(shown.reservation)}")
        nodes, _, _ = output.parse_reservation(text)
        names = "" if output.is_flexible(text) else f" {shlex.quote(nodes)}"
        return output.parse_nodes(
            run(f"scontrol -a -o show node{names}"), reserved=True
        )


def _waits(state: str | None) -> bool:
    """Tell whether a job has not begun; ReFrame takes one for pending whose end is being tidied up."""
    return slurm_state_pending(state) and state != "COMPLETING"


def _job(job: Job) -> output.Job:
    return output.parse_job(run(f"scontrol -d -o show job {job.jobid}"))
