# SPDX-License-Identifier: BSD-3-Clause
"""ReFrame's Flux scheduler, made to ask for nodes and to tell why a job failed.

ReFrame 4.10's ``flux`` submits every job as one task on one core, whatever the check asks for: it passes on neither
nodes nor tasks, neither ``access`` nor a job's options, and its job scripts say nothing of what they need. It never
tells which nodes a job had, takes a job in the queue for one that runs, so that ``max_pending_time`` bounds nothing,
and takes every failure for a cancellation. And it needs Flux's Python bindings in the Python of ReFrame. This one,
``fabric-flux``, writes what a job needs into its script as submission directives (flux-batch(1), RFC 36), hands the
script to ``flux batch``, so that the job's ``flux run`` has nodes of its own, and asks ``flux jobs``.

Delete this module, and write ``flux`` for ``fabric-flux``, when ReFrame's passes on nodes, tasks and ``access``, and
notes nodes, exit status and exception of a job; :meth:`.Patience.why_failed` has to stay, of ReFrame's notes.
"""

from __future__ import annotations

import shlex
import time
from datetime import datetime, timezone
from typing import Any

from reframe.core.backends import register_scheduler
from reframe.core.exceptions import JobSchedulerError, SpawnedProcessError
from reframe.core.schedulers import Job
from reframe.core.schedulers.flux import FluxJobScheduler
from reframe.utility import nodelist_expand, osext

from fabric_checks.core.errors import OutputError
from fabric_checks.reframe_ext.internals import note
from fabric_checks.schedulers.endings import Ending
from fabric_checks.schedulers.flux import jobs as flux
from fabric_checks.schedulers.patience import Patience, last_line

#: What the state of a job is called in records, as Slurm's jobs have it.
_STATES = {"CANCELED": "CANCELLED"}


class FluxBatchJob(Job):
    """A batch job of Flux."""

    has_ended = False

    @property
    def completed(self) -> bool:
        """Whether it has ended."""
        return self.has_ended


