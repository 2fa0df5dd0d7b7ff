# SPDX-License-Identifier: BSD-3-Clause
"""The schedulers that a cluster can have, by name."""

from __future__ import annotations

from pathlib import Path

from .flux import Flux
from .pbs import Pbs
from .scheduler import Scheduler
from .slurm import Slurm
from .spec import Spec

SCHEDULERS: dict[str, type[Scheduler]] = {"slurm": Slurm, "flux": Flux, "pbs": Pbs}


def of(spec: Spec, folder: Path) -> Scheduler:
    """Return the scheduler of a cluster."""
    return SCHEDULERS[spec.scheduler](spec, folder)
