# SPDX-License-Identifier: BSD-3-Clause
"""``fabric-local``: ReFrame's ``local``, in which a case over its time limit is told by what it printed.

ReFrame 4.10's ``local`` leaves an exception in such a job, which ends the case before its output is read: of
a launcher that prints an error and never returns, only "timed out" is known.
"""

from __future__ import annotations

import socket

from reframe.core.backends import register_scheduler
from reframe.core.schedulers import Job
from reframe.core.schedulers.local import LocalJobScheduler

from fabric_checks.reframe_ext.internals import note
from fabric_checks.schedulers import model


@register_scheduler("fabric-local", local=True)
class LocalScheduler(LocalJobScheduler):
    """Jobs on this host; the exit reason of one over its limit is known."""

    def poll(self, *jobs: Job) -> None:
        """Poll jobs, and let those over their limits end like others."""
        super().poll(*jobs)
        for job in jobs:
            if job is not None and job.state == "TIMEOUT":
                note(job, exception=None)

    def why_failed(self, job: Job) -> model.ExitReason | None:
        """Return why a job did not end by itself, or None if its output explains it better."""
        if job.state != "TIMEOUT":
            return None
        detail = f"{job.time_limit:g} s"
        return model.terminated(
            job.jobid, [socket.gethostname()], model.OVER_LIMIT, detail, ()
        )
