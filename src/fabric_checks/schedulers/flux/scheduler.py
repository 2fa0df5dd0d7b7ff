# SPDX-License-Identifier: BSD-3-Clause
"""``fabric-flux``: ReFrame's Flux scheduler, made to ask for nodes and to report why a job failed.

ReFrame 4.10's ``flux`` submits every job as one task on one core, whatever the check asks for: it passes on
neither nodes nor tasks, neither ``access`` nor a job's options, and its job scripts do not name what they
need. It never notes which nodes a job had, takes a job in the queue for a running one, so that
``max_pending_time`` bounds nothing, and takes every failure for a cancellation. And it needs Flux's Python
bindings in the Python of ReFrame. This one writes what a job needs into its script as submission directives
(flux-batch(1), RFC 36), hands the script to ``flux batch``, so that the job's ``flux run`` has nodes of its
own, and asks ``flux jobs``.

Delete this module, and write ``flux`` for ``fabric-flux``, when ReFrame's passes on nodes, tasks and
``access``, and notes nodes, exit status and exception of a job; ``why_failed`` has to stay, on
ReFrame's notes.
"""

from __future__ import annotations

import shlex
import time
from typing import Any

from reframe.core.backends import register_scheduler
from reframe.core.exceptions import JobSchedulerError
from reframe.core.schedulers import Job
from reframe.core.schedulers.flux import FluxJobScheduler
from reframe.utility import osext

from fabric_checks.reframe_ext.internals import note
from fabric_checks.schedulers.flux import output
from fabric_checks.schedulers.model import Node
from fabric_checks.schedulers.watchdog import PollingScheduler, refusals


class FluxBatchJob(Job):
    """A batch job of Flux."""

    has_ended = False

    @property
    def completed(self) -> bool:
        """Return whether it has ended."""
        return self.has_ended


@register_scheduler("fabric-flux")
class FluxBatchScheduler(PollingScheduler, FluxJobScheduler):
    """Flux by ``flux batch`` and ``flux jobs``; every job ends, and its exit reason is known."""

    name, command = "Flux", "flux jobs --json"
    unknown, cancel_command = "unknown", "flux cancel"
    forgotten = "perhaps it was restarted and lost its jobs"
    parse_jobs = staticmethod(output.parse_jobs)
    exit_reason = staticmethod(output.exit_reason)

    def __init__(self) -> None:
        # Without ReFrame's, nothing of Flux is needed before the first job: a dry run writes scripts on any
        # machine.
        self._timeout_s = self.get_option("job_submit_timeout")
        self._watches = {}

    def make_job(self, *args: Any, **kwargs: Any) -> Job:
        """Return a job that is not yet submitted.

        Why: ReFrame's has the jobspec of one task; the script's directives replace it.
        """
        return FluxBatchJob(*args, **kwargs)

    def emit_preamble(self, job: Job) -> list[str]:
        """Return the submission directives of a job: whole numbers of nodes, and a slot for each task.

        Why: ReFrame writes none, so that a script did not name what it needs.
        """
        nodes = job.num_tasks // (job.num_tasks_per_node or 1)
        options = [
            f"--job-name={job.name}",
            f"--output={job.stdout}",
            f"--error={job.stderr}",
            f"--nodes={nodes}",
            f"--nslots={job.num_tasks}",
            *(
                [f"--cores-per-slot={job.num_cpus_per_task}"]
                if job.num_cpus_per_task
                else []
            ),
            *([f"--time-limit={job.time_limit:.0f}s"] if job.time_limit else []),
            *(["--exclusive"] if job.exclusive_access else []),
            *([f"--requires=host:{','.join(job.pin_nodes)}"] if job.pin_nodes else []),
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
        with refusals("flux batch"):
            script = shlex.quote(job.script_filename)
            printed = self._run(f"flux batch {script}", check=True)
        # In decimal: all of Flux takes it, and it is plain ASCII.
        command = f"flux job id --to=dec {shlex.quote(printed)}"
        number = self._run(command) if printed else ""
        if not number.isdecimal():
            raise JobSchedulerError(
                f"flux batch printed {printed!r} instead of a job id"
            )
        note(job, jobid=number, submit_time=time.time(), state="PENDING")

    def _run(self, command: str, *, check: bool = False) -> str:
        done = osext.run_command(
            command, check=check, timeout=self._timeout_s, log=False
        )
        return str(done.stdout).strip()

    def _ask_nodes(self, now: output.Job) -> list[Node]:
        return output.ask_nodes()

    @staticmethod
    def _end(job: Job) -> None:
        job.has_ended = True
