# SPDX-License-Identifier: BSD-3-Clause
"""The job of a check: how long it may wait in the queue, and what its scheduler says of its end."""

from __future__ import annotations

from reframe.core.builtins import run_after, run_before
from reframe.core.exceptions import SanityError
from reframe.core.pipeline import RegressionTestPlugin

#: How long a job may wait in the queue where the partition does not say.
MAX_PENDING_TIME = "1d"


class JobMixin(RegressionTestPlugin):
    """Bound the time that the job may wait, and fail with what its scheduler knows before any output is read.

    A partition says under ``extras['max_pending_time']`` for how long, in ReFrame's notation, such as ``12h``. One
    whose launcher bounds the time of what it starts has ``extras['launcher_bounds_time']``. A scheduler that knows why
    a job failed has ``why_failed(job)``, which returns a line or None.

    Needs: ``last_error_line()`` (:class:`ResultsMixin`).
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

    def require_finished_job(self):
        """Fail if the job did not end by itself.

        :raises SanityError: with node and cause, as far as the scheduler knows them.
        """
        why_failed = getattr(self.job.scheduler, "why_failed", None)
        why = why_failed(self.job) if why_failed else None
        if why:
            raise SanityError(why + self.last_error_line())
