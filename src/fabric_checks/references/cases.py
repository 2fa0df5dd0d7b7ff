# SPDX-License-Identifier: BSD-3-Clause
"""Collect the cases of the checks on a system in another process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fabric_checks.core.errors import ReferenceError
from fabric_checks.core.extras import Extras
from fabric_checks.core.metrics import Metric
from fabric_checks.core.paths import LIBRARY, ROOT


@dataclass(frozen=True)
class Case:
    """Hold one case of a system.

    :param file: the name of its reference file, without ``.yaml``.
    :param extras: ``link_MBps`` and ``nics`` of the partition.
    :param attributes: values by item of ``$index``, as text, without those that the check lacks.
    """

    check: str
    partition: str
    environ: str
    layout: str
    file: str
    extras: Extras
    attributes: Mapping[str, str]
    metrics: tuple[Metric, ...]

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Case:
        """Return a case from the data of :mod:`fabric_checks.reframe_ext.catalogue`."""
        metrics = tuple(
            Metric(name, unit, better) for name, unit, better in data["metrics"]
        )
        return cls(**{**data, "metrics": metrics, "extras": Extras(**data["extras"])})

    @property
    def facts(self) -> dict[str, str]:
        """The attributes that reasons and rules of a reference file match."""
        return {
            name: getattr(self, name)
            for name in ("check", "partition", "environ", "layout")
        }


@dataclass(frozen=True)
class Catalogue:
    """Hold the cases of a system, and the names of all check classes of any system."""

    checks: tuple[str, ...]
    cases: tuple[Case, ...]


def of_system(system: str, attributes: Iterable[str]) -> Catalogue:
    """Return what the checks declare on a system, with all MPIs of its stack.

    :param attributes: of checks, in addition to system, partition and environment.
    :raises ReferenceError: if the system does not exist, or its checks cannot be loaded.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cases.json"
        # The set-up of cases creates folders; MPIs that a run leaves out have references too.
        variables = os.environ | {"FABRIC_RESULTS": folder, "PYTHONPATH": str(LIBRARY)}
        if variables.get("FABRIC_MPI") != "none":
            variables["FABRIC_MPI"] = "all"
        command = [
            sys.executable,
            "-m",
            "fabric_checks.reframe_ext.catalogue",
            system,
            str(path),
            *attributes,
        ]
        done = subprocess.run(
            command,
            env=variables,
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode or not path.exists():
            lines = (done.stderr or done.stdout).strip().splitlines()
            raise ReferenceError(
                f"the checks of {system} cannot be loaded: {lines[-1] if lines else 'no reason is given'}"
            )
        content = json.loads(path.read_text())
    return Catalogue(tuple(content["checks"]), tuple(map(Case.of, content["cases"])))
