# SPDX-License-Identifier: BSD-3-Clause
"""The smallest faults that the cases of a night would have named, by their own limits.

Only a night that would have named a fault of a finding's size closes the finding; one that would have named no slow
node at all is blind.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from fabric_checks.nightly.model import Entry
from fabric_checks.records.findings import findings_of
from fabric_checks.records.record import Record

#: The limits of a case: by quantity the smallest loss that it would have named, None where it would have named none.
#: ``node``, ``pair``, ``cable`` and ``leaf``, the ways of a switch to all others, are shares of the bandwidth; with
#: ``_us`` they are microseconds of latency.
Limits = Mapping[str, "float | None"]

#: The quantities that limit findings of a kind; the first that a case has counts. Cables have limits only where routes
#: are known; what else lies between switches slows many pairs, and shows no later than a single pair does.
_BETWEEN_SWITCHES = ("cable", "leaf", "pair")
_QUANTITIES = {
    **dict.fromkeys(("sender", "receiver", "node"), ("node",)),
    **dict.fromkeys(("cable", "uplink", "uplinks", "switch", "group"), _BETWEEN_SWITCHES),
    "pair": ("pair",),
    "slow node": ("node_us",),
    **dict.fromkeys(("detour", "misplaced"), ("pair_us",)),
}
#: Of fewer nodes than these none can be named as slow: there is too little to compare it with.
FEWEST_NODES = 4
#: A case is blind if it would not have named a node that loses a quarter of its bandwidth, as by a link that is trained
#: at three of four lanes; one that would not have named a loss of a tenth is noted.
BLIND_FROM, NOTED_FROM = 0.25, 0.10
_REMEDY = "run it while nobody else does, as in a reservation"


def limits(by_case: Mapping[str, Sequence[Record]]) -> Mapping[str, Limits]:
    """Return the limits of each case that has them."""
    known = ((name, records[0].get("limits")) for name, records in by_case.items())
    return {name: limits for name, limits in known if limits}


def why_open(entry: Entry, measured: frozenset[str], known: Mapping[str, Limits]) -> str:
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
            found.setdefault(each.kind, []).extend([] if each.size is None else [each.size])
    return {kind: min(sizes, default=None) for kind, sizes in found.items()}


def _short_of(kind: str, size: float | None, known: Limits) -> str:
    """Return by how much a case falls short of naming a finding of a size; empty if it would have named it.

    :param size: None if any loss of this kind would have been named where a loss has a limit.
    """
    quantity = next((each for each in _QUANTITIES[kind] if known.get(each) is not None), None)
    if quantity is None:
        return f"no slow {_QUANTITIES[kind][-1].removesuffix('_us')} would have been named"
    limit = known[quantity]
    if size is None or limit is None or limit <= size:
        return ""
    if quantity.endswith("_us"):
        return f"{limit:.2f} us would have been named, and it was {size:.2f} us"
    return f"{100 * limit:.0f} % would have been named, and it was {100 * size:.0f} %"


def blind(by_case: Mapping[str, Sequence[Record]]) -> tuple[list[str], list[str]]:
    """Return why a night is blind, a line for each partition, and notes on single cases that are.

    A partition is blind if none of its cases of enough nodes would have named a node slower by a quarter. Cases are in
    the order of their names, so that a note is the same on the next night.
    """
    few: list[str] = []
    dim: list[str] = []
    seeing: set[tuple[str, str]] = set()
    unseeing: dict[tuple[str, str], list[tuple[str, float | None]]] = {}
    for name, known in sorted(limits(by_case).items()):
        record = by_case[name][0]
        what = "node far away" if "node_us" in known else "slow node"
        least = known.get("node_us" if "node_us" in known else "node")
        if record["nodes"] < FEWEST_NODES:
            few.append(name)
        elif least is None or ("node" in known and least > BLIND_FROM):
            unseeing.setdefault((record["partition"], what), []).append((name, least))
        else:
            seeing.add((record["partition"], what))
            dim += [name] if "node" in known and least > NOTED_FROM else []
    lines = []
    for (partition, what), cases in unseeing.items():
        names = [name for name, _ in cases]
        if (partition, what) in seeing:
            dim += names
            continue
        losses = [loss for _, loss in cases if loss is not None]
        smallest = f" that loses less than {100 * min(losses):.0f} %" if losses else ""
        missed = f"no {what}{smallest} would have been named"
        lines.append(f"values of {_cases(names)} vary too much on {partition}: {missed}; {_REMEDY}")
    notes = []
    if few:
        remedy = "take a level with more nodes"
        notes.append(f"fewer than {FEWEST_NODES} nodes are too few to name a slow one: {_cases(few)}; {remedy}")
    if dim:
        notes.append(f"values vary too much to name a node slower by a tenth: {_cases(sorted(dim))}; {_REMEDY}")
    return lines, notes


def topology_notes(by_case: Mapping[str, Sequence[Record]]) -> Iterable[str]:
    """Yield why topologies were not used, a line for each cause."""
    found: dict[str, list[str]] = {}
    for name, records in sorted(by_case.items()):
        for each in findings_of(records[0]):
            if each.kind == "topology":
                found.setdefault(each.text, []).append(name)
    for text, names in found.items():
        yield f"{text}: {_cases(names)}"


def _cases(names: Sequence[str]) -> str:
    """Return a case, or how many there are and the first."""
    return names[0] if len(names) == 1 else f"{len(names)} cases, the first {names[0]}"
