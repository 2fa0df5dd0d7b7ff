# SPDX-License-Identifier: BSD-3-Clause
"""ReFrame's PBS scheduler, made to tell why a job failed.

ReFrame 4.10's ``pbs`` knows a job that has ended by its absence only, and goes on to the sanity phase whether it was
deleted, ran over its limit or lost its node. ``pbspro`` asks for more, but raises where a job has no exit status, as
one that was deleted before it began, and asks for all jobs at once, of which OpenPBS prints one, so that it takes the
others for ended. Both raise when qstat fails. This one, ``fabric-pbs``, takes the same options, and has the same job
scripts but for ``-r n``: a job that PBS ran again would be two.

Delete this module, and write ``pbspro`` for ``fabric-pbs``, when ReFrame's gets over a job without ``Exit_status`` and
a qstat that fails, and notes substate and comment of a job; :meth:`NotedPbsScheduler.why_failed` has to stay, of
ReFrame's notes.
"""

from __future__ import annotations

import shlex
import time
from dataclasses import dataclass

from reframe.core.backends import register_scheduler
from reframe.core.exceptions import JobSchedulerError, SpawnedProcessError
from reframe.core.logging import getlogger
from reframe.core.schedulers import Job
from reframe.core.schedulers.pbs import PbsJobScheduler
from reframe.utility import osext

from fabric_checks.errors import OutputError
from fabric_checks.parsers import endings, pbs
from fabric_checks.parsers.endings import Ending
from fabric_checks.reframe_ext.internals import end_pbs_job, note

#: So long a job waits for nodes that are out of service before it is cancelled, if there are too few others.
OUT_OF_SERVICE_S = 30.0
#: So often, while a job waits, it is seen whether there are.
ASK_NODES_S = 5.0
#: So long PBS may be silent, as when it is restarted, or not know a job, before the job is given up.
SILENCE_S, UNKNOWN_S = 180.0, 15.0


@dataclass
class _Watch:
    """What is known about a job beside what ReFrame keeps."""

    failure: Ending | None = None
    began: str | None = None
    cancelled: bool = False
    # Since when, in seconds of the monotonic clock, something is wrong; None while it is not.
    silent: float | None = None
    unknown: float | None = None
    hopeless: float | None = None
    nodes_asked: float = 0.0


def _since(previous: float | None) -> tuple[float, float]:
    now = time.monotonic()
    begin = now if previous is None else previous
    return begin, now - begin


