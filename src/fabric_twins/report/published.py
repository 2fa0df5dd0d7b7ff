# SPDX-License-Identifier: BSD-3-Clause
"""Read published values of platforms, to be compared with those of machines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fabric_checks.core.paths import ROOT
from fabric_checks.references import reference_file

#: The descriptions of the published platforms, each with a file of references that has what was published.
DESCRIPTIONS = ROOT / "config" / "twins"


@dataclass(frozen=True)
class Published:
    """A published value, in the unit of its column.

    :param source: the document and the place in it.
    """

    value: float
    unit: str
    source: str


#: By platform, and by check, layout and metric.
Platforms = Mapping[str, Mapping[tuple[str, str, str], Published]]


def platforms() -> Platforms:
    """Return all that the tables of the SAND report have of each platform.

    :raises ReferenceError: if a file of references is none.
    """
    found: dict[str, dict[tuple[str, str, str], Published]] = {}
    for description in sorted(DESCRIPTIONS.glob("*.yaml")):
        path = ROOT / "config" / "references" / description.name
        if not path.exists():
            continue
        file = reference_file.load(path)
        for layout, values in file.entries.get("Streaming", {}).items():
            if layout == "$index" or not isinstance(values, Mapping):
                continue
            for metric, reference in values.items():
                case = {
                    "check": "Streaming",
                    "layout": str(layout),
                    "metric": str(metric),
                    "partition": "",
                    "environ": "",
                }
                evidence = file.evidence_of(held=True, **case)
                # An expected miss is written otherwise, and is none of a table.
                if evidence and evidence.why.startswith("SAND Table") and isinstance(reference[0], int | float):
                    value = Published(float(reference[0]), str(reference[-1]), evidence.why)
                    found.setdefault(description.stem, {})["Streaming", str(layout), str(metric)] = value
    return found
