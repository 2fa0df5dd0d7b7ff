# SPDX-License-Identifier: BSD-3-Clause
"""A night, what it found, and the acknowledgement of that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any

import msgspec

from fabric_checks.core.finding import Finding
from fabric_checks.core.text import first_of, names_text, plural_text, sentence

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
    """

    findings: Annotated[tuple[Finding, ...], msgspec.Meta(min_length=1)]
    keys: frozenset[str]
    cases: frozenset[str]

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
        return sentence(self.findings[0].text)

    @property
    def details(self) -> list[str]:
        """Further lines: the end of a long sentence, what else shows it, advice, and the cases that saw
        it."""
        text = self.findings[0].text
        left = text.removeprefix(self.title.removesuffix(" ...")).lstrip(",;: ")
        lines = [each.text for each in self.findings]
        lines += [line for each in self.findings for line in each.lines if line != text]
        more = [f"... {left}"] if left else []
        more += first_of(list(dict.fromkeys(lines))[1:])
        if self.kind != "case":
            more.append(f"seen by {names_text(sorted(self.cases), 6)}")
        return more

    @property
    def sizes(self) -> dict[str, float]:
        """The size of each of its findings by key: 0 without one, of several with one key the largest."""
        found: dict[str, float] = {}
        for each in self.findings:
            found[each.key] = max(found.get(each.key, 0.0), each.size or 0.0)
        return found

    def largest(self, unit: str) -> float:
        """Return the largest size of its findings in a unit, ``share`` or ``us``; 0 without one."""
        return max(
            (each.size or 0.0 for each in self.findings if each.size_unit == unit),
            default=0.0,
        )


class Acknowledgement(msgspec.Struct, frozen=True, tag="acknowledged"):
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

    def exceeded_by(self, entry: Entry) -> list[str]:
        """Return the findings of an entry that are new, or whose size has risen by more than :data:`GROWN`,
        in words."""
        more = []
        for key, size in entry.sizes.items():
            known = self.sizes.get(key)
            if known is None:
                more.append(key)
            elif size > known + GROWN * max(1.0, known):
                more.append(f"{key}: {known:.3g} then, {size:.3g} now")
        return more


class Night(msgspec.Struct, frozen=True, tag="night", omit_defaults=True):
    """One night; of one that has only begun nothing else is known.

    :param session: the name of its run; :param system: of the system; :param level: of the level.
    :param ended: whether it ran to its end; else its beginning alone is known.
    :param findings: the faults of the machine.
    :param failures: why the night itself failed, a line each; empty if it did not.
    :param warnings: defects of earlier results, and notes, a line each.
    :param cases: how many ran; :param passed: how many of them passed; :param records: how many values were
        kept.
    :param measured: the names of the cases that have values.
    :param limits: by case, the smallest faults that it would have named; :param blind: why no slow node would
        have been named, a line for each partition of which that is true.
    :param unconfirmed: the misses of references that repeats do not confirm, a line each; nobody is alarmed.
    :param incomplete: how many of its cases ran, if it was interrupted before all had.
    :param busy: the load of the hosts, if other processes had so many cores that values say little.
    :param nights: how many nights of this system there are in the history, this one included.
    :param elapsed_s: how long the run took; None where it was not run here.
    :param simulated: whether values are of a simulation.
    """

    session: str
    system: str
    level: str
    ended: bool = True
    findings: tuple[Entry, ...] = ()
    failures: Sequence[str] = ()
    warnings: tuple[str, ...] = ()
    cases: int = 0
    passed: int = 0
    records: int = 0
    measured: frozenset[str] = frozenset()
    limits: Mapping[str, Mapping[str, float | None]] = {}
    blind: tuple[str, ...] = ()
    unconfirmed: tuple[str, ...] = ()
    incomplete: str = ""
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
        return msgspec.structs.replace(
            self,
            findings=(*self.findings, *findings),
            failures=tuple(dict.fromkeys((*self.failures, *failures))),
            warnings=tuple(dict.fromkeys((*self.warnings, *warnings))),
            **other,
        )
