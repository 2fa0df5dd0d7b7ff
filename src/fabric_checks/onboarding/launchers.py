# SPDX-License-Identifier: BSD-3-Clause
"""Read how schedulers start MPIs: config/templates/launchers.yaml."""

from __future__ import annotations

from typing import Any

import yaml

from fabric_checks.core.paths import ROOT

TEMPLATES = ROOT / "config" / "templates"
_KNOWN: dict[str, Any] = yaml.safe_load((TEMPLATES / "launchers.yaml").read_text())
#: By scheduler its name, the options of jobs, and its styles; by MPI the values of `srun --mpi`, best first.
SCHEDULERS, PMI = _KNOWN["schedulers"], _KNOWN["pmi"]
