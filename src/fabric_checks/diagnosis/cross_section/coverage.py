# SPDX-License-Identifier: BSD-3-Clause
"""What a run did not measure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fabric_checks.diagnosis.cross_section.matrix import name_of
from fabric_checks.diagnosis.cross_section.parts import Ground
from fabric_checks.diagnosis.fabric_map.model import NONE

#: How many names a line has.
MOST_NAMES = 6


def listed(names: Sequence[str], most: int = MOST_NAMES) -> str:
    """Return names for a sentence, the first few of many."""
    if len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[: most - 1])} and {len(names) - most + 1} more"


def missed(ground: Ground, hosts: tuple[str, ...]) -> list[str]:
    """Return what was not measured, a line each; nothing if all was.

    :param hosts: the host name of each rank.
    """
    evidence, known = ground.evidence, ground.known
    lines = []
    for side, word in ((evidence.sender, "sent"), (evidence.receiver, "received")):
        never = np.flatnonzero(np.bincount(side, minlength=evidence.ranks) == 0)
        if len(never):
            lines.append(f"never {word}: {listed([name_of(hosts, int(rank)) for rank in never])}")
    if known is None:
        return lines
    if ground.missing:
        lines.append(f"not in the topology ({known.source}): {listed([repr(name) for name in ground.missing])}")
    leaves = np.unique(ground.leaf[ground.leaf >= 0])
    if len(leaves) > 1:
        crossed = {(int(a), int(b)) for a, b in zip(ground.from_leaf, ground.to_leaf, strict=True)}
        never_crossed = [(a, b) for a in leaves.tolist() for b in leaves.tolist() if a != b and (a, b) not in crossed]
        if never_crossed:
            ways = [f"{known.switches[a]} to {known.switches[b]}" for a, b in never_crossed]
            lines.append(f"paths between switches that no pair took: {listed(ways)}")
    lost = int((ground.arcs[:, 0] < NONE).sum()) if known.has_routes else 0
    if lost:
        lines.append(f"the topology does not say which path {lost} of {len(ground.arcs)} pairs take")
    return lines
