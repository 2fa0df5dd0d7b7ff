# SPDX-License-Identifier: BSD-3-Clause
"""``fabric-pbs``: ReFrame's PBS scheduler, made to report why a job failed.

ReFrame 4.10's ``pbs`` recognizes a job that has ended by its absence only, and goes on to the sanity phase
whether it was deleted, ran over its limit or lost its node. ``pbspro`` asks for more, but raises where a job
has no exit status, as one that was deleted before it began, and asks for all jobs at once, of which OpenPBS
prints one, so that it takes the others for ended. Both raise when qstat fails. This one takes the same
options, and has the same job scripts but for ``-r n``: a job that PBS ran again would be two.

Delete this module, and write ``pbspro`` for ``fabric-pbs``, when ReFrame's gets over a job without
``Exit_status`` and a qstat that fails, and notes substate and comment of a job; ``why_failed``
has to stay, on ReFrame's notes.
"""

from __future__ import annotations

import re
import time

from reframe.core.backends import register_scheduler
from reframe.core.schedulers import Job
from reframe.core.schedulers.pbs import PbsJobScheduler

from fabric_checks.core.commands import printed
from fabric_checks.reframe_ext.internals import end_pbs_job, note
from fabric_checks.schedulers import reservations
from fabric_checks.schedulers.model import Node
from fabric_checks.schedulers.pbs import output
from fabric_checks.schedulers.watchdog import PollingScheduler, refusals


@register_scheduler("fabric-pbs")
class NotedPbsScheduler(PollingScheduler, PbsJobScheduler):
    """PBS by the history of jobs; every job ends, and its exit reason is known."""

    name, command = "PBS", "qstat -x -f -F json"
    unknown, cancel_command = "Unknown Job Id", "qdel"
    forgotten = "does its server have job_history_enable?"
    parse_jobs = staticmethod(output.parse_jobs)
    exit_reason = staticmethod(output.exit_reason)
    _end = staticmethod(end_pbs_job)

    def emit_preamble(self, job: Job) -> list[str]:
        """Return the ``#PBS`` lines of a job, which PBS is not to run a second time, on the nodes that are
        asked for.

        Why: a job whose node is lost is queued again by PBS, and ReFrame's leaves that to an option of each
        system. A job has its nodes by name if each has a chunk of its own.
        """
        lines = super().emit_preamble(job)
        nodes = job.pin_nodes or reservations.nodes_asked_for()

        def on_nodes(found: re.Match[str]) -> str:
            return "+".join(
                f"1{found[2]}:host={node}" for node in nodes[: int(found[1])]
            )

        if nodes:
            lines = [
                re.sub(r"(?<= -l select=)(\d+)(.*)", on_nodes, line) for line in lines
            ]
        return ["#PBS -r n", *lines]

    def submit(self, job: Job) -> None:
        """Submit the job's script.

        Why: ReFrame's raises an error of many lines.

        :raises JobSchedulerError: in one line, what qsub printed.
        """
        with refusals("qsub"):
            super().submit(job)

    def _ask_nodes(self, now: output.Job) -> list[Node]:
        return output.parse_nodes(printed(["pbsnodes", "-a"]))

    def is_unschedulable(self, now: output.Job, nodes: list[Node]) -> bool:
        """Tell whether a job cannot start: too few nodes are in service, or PBS excludes it."""
        return now.comment.startswith(output.NEVER) or super().is_unschedulable(
            now, nodes
        )

    def forget(self, job: Job) -> None:
        """Take a job that ran for one that has ended: without a history of jobs it has gone."""
        if job.state in (None, "QUEUED", "HELD", "WAITING"):
            super().forget(job)
            return
        note(job, state="COMPLETED", completion_time=time.time())
        self._end(job)
