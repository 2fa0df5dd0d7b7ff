# SPDX-License-Identifier: BSD-3-Clause
"""Turn the records of a contract's sessions into one number for each unit, and name what does not count, and
why.

All sessions of the period are counted, so that nobody chooses among them: of a unit the first ones count, in
the order in which they began. A unit that is missing counts as the worst that one can be, unless the clause
says otherwise.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from fabric_checks.core import files
from fabric_checks.core.errors import OutputError, RecordError
from fabric_checks.core.text import count_text, names_text
from fabric_checks.parsers import rotate
from fabric_checks.records.findings import findings_of
from fabric_checks.records.record import Record, case_name, was_disturbed
from fabric_checks.records.sessions import started
from fabric_checks.report import sight
from fabric_offers.acceptance.clauses import BAD, MEDIAN, SELECTING, Clause, ClauseError, Contract
from fabric_offers.runs import OUTPUT


@dataclass(frozen=True)
class Unit:
    """A unit of repetition: a day or a session.

    :param value: None: missing, or all its runs failed; it counts as the worst that a unit can be.
    :param at: its time in units, for drifts. :param runs: how many runs the value is of.
    """

    name: str
    value: float | None
    at: float
    runs: int


@dataclass(frozen=True)
class Observed:
    """Hold the measurements of a clause.

    :param unit: of the values; empty for ratios. :param lines: what did not count, and why.
    :param excluded: how many units do not count. :param records: those that the values come from.
    """

    units: tuple[Unit, ...]
    unit: str
    lines: tuple[str, ...]
    excluded: int
    records: tuple[Record, ...]


def matches(record: Record, select: Mapping[str, Any], *, metric: bool = True) -> bool:
    """Tell whether a record is of a selection; one of a failed case, without metric, is of all its
    metrics."""
    for name in SELECTING:
        if name not in select or (name == "metric" and (not metric or record["metric"] is None)):
            continue
        if name == "parameters":
            own = {key: str(value) for key, value in (record["parameters"] or {}).items()}
            if not select[name].items() <= own.items():
                return False
        elif not re.fullmatch(select[name], str(record[name])):
            return False
    return True


def observe(contract: Contract, clause: Clause, records: Sequence[Record], folder: Path) -> Observed:
    """Return the numbers of a clause's units.

    :param records: all that there are. :param folder: of the results, with the outputs.
    :raises ClauseError: if no record or records of several cases fit.
    """
    return _Observation(contract, clause, records, folder).run()


class _Observation:
    def __init__(self, contract: Contract, clause: Clause, records: Sequence[Record], folder: Path) -> None:
        self.contract, self.clause, self.folder = contract, clause, folder
        self.where = f"{contract.path}: clause {clause.name!r}"
        self.lines: list[str] = []
        self.used: list[Record] = []
        self.first: dict[str, Any] = {}
        since, until = contract.since or date.min, contract.until or date.max
        own = [each for each in records if each["system"] == contract.system]
        fitting = [each for each in own if matches(each, clause.select, metric=clause.is_of_metric)]
        self.chosen = [each for each in fitting if since <= _day(each) <= until]
        self._require_one(self.chosen, clause.is_of_metric)
        self.series = self._series(records)

    def _series(self, records: Sequence[Record]) -> list[Record]:
        """Return the records of the series that values are divided by, if it is one."""
        of = self.clause.divisor
        if of is None or of.value:
            return []
        select = {"system": re.escape(self.contract.system), **self.clause.select, **of.select}
        return [each for each in records if each["metric"] is not None and matches(each, select)]

    def _require_one(self, records: Sequence[Record], by_metric: bool) -> None:
        cases = sorted({case_name(each) for each in records})
        metrics = sorted({each["metric"] for each in records if each["metric"]}) if by_metric else []
        for found, noun in ((cases, "case"), (metrics, "metric")):
            if len(found) > 1:
                listed = names_text(found)
                raise ClauseError(
                    f"{self.where}: it fits {count_text(len(found), noun)}: {listed}; narrow it to one"
                )

    def run(self) -> Observed:
        by_unit = self._by_unit()
        units, excluded = [], 0
        for number, name in enumerate(self._expected(sorted(by_unit))):
            values = self._values(name, by_unit[name]) if name in by_unit else None
            if name not in by_unit:
                self.lines.append(f"{name}: no session began that day; {self._missing_text()}")
            if values:
                units.append(Unit(name, self._number_of(values), float(number), len(values)))
            elif values is None and self.clause.missing == BAD:
                units.append(Unit(name, None, float(number), 0))
            else:
                excluded += 1
        if self.clause.of or self.clause.quantity in ("share", "drift"):
            unit = ""
        elif self.clause.over != "runs":
            unit = "MB/s"
        else:
            unit = next((str(each["unit"]) for each in self.used if each["metric"]), "")
        return Observed(tuple(units), unit, tuple(dict.fromkeys(self.lines)), excluded, tuple(self.used))

    def _by_unit(self) -> Mapping[str, Mapping[str, list[list[Record]]]]:
        """Return the sessions of each unit in the order of time, and the runs of each, a list of records for
        each."""
        in_order = sorted(
            self.chosen, key=lambda each: (str(each["session"]), str(each["time"]), str(each["output"]))
        )
        found: dict[str, dict[str, list[list[Record]]]] = defaultdict(lambda: defaultdict(list))
        for (session, *_), run in groupby(
            in_order, lambda each: (str(each["session"]), each["time"], each["output"])
        ):
            records = list(run)
            found[_day(records[0]).isoformat() if self.clause.unit == "day" else session][session].append(
                records
            )
        return found

    def _expected(self, names: Sequence[str]) -> Sequence[str]:
        """Return the units that there should be so far: every day of the period until the last one with a
        session."""
        if self.clause.unit != "day" or not names:
            return names
        first, last = self.contract.since or date.fromisoformat(names[0]), date.fromisoformat(names[-1])
        return [(first + timedelta(days=number)).isoformat() for number in range((last - first).days + 1)]

    def _missing_text(self) -> str:
        return (
            "it counts as the worst that a unit can be" if self.clause.missing == BAD else "it does not count"
        )

    def _values(self, name: str, sessions: Mapping[str, list[list[Record]]]) -> list[float] | None:
        """Return the numbers of a unit's runs: none if it does not count, None if runs are missing."""
        clause, values, excluded = self.clause, [], 0
        counted = list(sessions)[: clause.sessions]
        for more in list(sessions)[clause.sessions :]:
            self.lines.append(
                f"{more}: repeated: {count_text(clause.sessions, 'session')} a unit count, the first"
            )
        for session in counted:
            taken = 0
            for run in sessions[session]:
                if taken == clause.runs:
                    count = len(sessions[session])
                    self.lines.append(
                        f"{session}: {count} runs, of which the first valid {clause.runs} count"
                    )
                    break
                try:
                    number = self._number(run)
                except _InvalidError as error:
                    excluded += 1
                    self.lines.append(f"{session}: a run of {_time(run[0])} does not count: {error}")
                    continue
                if number is not None:
                    values.append(number)
                    self.used += [each for each in run if matches(each, clause.select)][:1]
                    taken += 1
        wanted = clause.runs * min(clause.sessions, len(counted))
        if len(values) + excluded < wanted:
            self.lines.append(f"{name}: {len(values) + excluded} of {wanted} runs; {self._missing_text()}")
            return None
        if len(values) < wanted:
            self.lines.append(f"{name}: {len(values)} of {wanted} runs are valid; the unit does not count")
            return []
        return values

    def _number(self, run: Sequence[Record]) -> float | None:
        """Return the number of a run; infinite for one that failed, None if such ones do not count."""
        record, clause = run[0], self.clause
        if record["metric"] is None or (clause.over == "runs" and record["value"] is None):
            return self._failed(record)
        for cause in self._invalid(run):
            raise _InvalidError(cause)
        if clause.free_of:
            faults = {each.kind for each in findings_of(record) if each.is_fault}
            return float(faults.isdisjoint(clause.free_of))
        values = [float(record["value"])] if clause.over == "runs" else self._bandwidths(record)
        by = self._divisor(record, values)
        number = self._reached([each / by for each in values])
        if clause.quantity != "share":
            return number
        low = -math.inf if clause.at_least is None else clause.at_least
        high = math.inf if clause.at_most is None else clause.at_most
        return float(low <= number <= high)

    def _failed(self, record: Record) -> float | None:
        """Note a run without a value, and return what it counts."""
        why = str(record["fail_reason"] or "no reason is given")[:120]
        effect = "it counts as the worst" if self.clause.failed == BAD else "it does not count"
        self.lines.append(f"{record['session']}: a run of {_time(record)} failed ({why}); {effect}")
        return math.inf if self.clause.failed == BAD else None

    def _reached(self, numbers: Sequence[float]) -> float:
        """Return the median of numbers, the worst of them, or what a share of them reaches."""
        if self.clause.quantity in ("slowest", "quantile"):
            share = 1.0 if self.clause.quantity == "slowest" else self.clause.share or 0.0
            best_first = sorted(numbers, reverse=self.clause.larger_is_better)
            return best_first[max(0, math.ceil(share * len(numbers) - 1e-9) - 1)]
        return float(np.median(numbers))

    def _number_of(self, values: Sequence[float]) -> float | None:
        """Return the number of a unit, given those of its runs; None if it is worse than any."""
        if self.clause.quantity == "share":
            return float(np.mean([0.0 if math.isinf(each) else each for each in values]))
        worst = -math.inf if self.clause.larger_is_better else math.inf
        known = [worst if math.isinf(each) else each for each in values]
        number = float(np.median(known)) if self.clause.over != "runs" else self._reached(known)
        if self.clause.quantity == "drift":
            number = math.log(number) if number > 0 else worst
        return number if math.isfinite(number) else None

    def _divisor(self, record: Record, values: Sequence[float]) -> float:
        of, other = self.clause.of, self.clause.divisor
        if of is None:
            return 1.0
        if of == MEDIAN:
            return float(np.median(values))
        if other is None:
            rate = self.clause.line_rate_MBps or record["link_MBps"]
            if not rate:
                raise ClauseError(
                    f"{self.where}: the line rate is not known; add line_rate_MBps to the clauses"
                )
            return float(rate)
        if not other.value and not self.series:
            raise ClauseError(f"{self.where}: there are no records of {other.select}, which it compares with")
        return other.value or self._of_series(str(record["session"]))

    def _of_series(self, session: str) -> float:
        """Return the median of the series that values are divided by, in a session or in all."""
        self._require_one(self.series, by_metric=True)
        together = [each["value"] for each in self.series if each["session"] == session]
        return float(np.median(together or [each["value"] for each in self.series]))

    def _bandwidths(self, record: Record) -> list[float]:
        """Return the bandwidths of all pairs of a run, or of all nodes: of each the median of its pairs."""
        path = self.folder / str(record["output"]) / OUTPUT
        try:
            output = rotate.parse(files.read_text(path, self.folder))
        except OSError as error:
            raise _InvalidError(
                f"its output {record['output']}/{OUTPUT} cannot be read: {error.strerror}"
            ) from None
        except OutputError as error:
            raise _InvalidError(f"its output has no bandwidths of pairs ({error})") from None
        scan = output.scan
        if self.clause.over == "pairs":
            return [float(each) for each in scan.MBps]
        by_node: dict[str, list[float]] = defaultdict(list)
        for ranks in (scan.sender, scan.receiver):
            for rank, rate in zip(ranks.tolist(), scan.MBps.tolist(), strict=True):
                by_node[output.hosts[rank]].append(rate)
        return [float(np.median(rates)) for rates in by_node.values()]

    def _invalid(self, run: Sequence[Record]) -> Iterator[str]:
        """Yield why the clause does not count a run."""
        valid, record = self.clause.valid, run[0]
        if valid.quiet and was_disturbed(record):
            yield "other processes took cores from its ranks"
        if valid.binding and record["binding"] != valid.binding:
            yield f"its ranks were bound to {record['binding']}, not {valid.binding}"
        yield from self._other_versions(record)
        if valid.transport and not (record["ports"] or {}).get("fabric"):
            yield "nothing shows which network carried it: its ports were not counted"
        if "port" in self.clause.free_of and not record["ports"]:
            yield "its ports were not counted"
        if valid.blind_from:
            yield from self._blind(run)

    def _blind(self, run: Sequence[Record]) -> Iterator[str]:
        limit = sight.limits({"": run}).get("", {}).get("node")
        if limit is None:
            yield "it would have named no slow node"
        elif limit > self.clause.valid.blind_from:
            yield f"it would have named a node only from {100 * limit:.0f} % on"

    def _other_versions(self, record: Record) -> Iterator[str]:
        valid = self.clause.valid
        for name, pattern in valid.versions.items():
            if not re.fullmatch(pattern, str(record[name])):
                yield f"{name} is {record[name]}, not {pattern}"
        for name in valid.one:
            if record[name] != self.first.setdefault(name, record[name]):
                yield f"{name} is {record[name]}, but {self.first[name]} in the first run"


class _InvalidError(RecordError):
    """A run that does not count; the text is the cause."""


def _day(record: Record) -> date:
    """Return the day on which a record's session began, in UTC."""
    began = started(str(record["session"]))
    return began.date() if began else date.fromisoformat(str(record["time"])[:10])


def _time(record: Record) -> str:
    return str(record["time"])[:16].replace("T", " ")
