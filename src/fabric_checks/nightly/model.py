# SPDX-License-Identifier: BSD-3-Clause
"""A night, its findings, and the acknowledgement of one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import date
from enum import IntEnum
from typing import Any

#: How many lines of one kind a finding has.
MOST_SHOWN = 6


class Status(IntEnum):
    """The outcome of a night; the number is the exit status."""

    QUIET = 0
    #: The night itself failed: its findings are not all there are.
    FAILED = 1
    #: Something is worse than it should be, or than it was.
    FOUND = 3
    #: Nothing was found, and no slow node would have been.
    BLIND = 4


@dataclass(frozen=True)
class Finding:
    """One fault of the machine, whatever shows it.

    :param title: one sentence that names the culprit, or the case where there is none.
    :param details: further lines.
    :param keys: its subjects, such as ``node:n3``; findings of two nights that share a key are the same one.
    :param cases: the cases that show it, by :func:`fabric_checks.records.record.case_name`. When one of them is
        measured again, would show it and does not, the finding is closed.
    :param hosts: the hosts that are to blame, if any.
    :param subject: the culprit's name, or that of the case where there is none.
    :param sizes: by kind, the losses that are seen only down to a limit: shares, or microseconds of latency; None for
        one without a number; see :mod:`fabric_checks.nightly.sight`.
    :param signs: its symptoms, such as ``sender n3``, each with its loss: a share, microseconds if its name ends with
        ``us``, 0 without a number. Two nights may see one finding by different signs; these are acknowledged.
    """

    title: str
    details: tuple[str, ...]
    keys: frozenset[str]
    cases: frozenset[str]
    hosts: tuple[str, ...] = ()
    signs: Mapping[str, float] = field(default_factory=dict, hash=False)
    subject: str = ""
    sizes: Mapping[str, float | None] = field(default_factory=dict, hash=False)

    def as_dict(self) -> dict[str, Any]:
        """Return the finding as plain data."""
        return asdict(self) | {"keys": sorted(self.keys), "cases": sorted(self.cases)}

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Finding:
        """Return the finding that :meth:`as_dict` gave.

        :raises KeyError, TypeError, ValueError, AttributeError: if a field is missing or of another type.
        """
        lists = {name: tuple(map(str, data[name])) for name in ("details", "keys", "cases", "hosts")}
        keys, cases = frozenset(lists["keys"]), frozenset(lists["cases"])
        sizes = {str(kind): None if size is None else float(size) for kind, size in data["sizes"].items()}
        subject = str(data["subject"])
        return cls(str(data["title"]), lists["details"], keys, cases, lists["hosts"], _signs(data), subject, sizes)


#: A finding has grown if the loss of a sign has risen by more than this: a share of what there should be,
#: or of the loss before where that is larger than 1, as of microseconds.
GROWN = 0.1


def grown(before: Mapping[str, float], finding: Finding, when: str) -> list[str]:
    """Return the signs of a finding that are new, or whose loss has risen by more than :data:`GROWN`, in words.

    :param before: the signs to compare with; :param when: of these, as in ``then``.
    """
    more = []
    for sign, loss in finding.signs.items():
        known = before.get(sign)
        if known is None:
            more.append(sign)
        elif loss > known + GROWN * max(1.0, known) and sign.endswith(", us"):
            more.append(f"{sign} {known:.3g} {when}, {loss:.3g} now")
        elif loss > known + GROWN * max(1.0, known):
            more.append(f"{sign}, {100 * known:.0f} % lost {when}, {100 * loss:.0f} % now")
    return more


@dataclass(frozen=True)
class Acknowledgement:
    """The statement that a finding is known and needs no further alarm.

    :param finding_id: of an ``Open`` of the journal; :param signs: those of the finding at that time.
    :param reason: why nobody needs to be woken; :param ticket: where it is being dealt with.
    :param until: the last day on which it holds (UTC); :param by: its author; :param at: when, ISO 8601.
    """

    finding_id: str
    signs: dict[str, float]
    reason: str
    ticket: str
    until: date
    by: str
    at: str

    def beyond(self, finding: Finding) -> list[str]:
        """Return the signs of a finding that exceed the acknowledged ones, in words; empty if none does."""
        more = grown(self.signs, finding, "then")
        return more if finding.signs else ["nothing that can be compared with what was acknowledged"]

    def as_dict(self) -> dict[str, Any]:
        """Return the acknowledgement as plain data."""
        return asdict(self) | {"until": self.until.isoformat()}

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Acknowledgement:
        """Return the acknowledgement that :meth:`as_dict` gave; raise as :meth:`Finding.of` does."""
        return cls(**{**data, "until": date.fromisoformat(data["until"]), "signs": _signs(data)})


def _signs(data: Mapping[str, Any]) -> dict[str, float]:
    return {str(sign): float(loss) for sign, loss in data["signs"].items()}


@dataclass(frozen=True)
class Night:
    """One night; of one in the journal only its findings are known, and what it would have shown.

    :param session: the name of its run; :param system: of the system; :param level: of the level.
    :param ended: whether it ran to its end; else its beginning alone is known.
    :param findings: the faults of the machine; :param acknowledged: those of them that are acknowledged.
    :param failures: why the night itself failed, a line each; empty if it did not.
    :param warnings: defects of earlier results, and notes, a line each.
    :param due: the warnings that no night of the last week has reported.
    :param cases: how many ran; :param passed: how many of them passed; :param records: how many values were kept.
    :param measured: the names of the cases that have values.
    :param limits: by case, the smallest faults that it would have named; :param blind: why no slow node would have
        been named, a line for each partition of which that is true.
    :param nights: how many nights of this system there are in the history, this one included.
    :param elapsed_s: how long the run took; None where it was not run here.
    :param simulated: whether values are of a simulation.
    """

    session: str
    system: str = ""
    level: str = ""
    ended: bool = True
    findings: tuple[Finding, ...] = ()
    acknowledged: tuple[Finding, ...] = ()
    failures: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    due: tuple[str, ...] = ()
    cases: int = 0
    passed: int = 0
    records: int = 0
    measured: frozenset[str] = field(default=frozenset())
    limits: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)
    blind: tuple[str, ...] = ()
    nights: int = 0
    elapsed_s: float | None = None
    simulated: bool = False

    def with_more(
        self, findings: Iterable[Finding] = (), failures: Iterable[str] = (), warnings: Iterable[str] = (), **other: Any
    ) -> Night:
        """Return the night with more findings, failures and warnings, each line once, and other fields as given."""
        return replace(
            self,
            findings=(*self.findings, *findings),
            failures=tuple(dict.fromkeys((*self.failures, *failures))),
            warnings=tuple(dict.fromkeys((*self.warnings, *warnings))),
            **other,
        )

    @property
    def status(self) -> Status:
        """Return how it ended."""
        if self.failures:
            return Status.FAILED
        if self.alarming:
            return Status.FOUND
        return Status.BLIND if self.blind else Status.QUIET

    @property
    def alarming(self) -> tuple[Finding, ...]:
        """Return the findings that are not acknowledged."""
        return tuple(finding for finding in self.findings if finding not in self.acknowledged)
