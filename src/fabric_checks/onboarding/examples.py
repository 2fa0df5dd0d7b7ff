# SPDX-License-Identifier: BSD-3-Clause
"""Invented sites, one for each scheduler: ``init`` prints their files to read and to copy."""

from __future__ import annotations

from fabric_checks.onboarding import questions, site_files
from fabric_checks.onboarding.facts import Facts, Mpi
from fabric_checks.onboarding.hardware import Link
from fabric_checks.schedulers.model import Queue
from fabric_checks.software.modules import Module

#: The schedulers of the examples, by the names that users give them.
SCHEDULERS = {
    "slurm": "slurm",
    "pbs": "pbs",
    "lsf": "lsf",
    "flux": "flux",
    "one-host": "local",
}


def system(name: str) -> str:
    """Return the system's file of the example ``name`` of :data:`SCHEDULERS`, a system called ``yours``."""
    scheduler = SCHEDULERS[name]
    pmi = "pmix" if scheduler == "slurm" else ""
    facts = Facts(
        "login1.yours.example",
        scheduler=scheduler,
        queues=(Queue("compute", 64, 64), Queue("debug", 4, 64))
        if scheduler != "local"
        else (),
        links=(Link("mlx5_0", "InfiniBand", 25000.0),),
        cores=64,
        modules="lmod",
        mpis=(Mpi("openmpi", "5.0.8", "mpicc", pmi, modules=("openmpi/5.0.8",)),),
        suites=(Module("osu-micro-benchmarks/7.5"), Module("npb/3.4.3")),
    )
    given = {"name": "yours"}
    answers = questions.answered(
        facts, lambda _: True, lambda each: questions.taken(each, given.get(each.key))
    )
    return site_files.files(facts, answers)["systems/yours.py"]
