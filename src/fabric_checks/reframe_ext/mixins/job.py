# SPDX-License-Identifier: BSD-3-Clause
"""The job of a check: how long it may wait in the queue, and what its scheduler says of its end."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path

from reframe.core.builtins import run_after, run_before
from reframe.core.exceptions import SanityError
from reframe.core.pipeline import RegressionTestPlugin

from fabric_checks.records.cost import counters

#: How long a job may wait in the queue where the partition does not say.
MAX_PENDING_TIME = "1d"


class JobMixin(RegressionTestPlugin):
    """Bound the time that the job may wait, and fail with what its scheduler knows before any output is read.

    A partition says under ``extras['max_pending_time']`` for how long, in ReFrame's notation, such as ``12h``. One
    whose launcher bounds the time of what it starts has ``extras['launcher_bounds_time']``. A scheduler that knows why
    a job failed has ``why_failed(job)``, which returns an :class:`~fabric_checks.schedulers.model.ExitReason` or None,
    and one that knows when it began ``began(job)``, which returns that in ISO 8601 or None.

    Needs: ``facts`` and ``last_error_line()`` (:class:`ResultsMixin`).
    """

    @run_after("setup")
    def bound_pending_time(self):
        """Take the partition's bound, unless the check or the command line sets one."""
        if self.max_pending_time is None:
            self.max_pending_time = self.current_partition.extras.get("max_pending_time", MAX_PENDING_TIME)

    @run_before("run", always_last=True)
    def leave_time_to_the_launcher(self):
        """Have no limit of the job's own where the launcher bounds it better, as it does for simulations."""
        if self.current_partition.extras.get("launcher_bounds_time"):
            self.time_limit = None

    @run_before("sanity")
    def note_job(self):
        """Note how the job ended, and when it began: its script's first line left a file."""
        if self.is_dry_run():
            return
        began = getattr(self.job.scheduler, "began", None)
        first = Path(self.stagedir) / counters.BEFORE
        self.facts.job_state = self.job.state
        if first.exists():
            self.facts.job_began = _iso(first.stat().st_mtime)
        elif self.current_partition.scheduler.is_local:
            self.facts.job_began = _iso(self.job.submit_time)
        elif began:
            self.facts.job_began = began(self.job)

    def require_finished_job(self):
        """Fail if the job did not end by itself.

        :raises SanityError: with node and cause, as far as the scheduler knows them.
        """
        why_failed = getattr(self.job.scheduler, "why_failed", None)
        ending = why_failed(self.job) if why_failed else None
        if ending:
            self.facts.node_faults = dict(ending.node_faults) or None
            raise SanityError(ending.text + self.last_error_line())


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="seconds")
