# SPDX-License-Identifier: BSD-3-Clause
"""All cases of a run in one allocation: it is asked for once, and each case is a step of it."""

from __future__ import annotations

import os
from typing import Any

#: Set by `ci/run --one-job`: to ALL for an allocation of every partition, to DECLARED for those alone whose
#: extras say so.
VARIABLE, ALL, DECLARED = "FABRIC_ONE_JOB", "all", "declared"
#: Set by `ci/run --beside`: which cases may run beside each other, those within nodes or also those between.
BESIDE, WITHIN, BETWEEN = "FABRIC_BESIDE", "within", "between"
#: For each scheduler of a configuration the one in whose allocation cases are steps.
INSIDE = {
    **dict.fromkeys(("slurm", "squeue", "fabric-slurm"), "fabric-in-slurm-job"),
    "fabric-pbs": "fabric-in-pbs-job",
    "fabric-flux": "fabric-in-flux-job",
    "fabric-lsf": "fabric-in-lsf-job",
}


def is_for_all() -> bool:
    """Return whether every case is to be in the allocation."""
    return os.environ.get(VARIABLE) == ALL


def apply(partition: dict[str, Any]) -> None:
    """Let the jobs of a partition of ReFrame's configuration be steps of one allocation, if that is asked
    for."""
    is_declared = partition.get("extras", {}).get("one_job") is True
    asked = is_for_all() or (os.environ.get(VARIABLE) == DECLARED and is_declared)
    if asked and partition["scheduler"] in INSIDE:
        most = (
            partition.get("extras", {}).get("nodes", 1) if os.environ.get(BESIDE) else 1
        )
        partition |= {"scheduler": INSIDE[partition["scheduler"]], "max_jobs": most}
        partition.pop("sched_options", None)


def asked_of(scheduler: str) -> str:
    """Return the scheduler that is asked for the allocation that cases are in; itself for any other, and for
    cases in the job that the process is in, which gets no other nodes."""
    asks = scheduler == INSIDE["fabric-slurm"] and "SLURM_JOB_ID" not in os.environ
    return "fabric-slurm" if asks else scheduler
