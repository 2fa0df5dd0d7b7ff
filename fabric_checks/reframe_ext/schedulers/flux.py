# SPDX-License-Identifier: BSD-3-Clause
"""ReFrame's Flux scheduler, made to ask for nodes.

ReFrame 4.10's ``flux`` submits every job as one task on one core, whatever the check asks for: it passes on neither
nodes nor tasks, neither ``access`` nor a job's options, and its job scripts say nothing of what they need. This one,
``fabric-flux``, writes all of that into the script as submission directives (flux-batch(1), RFC 36), and hands the
script to ``flux batch``, so that the job's ``flux run`` has nodes of its own. Flux's Python bindings then tell what
becomes of the job, as in ReFrame's.
"""

from __future__ import annotations

import shlex
import time
from typing import Any

from reframe.core.backends import register_scheduler
from reframe.core.exceptions import JobError, JobSchedulerError, SpawnedProcessError
from reframe.core.schedulers import Job
from reframe.core.schedulers.flux import FluxJobScheduler
from reframe.utility import osext

from fabric_checks.reframe_ext.internals import note

BINDINGS = "python -m pip install flux-python==<version of your Flux>, or its folder on PYTHONPATH"


class FluxBatchJob(Job):
    """A batch job of Flux.

    ``future`` becomes what the bindings call a FluxExecutorFuture of it.
    """

    future: Any = None
    has_ended = False

    @property
    def completed(self) -> bool:
        """Whether it has ended."""
        return self.has_ended


@register_scheduler("fabric-flux")
class FluxBatchScheduler(FluxJobScheduler):
    """Flux by ``flux batch``."""

    def __init__(self) -> None:
        # Nothing of Flux is needed before the first job, so that a dry run shows the scripts on any machine.
        self._timeout_s = self.get_option("job_submit_timeout")
        self._executor: Any = None
        self._cancelled: set[str] = set()
        self._failures: dict[str, str] = {}

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

        :raises JobSchedulerError: in one line, if Flux does not take it, or its bindings are missing.
        """
        executor, job_id = self._bindings()
        try:
            done = osext.run_command(
                f"flux batch {shlex.quote(job.script_filename)}", check=True, timeout=self._timeout_s
            )
        except (SpawnedProcessError, OSError) as error:
            raise JobSchedulerError(f"flux batch: {_said(error)}") from None
        try:
            number = job_id(done.stdout.split()[-1])
        except (IndexError, ValueError):
            raise JobSchedulerError(f"flux batch printed no job id but {done.stdout.strip()!r}") from None
        # In decimal: all of Flux takes it, and it is plain ASCII.
        note(job, jobid=str(int(number)), submit_time=time.time(), state="PENDING")
        job.future = executor.attach(number)
        job.future.add_event_callback("start", lambda *_: note(job, state="RUNNING"))

    def _bindings(self) -> tuple[Any, Any]:
        """Return an executor, which watches jobs, and the type of a job id."""
        try:
            from flux import job as flux_job  # type: ignore[import-not-found]  # noqa: PLC0415  (a dry run needs no Flux)
        except ImportError as error:
            raise JobSchedulerError(
                f"Flux's Python bindings cannot be loaded ({error}); install them: {BINDINGS}"
            ) from None
        if self._executor is None:
            self._executor = flux_job.FluxExecutor()
        return self._executor, flux_job.JobID

    def cancel(self, job: Job) -> None:
        """Cancel a job.

        Why: ReFrame's goes by the future of a job that it submitted itself.
        """
        self._cancelled.add(job.jobid)
        osext.run_command(f"flux cancel {job.jobid}", check=True, timeout=self._timeout_s)

    def poll(self, *jobs: Job) -> None:
        """Bring jobs up to date, and cancel those that have waited for too long.

        Why: ReFrame's takes every job that did not end well for cancelled, and drops what Flux says of it.
        """
        for job in jobs:
            if job is None or job.completed:
                continue
            if job.future.done():
                self._note_end(job)
            elif job.jobid not in self._cancelled and self._waited_too_long(job):
                self.cancel(job)
                note(job, exception=JobError("maximum pending time exceeded", job.jobid))

    def _waited_too_long(self, job: Job) -> bool:
        longest_s = job.max_pending_time
        return bool(longest_s and job.state == "PENDING" and time.time() - job.submit_time >= longest_s)

    def _note_end(self, job: Job) -> None:
        error = job.future.exception()
        if error is None:
            note(job, state="COMPLETED", exitcode=job.future.result())
        else:
            # Such as "type=timeout: resource allocation expired" or "type=cancel: ".
            note(job, state="CANCELLED" if job.jobid in self._cancelled else "FAILED")
            self._failures[job.jobid] = f"job {job.jobid}: {error}"
        job.has_ended = True

    def why_failed(self, job: Job) -> str | None:
        """Return in one line why a job that has ended failed, or None if its output has to say it."""
        return self._failures.get(job.jobid)


def _said(error: Exception) -> str:
    """Return the last line of what a command said, or why it could not be started."""
    lines = (error.stderr or "").split("\n") if isinstance(error, SpawnedProcessError) else []
    return next((line.strip() for line in reversed(lines) if line.strip()), str(error))
