# SPDX-License-Identifier: BSD-3-Clause
"""Register ReFrame's launcher of simulated clusters."""

from __future__ import annotations

import sys

from reframe.core.backends import register_launcher
from reframe.core.launchers import JobLauncher
from reframe.core.schedulers import Job

from fabric_checks.core.paths import LIBRARY


@register_launcher("smpirun")
class SmpirunLauncher(JobLauncher):
    """SimGrid's ``smpirun`` on the twin that FABRIC_TWIN names: see :mod:`fabric_twins.launch`."""

    def command(self, job: Job) -> list[str]:
        """Return the words of the command, with the numbers of nodes and of processes on each."""
        ppn = job.num_tasks_per_node or 1
        numbers = ["--nodes", str(job.num_tasks // ppn), "--ppn", str(ppn)]
        # The library is installed nowhere: it is that of this clone, whatever the shell of the job has
        # sourced.
        return [
            "env",
            f"PYTHONPATH={LIBRARY}",
            sys.executable,
            "-m",
            "fabric_twins.launch",
            *numbers,
        ]
