# SPDX-License-Identifier: BSD-3-Clause
"""Define a finding: what is wrong, how sure that is, and where. Every reader uses this one definition.

Whoever makes a finding sets its severity, and the severity decides everything behind it: the exit status,
what is under *What to look at*, what a night counts. Texts are for people; no reader parses them, and none
judges again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import Enum
from typing import Any

#: Numbers and paths, in which the reasons of equal failures differ.
_VARYING = re.compile(r"(?:~|\.{1,2})?(?:/[\w.+%=@~-]+)+/?|\d+(?:\.\d+)?")


class Severity(str, Enum):
    """How sure it is that something is wrong."""

    #: Something is wrong for certain.
    FAULT = "fault"
    #: Something looks wrong, and chance or something else may be the cause.
    SUSPECT = "suspect"
    #: A fact about the machine or the run; nothing is wrong.
    NOTE = "note"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing that a run shows.

    :param kind: a word of whoever makes it, such as ``sender``, ``cable`` or ``port``.
    :param severity: how sure it is that something is wrong.
    :param text: one sentence, the cause first.
    :param part: the name of the part that is concerned, such as ``node n3``; empty without one.
    :param hosts: the hosts that are concerned.
    :param size: the loss, where it is a number: a share of the bandwidth, or microseconds for a ``size_unit``
        of ``us``; None without one.
    :param size_unit: ``share`` or ``us``.
    :param key: its identity over runs and nights; by default kind and part, or kind and hosts. Where a part
        can have several faults of a kind it ends with what tells them apart, such as the name of a counter.
    :param advice: what to do next; :param details: further lines.
    :param data: more members of this kind, as JSON has them.
    """

    kind: str
    severity: Severity
    text: str
    part: str = ""
    hosts: tuple[str, ...] = ()
    size: float | None = None
    size_unit: str = "share"
    key: str = ""
    advice: str = ""
    details: tuple[str, ...] = ()
    data: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        """Take kind and part, or else its hosts, for the key if there is none."""
        if not self.key:
            object.__setattr__(
                self,
                "key",
                f"{self.kind} {self.part or ' '.join(sorted(self.hosts))}".strip(),
            )

    @property
    def is_fault(self) -> bool:
        """Tell whether something is wrong for certain."""
        return self.severity is Severity.FAULT

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines below its text: its details, and the advice if neither has it."""
        is_told = self.advice in self.text or self.advice in self.details
        return self.details if is_told else (*self.details, self.advice)

    def as_dict(self) -> dict[str, Any]:
        """Return the finding as plain data for a record; what is empty is left out."""
        plain = asdict(self) | {"severity": self.severity.value}
        if self.size is None:
            del plain["size_unit"]
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in plain.items()
            if value not in ("", None, (), {})
        }


def cause(reason: str, name: str = "") -> str:
    """Return what a reason has in common with those of other failures: no number, no path, no name of its own
    case.

    >>> cause("OsuLatency: /tmp/OsuLatency_3/job.err: rank 7 of 12 is missing", "OsuLatency %layout=2x1")
    ': 0: rank 0 of 0 is missing'
    """
    if own := name.partition(" ")[0]:
        reason = reason.replace(own, "")
    return " ".join(_VARYING.sub("0", reason).split())


def same_cause(reasons: Mapping[str, str]) -> list[list[str]]:
    """Return the failures of one cause together, the most frequent cause first.

    :param reasons: why each failed, by the name of the case.
    """
    by_cause: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        by_cause.setdefault(cause(reason, name), []).append(name)
    return sorted(by_cause.values(), key=len, reverse=True)
