# SPDX-License-Identifier: BSD-3-Clause
"""ReFrame's Flux scheduler, made to ask for nodes and to tell why a job failed.

ReFrame 4.10's ``flux`` submits every job as one task on one core, whatever the check asks for: it passes on neither
nodes nor tasks, neither ``access`` nor a job's options, and its job scripts say nothing of what they need. It never
tells which nodes a job had, takes a job in the queue for one that runs, so that ``max_pending_time`` bounds nothing,
and takes every failure for a cancellation. And it needs Flux's Python bindings in the Python of ReFrame. This one,
``fabric-flux``, writes what a job needs into its script as submission directives (flux-batch(1), RFC 36), hands the
script to ``flux batch``, so that the job's ``flux run`` has nodes of its own, and asks ``flux jobs``.

Delete this module, and write ``flux`` for ``fabric-flux``, when ReFrame's passes on nodes, tasks and ``access``, and
notes nodes, exit status and exception of a job; :meth:`FluxBatchScheduler.why_failed` has to stay, of ReFrame's notes.
"""

from __future__ import annotations

import shlex
import time
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from reframe.core.backends import register_scheduler
from reframe.core.exceptions import JobSchedulerError, SpawnedProcessError
from reframe.core.logging import getlogger
from reframe.core.schedulers import Job
from reframe.core.schedulers.flux import FluxJobScheduler
from reframe.utility import nodelist_expand, osext

from fabric_checks.errors import OutputError
from fabric_checks.parsers import flux
from fabric_checks.parsers.endings import Ending
from fabric_checks.reframe_ext.internals import note

#: So long a job waits for nodes that are out of service before it is cancelled, if there are too few others.
OUT_OF_SERVICE_S = 30.0
#: So often, while a job waits, it is seen whether there are.
ASK_NODES_S = 5.0
#: So long Flux may be silent, as when it is restarted, or not know a job, before the job is given up.
SILENCE_S, UNKNOWN_S = 180.0, 15.0

#: What the state of a job is called in records, as Slurm's jobs have it.
_STATES = {"CANCELED": "CANCELLED"}


class FluxBatchJob(Job):
    """A batch job of Flux."""

    has_ended = False

    @property
    def completed(self) -> bool:
        """Whether it has ended."""
        return self.has_ended


@dataclass
class _Watch:
    """What is known about a job beside what ReFrame keeps."""

    failure: Ending | None = None
    began: float | None = None
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


@register_scheduler("fabric-flux")
class FluxBatchScheduler(FluxJobScheduler):
    """Flux by ``flux batch`` and ``flux jobs``; every job ends, and says why."""

    def __init__(self) -> None:
        # Nothing of Flux is needed before the first job, so that a dry run shows the scripts on any machine.
        self._timeout_s = self.get_option("job_submit_timeout")
        self._watches: dict[str, _Watch] = {}

    def make_job(self, *args: Any, **kwargs: Any) -> Job:
        """Return a job that is not yet submitted.

        Why: ReFrame's has the jobspec of one task, which the script's directives take the place of.
        """
        return FluxBatchJob(*args, **kwargs)

    def _watch(self, job: Job) -> _Watch:
        return self._watches.setdefault(str(job.jobid), _Watch())

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
            raise JobSchedulerError(f"flux batch: {_said(error)}") from None
        # In decimal: all of Flux takes it, and it is plain ASCII.
        number = self._asked(f"flux job id --to=dec {shlex.quote(said.strip())}") if said.strip() else ""
        if not number.strip().isdecimal():
            raise JobSchedulerError(f"flux batch printed no job id but {said.strip()!r}")
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
            else:
                self._bear_ignorance(job)

    def _bear_silence(self, job: Job, said: str) -> None:
        watch = self._watch(job)
        if watch.silent is None:
            getlogger().warning(f"flux jobs fails ({' '.join(said.split())}); it is asked again")
        watch.silent, seconds = _since(watch.silent)
        if seconds >= SILENCE_S:
            self._give_up(job, f"flux jobs has failed for {seconds:.0f} s; it may still be in the queue")

    def _bear_ignorance(self, job: Job) -> None:
        watch = self._watch(job)
        watch.unknown, seconds = _since(watch.unknown)
        if seconds >= UNKNOWN_S:
            self._give_up(job, "Flux does not know it, as after a restart that lost its jobs")

    def _give_up(self, job: Job, why: str) -> None:
        watch = self._watch(job)
        watch.failure = watch.failure or Ending(f"job {job.jobid} was given up: {why}")
        note(job, state="FAILED")
        job.has_ended = True

    def _update(self, job: Job, now: flux.Job) -> None:
        watch = self._watch(job)
        watch.unknown = None
        watch.began = now.began
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
        job.has_ended = True

    def _cancel_if_in_vain(self, job: Job, now: flux.Job) -> None:
        """Cancel a job that has waited for too long, or that too few nodes are in service for."""
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
        if not flux.too_few(now, nodes):
            watch.hopeless = None
            return
        watch.hopeless, seconds = _since(watch.hopeless)
        if seconds >= OUT_OF_SERVICE_S:
            self._cancel_waiting(job, now, nodes, hopeless=True)

    def _cancel_waiting(self, job: Job, now: flux.Job, nodes: list[flux.Node], hopeless: bool) -> None:
        busy = self._asked("flux resource list --states=allocated --no-header --format={nodelist}").strip()
        self._watch(job).failure = flux.waiting(
            job.jobid,
            time.time() - job.submit_time,
            now.reason,
            nodes,
            busy=_expand(busy) if busy else [],
            hopeless=hopeless,
        )
        self.cancel(job)

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
            self.log(f"{command}: {_said(error)}")
            return ""

    @staticmethod
    def _run(command: str, timeout_s: float | None = 60) -> str:
        return str(osext.run_command(command, check=True, timeout=timeout_s, log=False).stdout)

    def why_failed(self, job: Job) -> Ending | None:
        """Return why a job that has ended failed, with its nodes, or None if its output has to say it."""
        return self._watch(job).failure

    def began(self, job: Job) -> str | None:
        """Return when a job began, ISO 8601 with time zone; None if it has not."""
        seconds = self._watch(job).began
        return datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="seconds") if seconds else None


def _expand(names: str) -> list[str]:
    """Return the names of nodes in Flux's notation, or that itself if it is not understood."""
    try:
        return list(nodelist_expand(names))
    except ValueError:
        return [names]


def _said(error: Exception) -> str:
    """Return the last line of what a command said, or why it could not be started."""
    lines = (error.stderr or "").split("\n") if isinstance(error, SpawnedProcessError) else []
    return next((line.strip() for line in reversed(lines) if line.strip()), str(error))
