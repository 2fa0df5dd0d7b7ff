# SPDX-License-Identifier: BSD-3-Clause
"""Collect the cases of the checks on a system in another process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from fabric_checks.core import module_run
from fabric_checks.core.extras import Extras
from fabric_checks.core.metrics import Metric


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
    :raises FabricError: if the system does not exist, or its checks cannot be loaded.
    """
    content = module_run.written_by(
        "fabric_checks.reframe_ext.catalogue",
        system,
        *attributes,
        failed=f"the checks of {system} cannot be loaded",
    )
    return Catalogue(tuple(content["checks"]), tuple(map(Case.of, content["cases"])))