@register_scheduler("fabric-pbs")
class NotedPbsScheduler(PbsJobScheduler):
    """PBS by the history of jobs; every job ends, and says why."""

    def __init__(self) -> None:
        super().__init__()
        self._watches: dict[str, _Watch] = {}

    def _watch(self, job: Job) -> _Watch:
        return self._watches.setdefault(str(job.jobid), _Watch())

    def emit_preamble(self, job: Job) -> list[str]:
        """Return the ``#PBS`` lines of a job, which PBS is not to run a second time.

        Why: a job whose node is lost is queued again by PBS, and ReFrame's leaves that to an option of each system.
        """
        return ["#PBS -r n", *super().emit_preamble(job)]

    def submit(self, job: Job) -> None:
        """Submit the job's script.

        Why: ReFrame's raises what has many lines.

        :raises JobSchedulerError: in one line, what qsub said.
        """
        try:
            super().submit(job)
        except (SpawnedProcessError, OSError) as error:
            raise JobSchedulerError(f"qsub: {_said(error)}") from None

    def cancel(self, job: Job) -> None:
        """Cancel a job; one that has just ended is left.

        Why: ReFrame's waits until the job is 3 s old, and raises where it has ended.
        """
        self._watch(job).cancelled = True
        osext.run_command(f"qdel {shlex.quote(job.jobid)}", check=False, timeout=60)

    def poll(self, *jobs: Job) -> None:
        """Bring jobs up to date, and cancel those that have waited for too long; no exception leaves here.

        Why: ReFrame's raises where qstat fails, and does not read why a job ended.
        """
        for job in jobs:
            # One by one: of several, qstat of OpenPBS 23.06.06 prints the first as JSON, and nothing of the others.
            if job is not None and not job.completed:
                self._poll(job)

    def _poll(self, job: Job) -> None:
        try:
            command = f"qstat -x -f -F json {shlex.quote(job.jobid)}"
            done = osext.run_command(command, check=False, timeout=60, log=False)
            if not done.stdout.strip() and "Unknown Job Id" not in done.stderr:
                raise OutputError(" ".join(done.stderr.split()) or f"status {done.returncode}")
            known = pbs.parse_jobs(done.stdout) if done.stdout.strip() else {}
        except (SpawnedProcessError, OSError, OutputError) as error:
            self._bear_silence(job, str(error))
            return
        self._watch(job).silent = None
        if job.jobid in known:
            self._update(job, known[job.jobid])
        else:
            self._bear_ignorance(job)

    def _bear_silence(self, job: Job, said: str) -> None:
        watch = self._watch(job)
        if watch.silent is None:
            getlogger().warning(f"qstat fails ({said}); it is asked again")
        watch.silent, seconds = _since(watch.silent)
        if seconds >= SILENCE_S:
            self._give_up(job, f"qstat has failed for {seconds:.0f} s; it may still be in the queue")

    def _bear_ignorance(self, job: Job) -> None:
        """Take a job that has gone for one that has ended, as without a history of jobs it is."""
        watch = self._watch(job)
        watch.unknown, seconds = _since(watch.unknown)
        if seconds < UNKNOWN_S:
            return
        if job.state in (None, "QUEUED", "HELD", "WAITING"):
            self._give_up(job, "PBS does not know it; has its server job_history_enable?")
        else:
            note(job, state="COMPLETED", completion_time=time.time())
            end_pbs_job(job)

    def _give_up(self, job: Job, why: str) -> None:
        watch = self._watch(job)
        watch.failure = watch.failure or Ending(f"job {job.jobid} was given up: {why}")
        note(job, state="FAILED")
        end_pbs_job(job)

    def _update(self, job: Job, now: pbs.Job) -> None:
        watch = self._watch(job)
        watch.unknown = None
        if now.began:
            watch.began = now.began.astimezone().isoformat()
        if now.hosts:
            note(job, nodelist=list(now.hosts))
        if now.has_ended:
            self._note_end(job, now)
            return
        note(job, state=pbs.STATES.get(now.state, now.state))
        if now.waits:
            self._cancel_if_in_vain(job, now)

    def _note_end(self, job: Job, now: pbs.Job) -> None:
        watch = self._watch(job)
        if not watch.cancelled:
            watch.failure = pbs.ending(job.jobid, now, self._nodes())
        elif now.substate == pbs.FINISHED:
            watch.failure = None  # it began after all, before it could be cancelled
        note(job, state=self._final(now), completion_time=time.time())
        if now.exit_status is not None:
            note(job, exitcode=now.exit_status)
        end_pbs_job(job)

    @staticmethod
    def _final(now: pbs.Job) -> str:
        if now.exit_status is not None and now.exit_status < 0:
            return "TIMEOUT" if pbs.MEANT.get(now.exit_status) == endings.OVER_LIMIT else "FAILED"
        if now.substate == pbs.DELETED or now.exit_status is None:
            return "CANCELLED"
        return "COMPLETED" if now.substate == pbs.FINISHED else "FAILED"

    def _cancel_if_in_vain(self, job: Job, now: pbs.Job) -> None:
        """Cancel a job that has waited for too long, or that cannot start."""
        watch = self._watch(job)
        if watch.cancelled:
            return
        waited_s = time.time() - job.submit_time
        if job.max_pending_time and waited_s >= job.max_pending_time:
            self._cancel_waiting(job, now, self._nodes(), hopeless=False)
            return
        if time.monotonic() < watch.nodes_asked + ASK_NODES_S:
            return
        watch.nodes_asked = time.monotonic()
        nodes = self._nodes()
        if not (now.comment.startswith(pbs.NEVER) or pbs.too_few(now, nodes)):
            watch.hopeless = None
            return
        watch.hopeless, seconds = _since(watch.hopeless)
        if seconds >= OUT_OF_SERVICE_S:
            self._cancel_waiting(job, now, nodes, hopeless=True)

    def _cancel_waiting(self, job: Job, now: pbs.Job, nodes: list[pbs.Node], hopeless: bool) -> None:
        waited_s = time.time() - job.submit_time
        self._watch(job).failure = pbs.waiting(job.jobid, waited_s, now.reason, nodes, hopeless)
        self.cancel(job)

    def _nodes(self) -> list[pbs.Node]:
        """Return the nodes as they are now; none if PBS does not say."""
        try:
            return pbs.parse_nodes(osext.run_command("pbsnodes -a -F json", check=True, timeout=60, log=False).stdout)
        except (SpawnedProcessError, OSError, OutputError) as error:
            self.log(f"pbsnodes: {_said(error)}")
            return []

    def why_failed(self, job: Job) -> Ending | None:
        """Return why a job that has ended failed, with its nodes, or None if its output has to say it."""
        return self._watch(job).failure

    def began(self, job: Job) -> str | None:
        """Return when a job began, ISO 8601 with time zone; None if it has not."""
        return self._watch(job).began


def _said(error: Exception) -> str:
    """Return the last line of what a command said, or why it could not be started."""
    lines = (error.stderr or "").split("\n") if isinstance(error, SpawnedProcessError) else []
    return next((line.strip() for line in reversed(lines) if line.strip()), str(error))
