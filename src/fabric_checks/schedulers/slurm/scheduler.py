# SPDX-License-Identifier: BSD-3-Clause
"""``fabric-slurm``: ReFrame's Slurm scheduler, made to survive the loss of a daemon and to report why a job
failed.

ReFrame 4.10's ``slurm`` knows jobs by ``sacct`` alone: the session ends, with its jobs left in the queue,
when sacct fails a few times; it polls for ever when accounting never hears of a job's end; and a job that was
cancelled, timed out or lost its node goes on to the sanity phase like any other. This one asks the
controller, which knows a job at once, and for MinJobAge after its end. Job scripts, options and
``sched_options`` are those of ``slurm``.
"""

from __future__ import annotations

from reframe.core.backends import register_scheduler
from reframe.core.schedulers import Job
from reframe.core.schedulers.slurm import SlurmJobScheduler

from fabric_checks.core.commands import printed
from fabric_checks.reframe_ext.internals import note, reasons_to_cancel
from fabric_checks.schedulers.model import Node
from fabric_checks.schedulers.slurm import output
from fabric_checks.schedulers.watchdog import PollingScheduler, refusals


@register_scheduler("fabric-slurm")
class WatchfulSlurmScheduler(PollingScheduler, SlurmJobScheduler):
    """Slurm by its controller; every job ends, and its exit reason is known."""

    name, command = "Slurm", "scontrol -d -o show job"
    unknown, cancel_command = "Invalid job id", "scancel"
    forgotten = "perhaps its controller crashed, or MinJobAge is less than 30 s"
    parse_jobs = staticmethod(output.parse_jobs)
    exit_reason = staticmethod(output.exit_reason)

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

    def update(self, job: Job, now: output.Job) -> None:
        """Take over what is known of a job, and see to it that one that lost its host is not run again."""
        note(job, nodespec=",".join(now.nodes))  # ReFrame's list of nodes is made of it
        super().update(job, now)
        if now.state == "NODE_FAIL":
            # If its host was lost before it began there, Slurm queues it again, whatever was asked.
            self.cancel(job)

    def is_unschedulable(self, now: output.Job, nodes: list[Node]) -> bool:
        """Tell whether a job cannot start: too few nodes are in service, or its reason is one to cancel for.

        As in `ReqNodeNotAvail, UnavailableNodes:n3`. For a moment, as after a restart of the controller,
        either may be true of nodes that are well.
        """
        reason = now.reason.partition(",")[0].strip()
        is_blocked = reason in reasons_to_cancel(self)
        return is_blocked or super().is_unschedulable(now, nodes)

    def _ask_nodes(self, now: output.Job) -> list[Node]:
        """Return the nodes of a job's reservation, or those of its partitions."""
        show, names = ["scontrol", "-a", "-o", "show"], []
        if now.reservation:
            text = printed([*show, "reservation", now.reservation])
            nodes, _, _ = output.parse_reservation(text)
            names = [] if output.is_flexible(text) else [nodes]
        listed = printed([*show, "node", *names])
        found = output.parse_nodes(listed, reserved=bool(now.reservation))
        return [node for node in found if node.partitions & now.partitions]

    @staticmethod
    def _end(job: Job) -> None:
        """Leave it to the job's state, by which ReFrame sees the end."""
