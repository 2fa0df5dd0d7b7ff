# SPDX-License-Identifier: BSD-3-Clause
"""Collect the cases of the checks on a system in another process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fabric_checks.core import module_run


@dataclass(frozen=True)
class Case:
    """Hold one case of a system.

    :param attributes: values of its check by name, as text, without those that the check lacks.
    :param metrics: their names.
    """

    check: str
    layout: str
    attributes: Mapping[str, str]
    metrics: Sequence[str]


def of_system(system: str, attributes: Iterable[str]) -> list[Case]:
    """Return what the checks declare on a system, with all MPIs of its stack.

    :param attributes: of checks.
    :raises FabricError: if the system does not exist, or its checks cannot be loaded.
    """
    found = module_run.written_by(
        "fabric_checks.reframe_ext.catalogue",
        system,
        *attributes,
        failed=f"the checks of {system} cannot be loaded",
    )
    return [Case(**each) for each in found]