@register_scheduler("fabric-flux")
class FluxBatchScheduler(Patience, FluxJobScheduler):
    """Flux by ``flux batch`` and ``flux jobs``; every job ends, and says why."""

    asks = "flux jobs"

    def __init__(self) -> None:
        # Not ReFrame's: nothing of Flux is needed before the first job, so that a dry run shows scripts on any machine.
        self._timeout_s = self.get_option("job_submit_timeout")
        self._watches = {}

    def make_job(self, *args: Any, **kwargs: Any) -> Job:
        """Return a job that is not yet submitted.

        Why: ReFrame's has the jobspec of one task, which the script's directives take the place of.
        """
        return FluxBatchJob(*args, **kwargs)

    def emit_preamble(self, job: Job) -> list[str]:
        """Return the submission directives of a job: whole numbers of nodes, and a slot for each task.

        Why: ReFrame writes none, so that a script did not say what it needs.
        """
        nodes = job.num_tasks // (job.num_tasks_per_node or 1)
        options = [
            f"--job-name={job.name}",
            f"--output={job.stdout}",
            f"--error={job.stderr}",
            f"--nodes={nodes}",
            f"--nslots={job.num_tasks}",
            *([f"--cores-per-slot={job.num_cpus_per_task}"] if job.num_cpus_per_task else []),
            *([f"--time-limit={job.time_limit:.0f}s"] if job.time_limit else []),
            *(["--exclusive"] if job.exclusive_access else []),
            *job.sched_access,
            *job.options,
            *job.cli_options,
        ]
        return [f"#flux: {option}" for option in options]

    def submit(self, job: Job) -> None:
        """Submit the job's script.

        Why: ReFrame submits it as one task, on which `flux run` has no nodes of its own.

        :raises JobSchedulerError: in one line, if Flux does not take it.
        """
        try:
            said = self._run(f"flux batch {shlex.quote(job.script_filename)}", self._timeout_s)
        except (SpawnedProcessError, OSError) as error:
            raise JobSchedulerError(f"flux batch: {last_line(error)}") from None
        # In decimal: all of Flux takes it, and it is plain ASCII.
        number = self._asked(f"flux job id --to=dec {shlex.quote(said.strip())}") if said.strip() else ""
        if not number.strip().isdecimal():
            raise JobSchedulerError(f"flux batch printed {said.strip()!r} instead of a job id")
        note(job, jobid=number.strip(), submit_time=time.time(), state="PENDING")

    def cancel(self, job: Job) -> None:
        """Cancel a job; one that has just ended is left.

        Why: ReFrame's goes by the future of a job that it submitted itself.
        """
        self._watch(job).cancelled = True
        osext.run_command(f"flux cancel {job.jobid}", check=False, timeout=self._timeout_s)

    def poll(self, *jobs: Job) -> None:
        """Bring jobs up to date, and cancel those that have waited for too long; no exception leaves here.

        Why: ReFrame's takes every job that did not end well for cancelled, and drops what Flux says of it.
        """
        running = [job for job in jobs if job is not None and not job.completed]
        if not running:
            return
        ids = " ".join(job.jobid for job in running)
        try:
            # It fails as soon as one job is unknown, and prints the others.
            done = osext.run_command(f"flux jobs --json {ids}", check=False, timeout=60, log=False)
            known = flux.parse_jobs(done.stdout) if done.stdout.strip() or "unknown" not in done.stderr else {}
        except (SpawnedProcessError, OSError, OutputError) as error:
            for job in running:
                self._bear_silence(job, str(error))
            return
        for job in running:
            self._watch(job).silent = None
            if job.jobid in known:
                self._update(job, known[job.jobid])
            elif self._is_forgotten(job):
                self._give_up(job, "Flux does not know it; perhaps it was restarted and lost its jobs")

    @staticmethod
    def _end(job: Job) -> None:
        job.has_ended = True

    def _update(self, job: Job, now: flux.Job) -> None:
        watch = self._watch(job)
        watch.unknown = None
        if now.began:
            watch.began = datetime.fromtimestamp(now.began, timezone.utc).isoformat(timespec="seconds")
        if now.nodelist and not job.nodelist:
            note(job, nodelist=_expand(now.nodelist))
        if now.has_ended:
            self._note_end(job, now)
        elif now.waits:
            note(job, state="PENDING")
            self._cancel_if_in_vain(job, now)
        else:
            note(job, state="RUNNING")

    def _note_end(self, job: Job, now: flux.Job) -> None:
        watch = self._watch(job)
        note(job, state=_STATES.get(now.result, now.result), completion_time=time.time())
        if now.exit_status is not None:
            note(job, exitcode=now.exit_status)
        if now.result == "COMPLETED":
            watch.failure = None  # it began after all, before it could be cancelled
        elif watch.failure is None and not watch.cancelled:
            watch.failure = flux.ending(job.jobid, now, list(job.nodelist), self._nodes())
        self._end(job)

    def _is_hopeless(self, now: flux.Job, nodes: list[flux.Node]) -> bool:
        return flux.too_few(now, nodes)

    def _waiting(self, job: Job, waited_s: float, now: flux.Job, nodes: list[flux.Node], *, hopeless: bool) -> Ending:
        said = self._asked("flux resource list --states=allocated --no-header --format={nodelist}").strip()
        busy = _expand(said) if said else []
        return flux.waiting(job.jobid, waited_s, now.reason, nodes, busy=busy, hopeless=hopeless)

    def _nodes(self) -> list[flux.Node]:
        """Return the nodes as they are now; none if Flux does not say."""
        said = self._asked(f"flux resource status --no-header --format={shlex.quote(flux.NODES_FORMAT)}")
        try:
            return flux.parse_nodes(said, _expand)
        except OutputError as error:
            self.log(str(error))
            return []

    def _asked(self, command: str) -> str:
        """Return what a command prints; nothing if it fails, which the log says."""
        try:
            return self._run(command)
        except (SpawnedProcessError, OSError) as error:
            self.log(f"{command}: {last_line(error)}")
            return ""

    @staticmethod
    def _run(command: str, timeout_s: float | None = 60) -> str:
        return str(osext.run_command(command, check=True, timeout=timeout_s, log=False).stdout)


def _expand(names: str) -> list[str]:
    """Return the names of nodes in Flux's notation, or that itself if it is not understood."""
    try:
        return list(nodelist_expand(names))
    except ValueError:
        return [names]
