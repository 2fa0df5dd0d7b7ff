# SPDX-License-Identifier: BSD-3-Clause
"""What a night finds, and what it says of itself."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import IntEnum
from typing import Any


class Status(IntEnum):
    """How a night ended; the number is the exit status."""

    QUIET = 0
    #: The night itself failed: what it says of the machine is not all.
    FAILED = 1
    #: Something is worse than it should be, or than it was.
    FOUND = 3


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong with the machine, whatever shows it.

    :param title: one sentence that names the culprit, or the case where there is none.
    :param details: what else is known, a line each.
    :param keys: what it is about, such as ``node:n3``; findings of two nights that share a key are the same one.
    :param cases: the cases that show it, by :func:`fabric_checks.records.record.case_name`. When one of them is
        measured again and shows nothing, it is over.
    :param hosts: the hosts that are to blame, if any.
    :param signs: what shows it, such as ``sender n3``, each with what is lost: a share, microseconds where its name
        ends with ``us``, 0 without a number. Two nights may see one finding by other signs; these are acknowledged.
    """

    title: str
    details: tuple[str, ...]
    keys: frozenset[str]
    cases: frozenset[str]
    hosts: tuple[str, ...] = ()
    signs: Mapping[str, float] = field(default_factory=dict, hash=False)

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return asdict(self) | {"keys": sorted(self.keys), "cases": sorted(self.cases)}

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Finding:
        """Read what :meth:`as_dict` gave.

        :raises KeyError, TypeError: if it is something else, with the name of what is not as it was written.
        """
        lists = ("details", "keys", "cases", "hosts")
        if not isinstance(data, Mapping) or not all(isinstance(data[name], list | tuple) for name in lists):
            raise TypeError("'findings'")
        signs = data.get("signs", {})  # older journals have none
        if not isinstance(signs, Mapping) or not all(
            isinstance(lost, int | float) and math.isfinite(lost) for lost in signs.values()
        ):
            raise TypeError("'signs'")
        return cls(
            title=str(data["title"]),
            details=tuple(map(str, data["details"])),
            keys=frozenset(map(str, data["keys"])),
            cases=frozenset(map(str, data["cases"])),
            hosts=tuple(map(str, data["hosts"])),
            signs={str(sign): float(lost) for sign, lost in signs.items()},
        )


@dataclass(frozen=True)
class Night:
    """One night.

    :param session: the name of its run; :param system: of the system; :param level: of the level.
    :param findings: what is wrong with the machine; :param acknowledged: those of them that somebody has acknowledged.
    :param failures: why the night itself failed, a line each; empty if it did not.
    :param warnings: what is wrong with earlier results, or good to know, a line each.
    :param watched: values that are far from all nights before, and may be chance, a line each.
    :param cases: how many ran; :param passed: how many of them passed; :param records: how many values were kept.
    :param measured: the names of the cases that have values.
    :param nights: how many nights of this system there are in the history, this one included.
    :param elapsed_s: how long the run took; None where it was not run here.
    :param simulated: whether values are of a simulation.
    """

    session: str
    system: str
    level: str
    findings: tuple[Finding, ...] = ()
    acknowledged: tuple[Finding, ...] = ()
    failures: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    watched: tuple[str, ...] = ()
    cases: int = 0
    passed: int = 0
    records: int = 0
    measured: frozenset[str] = field(default=frozenset())
    nights: int = 0
    elapsed_s: float | None = None
    simulated: bool = False

    @property
    def status(self) -> Status:
        """How it ended."""
        if self.failures:
            return Status.FAILED
        return Status.FOUND if self.alarming else Status.QUIET

    @property
    def alarming(self) -> tuple[Finding, ...]:
        """What is wrong with the machine and not acknowledged."""
        return tuple(finding for finding in self.findings if finding not in self.acknowledged)
