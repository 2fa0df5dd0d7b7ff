# SPDX-License-Identifier: BSD-3-Clause
"""Launchers that ReFrame 4.10 does not have. They ask for nodes and tasks by number, from the job's
layout."""

from __future__ import annotations

from reframe.core.backends import register_launcher
from reframe.core.launchers import JobLauncher
from reframe.core.schedulers import Job


def _nodes(job: Job) -> int:
    return int(job.num_tasks // (job.num_tasks_per_node or 1))


@register_launcher("flux-run")
class FluxRunLauncher(JobLauncher):
    """``flux run``, which spreads tasks evenly over nodes; Flux's own PMI-1, as MPICH and Intel MPI speak
    it."""

    def command(self, job: Job) -> list[str]:
        """Return the words of the command."""
        return ["flux", "run", f"--nodes={_nodes(job)}", f"--ntasks={job.num_tasks}"]


@register_launcher("flux-run-pmix")
class FluxRunPmixLauncher(FluxRunLauncher):
    """``flux run`` with the PMIx server of flux-pmix, as Open MPI 5 needs it."""

    def command(self, job: Job) -> list[str]:
        """Return the words of the command."""
        return [*super().command(job), "-opmi=pmix"]
