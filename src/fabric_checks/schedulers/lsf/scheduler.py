# SPDX-License-Identifier: BSD-3-Clause
"""``fabric-lsf``: ReFrame's LSF scheduler for clusters without IBM's Cluster System Manager (CSM).

ReFrame 4.10's ``lsf`` asks for nodes by ``-nnodes``, which only LSF with CSM takes, and
gives neither tasks nor tasks a node. This one asks for slots and for how many of them are on a host: ``-n``
and ``-R "span[ptile=...]"``. The time limit is rounded up to whole minutes, where ReFrame's drops a part of
one.
"""

from __future__ import annotations

import math

from reframe.core.backends import register_scheduler
from reframe.core.schedulers import Job
from reframe.core.schedulers.lsf import LsfJobScheduler


@register_scheduler("fabric-lsf")
class SpanLsfScheduler(LsfJobScheduler):
    """LSF by slots and slots a host."""

    def emit_preamble(self, job: Job) -> list[str]:
        """Return the ``#BSUB`` lines of a job.

        Why: ReFrame's asks for nodes as only LSF with CSM can, and not for tasks.
        """
        options = [
            f"-J {job.name}",
            f"-o {job.stdout}",
            f"-e {job.stderr}",
            f"-n {job.num_tasks}",
            f'-R "span[ptile={job.num_tasks_per_node or 1}]"',
            *(
                [f'-R "affinity[core({job.num_cpus_per_task})]"']
                if job.num_cpus_per_task
                else []
            ),
            *([f"-W {math.ceil(job.time_limit / 60)}"] if job.time_limit else []),
            *(["-x"] if job.exclusive_access else []),
            *([f'-m "{" ".join(job.pin_nodes)}"'] if job.pin_nodes else []),
            *([] if self.get_option("sched_access_in_submit") else job.sched_access),
        ]
        extra = [*job.options, *job.cli_options]
        # As everywhere in ReFrame, an option that begins with # is a line of its own.
        return [
            option if option.startswith("#") else f"#BSUB {option}"
            for option in [*options, *extra]
        ]
