# SPDX-License-Identifier: BSD-3-Clause
"""ReFrame's PBS scheduler, made to tell why a job failed.

ReFrame 4.10's ``pbs`` knows a job that has ended by its absence only, and goes on to the sanity phase whether it was
deleted, ran over its limit or lost its node. ``pbspro`` asks for more, but raises where a job has no exit status, as
one that was deleted before it began, and asks for all jobs at once, of which OpenPBS prints one, so that it takes the
others for ended. Both raise when qstat fails. This one, ``fabric-pbs``, takes the same options, and has the same job
scripts but for ``-r n``: a job that PBS ran again would be two.

Delete this module, and write ``pbspro`` for ``fabric-pbs``, when ReFrame's gets over a job without ``Exit_status`` and
a qstat that fails, and notes substate and comment of a job; :meth:`.Patience.why_failed` has to stay, of
ReFrame's notes.
"""

from __future__ import annotations

import shlex
import time

from reframe.core.backends import register_scheduler
from reframe.core.exceptions import JobSchedulerError, SpawnedProcessError
from reframe.core.schedulers import Job
from reframe.core.schedulers.pbs import PbsJobScheduler
from reframe.utility import osext

from fabric_checks.core.errors import OutputError
from fabric_checks.reframe_ext.internals import end_pbs_job, note
from fabric_checks.schedulers import endings
from fabric_checks.schedulers.endings import Ending
from fabric_checks.schedulers.patience import Patience, last_line
from fabric_checks.schedulers.pbs import jobs as pbs


@register_scheduler("fabric-pbs")
class NotedPbsScheduler(Patience, PbsJobScheduler):
    """PBS by the history of jobs; every job ends, and says why."""

    asks = "qstat"
    _end = staticmethod(end_pbs_job)

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
            raise JobSchedulerError(f"qsub: {last_line(error)}") from None

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

    def _bear_ignorance(self, job: Job) -> None:
        """Take a job that has gone for one that has ended, as without a history of jobs it is."""
        if not self._is_forgotten(job):
            return
        if job.state in (None, "QUEUED", "HELD", "WAITING"):
            self._give_up(job, "PBS does not know it; does its server have job_history_enable?")
        else:
            note(job, state="COMPLETED", completion_time=time.time())
            self._end(job)

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
        self._end(job)

    @staticmethod
    def _final(now: pbs.Job) -> str:
        if now.exit_status is not None and now.exit_status < 0:
            return "TIMEOUT" if pbs.MEANT.get(now.exit_status) == endings.OVER_LIMIT else "FAILED"
        if now.substate == pbs.DELETED or now.exit_status is None:
            return "CANCELLED"
        return "COMPLETED" if now.substate == pbs.FINISHED else "FAILED"

    def _is_hopeless(self, now: pbs.Job, nodes: list[pbs.Node]) -> bool:
        return now.comment.startswith(pbs.NEVER) or pbs.too_few(now, nodes)

    def _waiting(self, job: Job, waited_s: float, now: pbs.Job, nodes: list[pbs.Node], *, hopeless: bool) -> Ending:
        return pbs.waiting(job.jobid, waited_s, now.reason, nodes, hopeless)

    def _nodes(self) -> list[pbs.Node]:
        """Return the nodes as they are now; none if PBS does not say."""
        try:
            return pbs.parse_nodes(osext.run_command("pbsnodes -a -F json", check=True, timeout=60, log=False).stdout)
        except (SpawnedProcessError, OSError, OutputError) as error:
            self.log(f"pbsnodes: {last_line(error)}")
            return []
