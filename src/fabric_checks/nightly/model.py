# SPDX-License-Identifier: BSD-3-Clause
"""A night, what it found, and the acknowledgement of that."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import date
from typing import Any, TypeVar

from fabric_checks.core.finding import Finding
from fabric_checks.core.text import first_of, names_text, plural_text, sentence
from fabric_checks.core.verdict import Verdict, verdict

T = TypeVar("T")
#: A finding has grown if its size has risen by more than this: a share of what there should be, or of the
#: size before where that is larger than 1, as of microseconds.
GROWN = 0.1


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One cause, with all the findings that show it: those of one part, or failures for one reason.

    :param findings: what shows it, the one that names it first.
    :param keys: its parts or cases; entries of two nights that share one are the same.
    :param cases: the cases that show it, by :func:`fabric_checks.records.record.case_name`. When one of them
        is measured again, would show it and does not, it is closed.
    :param headline: its sentence, where that of the first finding does not do.
    """

    findings: tuple[Finding, ...]
    keys: frozenset[str]
    cases: frozenset[str]
    headline: str = ""

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts that are to blame, if any."""
        return self.findings[0].hosts

    @property
    def kind(self) -> str:
        """The kind of the finding that names it."""
        return self.findings[0].kind

    @property
    def subject(self) -> str:
        """The name of the part, or of the case where no part is to blame."""
        if len(self.hosts) == 2:
            return f"the path between {self.hosts[0]} and {self.hosts[1]}"
        if self.hosts:
            return f"{plural_text(len(self.hosts), 'node')} {names_text(self.hosts)}"
        return self.findings[0].part or names_text(sorted(self.cases), 1)

    @property
    def title(self) -> str:
        """One sentence that names the culprit, or the case where there is none."""
        return sentence(self._whole)

    @property
    def _whole(self) -> str:
        return self.headline or self.findings[0].text

    @property
    def details(self) -> tuple[str, ...]:
        """Further lines: the end of a long sentence, what else shows it, advice, and the cases that saw
        it."""
        left = self._whole.removeprefix(self.title.removesuffix(" ...")).lstrip(",;: ")
        more = dict.fromkeys(each.text for each in self.findings)
        for each in self.findings:
            more |= dict.fromkeys(each.lines)
        if not self.headline:
            more.pop(self._whole, None)
        seen = [] if self.kind == "case" else [f"seen by {names_text(sorted(self.cases), 6)}"]
        where = [f"more: fabric-checks show --node {self.hosts[0]}"] if len(self.hosts) == 1 else []
        return (*([f"... {left}"] if left else []), *first_of(list(more)), *seen, *where)

    @property
    def sizes(self) -> dict[str, Finding]:
        """Its findings by key, of several with one key the largest."""
        found: dict[str, Finding] = {}
        for each in self.findings:
            if each.key not in found or (each.size or 0.0) > (found[each.key].size or 0.0):
                found[each.key] = each
        return found

    def largest(self, unit: str) -> float:
        """Return the largest size of its findings in a unit, ``share`` or ``us``; 0 without one."""
        return max((each.size or 0.0 for each in self.findings if each.size_unit == unit), default=0.0)

    def as_dict(self) -> dict[str, Any]:
        """Return the entry as plain data."""
        return {
            "title": self.title,
            "kind": self.kind,
            "subject": self.subject,
            "hosts": list(self.hosts),
            "details": list(self.details),
            "findings": [each.as_dict() for each in self.findings],
            "keys": sorted(self.keys),
            "cases": sorted(self.cases),
            "headline": self.headline,
        }

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Entry:
        """Return the entry that :meth:`as_dict` gave.

        :raises KeyError, TypeError, ValueError, AttributeError: if a member is missing or of another type.
        """
        findings = tuple(map(Finding.of, data["findings"]))
        if not findings:
            raise ValueError("it has no finding")
        keys, cases = (frozenset(map(str, data[name])) for name in ("keys", "cases"))
        return cls(findings=findings, keys=keys, cases=cases, headline=str(data.get("headline", "")))


def parted(items: Iterable[T], is_of: Callable[[T], object]) -> tuple[list[T], list[T]]:
    """Return the items that are of a kind, and the others."""
    parts: tuple[list[T], list[T]] = ([], [])
    for item in items:
        parts[not is_of(item)].append(item)
    return parts


def grown(before: Mapping[str, float], entry: Entry, when: str) -> list[str]:
    """Return the findings of an entry that are new, or whose size has risen by more than :data:`GROWN`, in
    words.

    :param before: the sizes to compare with, by key; :param when: of these, as in ``then``.
    """
    more = []
    for key, finding in entry.sizes.items():
        known, size = before.get(key), finding.size or 0.0
        if known is None:
            more.append(key)
        elif size > known + GROWN * max(1.0, known):
            in_us = finding.size_unit == "us"
            was, now = (f"{each:.3g} us" if in_us else f"{100 * each:.0f} %" for each in (known, size))
            more.append(f"{key}: {was} {when}, {now} now")
    return more


def plain_sizes(entry: Entry) -> dict[str, float]:
    """Return the size of each finding of an entry by key, 0 where there is none."""
    return {key: finding.size or 0.0 for key, finding in entry.sizes.items()}


@dataclass(frozen=True)
class Acknowledgement:
    """The statement that a finding is known and needs no further alarm.

    :param finding_id: of an ``Open`` of the journal; :param sizes: those of its findings at that time, by
        key.
    :param reason: why nobody needs to be woken; :param ticket: where it is being dealt with.
    :param until: the last day on which it holds (UTC); :param by: its author; :param at: when, ISO 8601.
    """

    finding_id: str
    sizes: dict[str, float]
    reason: str
    ticket: str
    until: date
    by: str
    at: str

    def as_dict(self) -> dict[str, Any]:
        """Return the acknowledgement as plain data."""
        return asdict(self) | {"until": self.until.isoformat()}

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Acknowledgement:
        """Return the acknowledgement that :meth:`as_dict` gave; raise as :meth:`Entry.of` does."""
        sizes = {str(key): float(size) for key, size in data["sizes"].items()}
        return cls(**{**data, "until": date.fromisoformat(data["until"]), "sizes": sizes})


@dataclass(frozen=True)
class Night:
    """One night; of one in the journal only its findings are known, and what it would have shown.

    :param session: the name of its run; :param system: of the system; :param level: of the level.
    :param ended: whether it ran to its end; else its beginning alone is known.
    :param findings: the faults of the machine; :param acknowledged: those of them that are acknowledged.
    :param failures: why the night itself failed, a line each; empty if it did not.
    :param warnings: defects of earlier results, and notes, a line each.
    :param due: the warnings that no night of the last week has reported.
    :param cases: how many ran; :param passed: how many of them passed; :param records: how many values were
        kept.
    :param measured: the names of the cases that have values.
    :param limits: by case, the smallest faults that it would have named; :param blind: why no slow node would
        have been named, a line for each partition of which that is true.
    :param busy: the load of the hosts, if other processes had so many cores that values say little.
    :param nights: how many nights of this system there are in the history, this one included.
    :param elapsed_s: how long the run took; None where it was not run here.
    :param simulated: whether values are of a simulation.
    """

    session: str
    system: str = ""
    level: str = ""
    ended: bool = True
    findings: tuple[Entry, ...] = ()
    acknowledged: tuple[Entry, ...] = ()
    failures: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    due: tuple[str, ...] = ()
    cases: int = 0
    passed: int = 0
    records: int = 0
    measured: frozenset[str] = field(default=frozenset())
    limits: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)
    blind: tuple[str, ...] = ()
    busy: str = ""
    nights: int = 0
    elapsed_s: float | None = None
    simulated: bool = False

    def with_more(
        self,
        findings: Iterable[Entry] = (),
        failures: Iterable[str] = (),
        warnings: Iterable[str] = (),
        **other: Any,
    ) -> Night:
        """Return the night with more findings, failures and warnings, each line once, and other fields as
        given."""
        return replace(
            self,
            findings=(*self.findings, *findings),
            failures=tuple(dict.fromkeys((*self.failures, *failures))),
            warnings=tuple(dict.fromkeys((*self.warnings, *warnings))),
            **other,
        )

    @property
    def verdict(self) -> Verdict:
        """Return how it ended."""
        return verdict(failed=self.failures, findings=self.alarming, blind=self.blind, busy=self.busy)

    @property
    def alarming(self) -> tuple[Entry, ...]:
        """Return the findings that are not acknowledged."""
        return tuple(entry for entry in self.findings if entry not in self.acknowledged)
