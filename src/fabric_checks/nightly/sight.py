# SPDX-License-Identifier: BSD-3-Clause
"""Tell when a finding closes: only on a night that would have named a fault of its size."""

from __future__ import annotations

from collections.abc import Mapping

from fabric_checks.nightly.model import Entry
from fabric_checks.report.sight import Limits

#: In the name of the limit of those pairs that one of several turns measures; findings of them have it.
_TURN = " of turn "
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
    "both directions": ("node both ways",),
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
            short = [
                _short_of(quantities, size, known[case])
                for quantities, size in sizes.items()
            ]
            if not any(short):
                return ""
            reasons += filter(None, short)
    return reasons[0] if reasons else "no case that can name it was measured"


def _sizes(entry: Entry) -> dict[tuple[str, ...], float | None]:
    """Return the smallest size of the findings that are seen only down to a limit, by its quantities."""
    found: dict[tuple[str, ...], list[float]] = {}
    for each in entry.findings:
        if each.kind in _QUANTITIES:
            own = each.data.get("limit")
            quantities = (str(own),) if own else _QUANTITIES[each.kind]
            sizes = found.setdefault(quantities, [])
            sizes += [] if each.size is None else [each.size]
    return {quantities: min(sizes, default=None) for quantities, sizes in found.items()}


def _short_of(quantities: tuple[str, ...], size: float | None, known: Limits) -> str:
    """Return by how much a case falls short of naming a finding of a size; empty if it would have named it.

    :param size: None if any loss of this kind would have been named where a loss has a limit.
    """
    limit = next(
        (found for each in quantities if (found := _of(each, known)) is not None), None
    )
    if limit is None:
        if _TURN in quantities[-1]:
            return "other pairs were measured"
        return f"no slow {quantities[-1].removesuffix('_us')} would have been named"
    if size is None or limit <= size:
        return ""
    if quantities[0].endswith("_us"):
        return f"{limit:.2f} us would have been named, and it was {size:.2f} us"
    return f"{100 * limit:.0f} % would have been named, and it was {100 * size:.0f} %"


def _of(quantity: str, known: Limits) -> float | None:
    """Return a limit: of a part, or of the part among those that one turn measures."""
    names = (name for name in known if name.partition(_TURN)[0] == quantity)
    return known.get(quantity, known.get(next(names, "")))
