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
``access``, and notes nodes, exit status and exception of a job; :meth:`.Watching.why_failed` has to stay, on
ReFrame's notes.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence
from typing import Any

from reframe.core.backends import register_scheduler
from reframe.core.exceptions import JobSchedulerError
from reframe.core.schedulers import Job
from reframe.core.schedulers.flux import FluxJobScheduler
from reframe.utility import osext

from fabric_checks.reframe_ext.internals import note
from fabric_checks.schedulers.flux import output
from fabric_checks.schedulers.model import Node
from fabric_checks.schedulers.watchdog import (
    COMMAND_S,
    PollingScheduler,
    refusals,
    run,
)


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

    name, command, forgotten = (
        "Flux",
        "flux jobs",
        "perhaps it was restarted and lost its jobs",
    )
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
            printed = run(
                f"flux batch {shlex.quote(job.script_filename)}", self._timeout_s
            ).strip()
        # In decimal: all of Flux takes it, and it is plain ASCII.
        command = f"flux job id --to=dec {shlex.quote(printed)}"
        number = (
            osext.run_command(command, timeout=COMMAND_S, log=False).stdout.strip()
            if printed
            else ""
        )
        if not number.isdecimal():
            raise JobSchedulerError(
                f"flux batch printed {printed!r} instead of a job id"
            )
        note(job, jobid=number, submit_time=time.time(), state="PENDING")

    def cancel(self, job: Job) -> None:
        """Cancel a job; one that has just ended is left.

        Why: ReFrame's needs the future of a job that it submitted itself.
        """
        self._watch(job).cancelled = True
        osext.run_command(
            f"flux cancel {job.jobid}", check=False, timeout=self._timeout_s
        )

    def _ask(self, jobs: Sequence[Job]) -> dict[str, Any]:
        # It fails as soon as one job is unknown, and prints the others.
        command = f"flux jobs --json {' '.join(job.jobid for job in jobs)}"
        done = osext.run_command(command, check=False, timeout=COMMAND_S, log=False)
        none_is_known = not done.stdout.strip() and "unknown" in done.stderr
        return {} if none_is_known else output.parse_jobs(done.stdout)

    def _ask_nodes(self, job: Job) -> list[Node]:
        nodes = run(
            f"flux resource status --no-header --format={shlex.quote(output.NODES_FORMAT)}"
        )
        busy = run(
            "flux resource list --states=allocated --no-header --format={nodelist}"
        ).strip()
        return output.parse_nodes(nodes, busy)

    @staticmethod
    def _end(job: Job) -> None:
        job.has_ended = True
