# SPDX-License-Identifier: BSD-3-Clause
"""Tell when a finding closes: only on a night that would have named a fault of its size."""

from __future__ import annotations

from collections.abc import Mapping

from fabric_checks.nightly.model import Entry
from fabric_checks.report.sight import Limits

#: The quantities that limit findings of a kind; the first that a case has counts. Cables have limits only
#: where routes are known; what else lies between switches slows many pairs, and shows no later than a single
#: pair does.
_BETWEEN_SWITCHES = ("cable", "leaf", "pair")
_QUANTITIES = {
    **dict.fromkeys(("sender", "receiver", "node"), ("node",)),
    **dict.fromkeys(
        ("cable", "uplink", "uplinks", "switch", "group"), _BETWEEN_SWITCHES
    ),
    "pair": ("pair",),
    "slow node": ("node_us",),
    **dict.fromkeys(("detour", "misplaced"), ("pair_us",)),
}


def why_open(
    entry: Entry, measured: frozenset[str], known: Mapping[str, Limits]
) -> str:
    """Return why an entry that a night does not show stays open; empty if the night would have shown it.

    :param measured: the cases that have values; :param known: the limits of those that have them.
    """
    measured_again = sorted(entry.cases & measured)
    if not measured_again:
        return "no case that showed it was measured"
    sizes = _sizes(entry)
    if not sizes:
        return ""
    reasons: list[str] = []
    for case in measured_again:
        if case in known:
            short = [_short_of(kind, size, known[case]) for kind, size in sizes.items()]
            if not any(short):
                return ""
            reasons += filter(None, short)
    return reasons[0] if reasons else "no case that can name it was measured"


def _sizes(entry: Entry) -> dict[str, float | None]:
    """Return the smallest size of the findings of each kind that is seen only down to a limit."""
    found: dict[str, list[float]] = {}
    for each in entry.findings:
        if each.kind in _QUANTITIES:
            found.setdefault(each.kind, []).extend(
                [] if each.size is None else [each.size]
            )
    return {kind: min(sizes, default=None) for kind, sizes in found.items()}


def _short_of(kind: str, size: float | None, known: Limits) -> str:
    """Return by how much a case falls short of naming a finding of a size; empty if it would have named it.

    :param size: None if any loss of this kind would have been named where a loss has a limit.
    """
    quantity = next(
        (each for each in _QUANTITIES[kind] if known.get(each) is not None), None
    )
    if quantity is None:
        return (
            f"no slow {_QUANTITIES[kind][-1].removesuffix('_us')} would have been named"
        )
    limit = known[quantity]
    if size is None or limit is None or limit <= size:
        return ""
    if quantity.endswith("_us"):
        return f"{limit:.2f} us would have been named, and it was {size:.2f} us"
    return f"{100 * limit:.0f} % would have been named, and it was {100 * size:.0f} %"
