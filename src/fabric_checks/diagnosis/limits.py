# SPDX-License-Identifier: BSD-3-Clause
"""What a run would have found: by part the smallest fault, None where it would have found none."""

from __future__ import annotations

from collections.abc import Mapping

from fabric_checks.diagnosis.finding import RankFinding, faults

#: By part (``node``, ``pair``, ``cable``, ``leaf``; ``node both ways`` for both directions at once) the
#: smallest loss of bandwidth, as a share; with ``_us`` that of latency, in microseconds; with ``of turn N``
#: of the pairs that this turn measures. None where none would have been found.
Limits = Mapping[str, "float | None"]

#: A pair that was not scanned is not known at all; of a leaf it is the bandwidth to the other switches.
_PARTS = {
    "pair": "scanned pair",
    "leaf": "leaf's uplinks together",
    "node both ways": "node that sends and receives at once",
}


def text(limits: Limits, *, further: bool = False) -> str:
    """Return the limits as a sentence.

    :param further: whether faults were found: these may hide others, so that it is said of further ones.
    """
    any_ = "any other" if further else "any"
    known = [
        f"{any_} {_fault(part, size)}"
        for part, size in limits.items()
        if size is not None
    ]
    if not known:
        return "no slow node or pair can be named for certain here, however slow"
    *first, last = known
    return (
        f"{' and '.join([', '.join(first), last]) if first else last} would have been found, if slow"
        " throughout"
    )


class Analysed:
    """A run with its findings, and the smallest faults that it would have found."""

    findings: tuple[RankFinding, ...]
    limits: Limits

    @property
    def has_faults(self) -> bool:
        """Whether anything is slow or misplaced for certain."""
        return bool(faults(self.findings))

    @property
    def limits_text(self) -> str:
        """What would have been found, as a sentence."""
        return text(self.limits, further=self.has_faults)


def _fault(quantity: str, size: float) -> str:
    part = quantity.removesuffix("_us").partition(" of turn ")[0]
    how = (
        f"farther by {size:.2f} us"
        if quantity.endswith("_us")
        else f"slower by {100 * size:.0f} %"
    )
    return f"{_PARTS.get(part, part)} {how} or more"
