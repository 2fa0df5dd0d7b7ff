# SPDX-License-Identifier: BSD-3-Clause
"""Turn the records of a contract's sessions into one number for each unit, and name what does not count, and
why.

All sessions of the period are counted, so that nobody chooses among them: of a unit the first ones count, in
the order in which they began. A unit that is missing counts as the worst that one can be.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from fabric_checks.core import files
from fabric_checks.core.errors import OutputError, RecordError
from fabric_checks.core.text import count_text, names_text
from fabric_checks.parsers import rotate
from fabric_checks.records.findings import findings_of
from fabric_checks.records.record import Record, case_name, was_disturbed
from fabric_checks.records.sessions import started
from fabric_offers.acceptance.clauses import MEDIAN, Clause, ClauseError, Contract, Of
from fabric_offers.runs import OUTPUT

_WORST = "it counts as the worst that a unit can be"


@dataclass(frozen=True)
class Unit:
    """A unit of repetition: a day or a session.

    :param value: None: missing, or all its runs failed; it counts as the worst that a unit can be.
    """

    name: str
    value: float | None


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
    own = {key: str(value) for key, value in (record["parameters"] or {}).items()}
    passed = {"parameters"}
    if not metric or record["metric"] is None:
        passed.add("metric")
    return select.get("parameters", {}).items() <= own.items() and all(
        re.fullmatch(pattern, str(record[name]))
        for name, pattern in select.items()
        if name not in passed
    )


def observe(
    contract: Contract, clause: Clause, records: Sequence[Record], folder: Path
) -> Observed:
    """Return the numbers of a clause's units.

    :param records: all that there are. :param folder: of the results, with the outputs.
    :raises ClauseError: if no record or records of several cases fit.
    """
    return _Observation(contract, clause, records, folder).run()


class _Observation:
    def __init__(
        self,
        contract: Contract,
        clause: Clause,
        records: Sequence[Record],
        folder: Path,
    ) -> None:
        self.contract, self.clause, self.folder = contract, clause, folder
        self.where = f"{contract.path}: clause {clause.name!r}"
        self.lines: list[str] = []
        self.used: list[Record] = []
        self.first: dict[str, Any] = {}
        self.since = contract.period.get("from", date.min)
        until = contract.period.get("to", date.max)
        self.own = [each for each in records if each["system"] == contract.system]
        fitting = [
            each
            for each in self.own
            if matches(each, clause.select, metric=clause.is_of_metric)
        ]
        self.chosen = [each for each in fitting if self.since <= _day(each) <= until]
        self._require_one(self.chosen)

    def _require_one(self, records: Sequence[Record]) -> None:
        found = {"case": {case_name(each) for each in records}}
        if self.clause.is_of_metric:
            found["metric"] = {
                str(each["metric"]) for each in records if each["metric"]
            }
        for noun, names in found.items():
            if len(names) > 1:
                listed = f"{count_text(len(names), noun)}: {names_text(sorted(names))}"
                raise ClauseError(f"{self.where}: it fits {listed}; narrow it to one")

    def run(self) -> Observed:
        by_unit = self._by_unit()
        values = {
            name: self._values(name, by_unit.get(name, {}))
            for name in self._expected(sorted(by_unit))
        }
        units = [
            Unit(name, self._number_of(found) if found else None)
            for name, found in values.items()
            if found != []
        ]
        lines = tuple(dict.fromkeys(self.lines))
        excluded = len(values) - len(units)
        return Observed(tuple(units), self._unit(), lines, excluded, tuple(self.used))

    def _unit(self) -> str:
        """Return the unit of the values, if they have one."""
        if self.clause.of or self.clause.quantity == "share":
            return ""
        if self.clause.over != "runs":
            return "MB/s"
        return next((str(each["unit"]) for each in self.used if each["metric"]), "")

    def _by_unit(self) -> Mapping[str, Mapping[str, list[Record]]]:
        """Return the sessions of each unit in the order of time, and the runs of each, of which the first
        record stands for all."""
        runs: dict[tuple[str, str, str], Record] = {}
        for record in self.chosen:
            place = (str(record["session"]), str(record["time"]), str(record["output"]))
            runs.setdefault(place, record)
        found: dict[str, dict[str, list[Record]]] = {}
        for (session, *_), run in sorted(runs.items(), key=lambda each: each[0]):
            unit = _day(run).isoformat() if self.clause.unit == "day" else session
            found.setdefault(unit, {}).setdefault(session, []).append(run)
        return found

    def _expected(self, names: Sequence[str]) -> Sequence[str]:
        """Return the units that there should be so far: every day of the period until the last one with a
        session."""
        if self.clause.unit != "day" or not names:
            return names
        last = date.fromisoformat(names[-1])
        first = date.fromisoformat(names[0]) if self.since == date.min else self.since
        return [
            (first + timedelta(days=number)).isoformat()
            for number in range((last - first).days + 1)
        ]

    def _values(
        self, name: str, sessions: Mapping[str, Sequence[Record]]
    ) -> list[float] | None:
        """Return the numbers of a unit's runs: none if it does not count, None if runs are missing."""
        wanted, excluded = self.clause.runs, 0
        values: list[float] = []
        if not sessions:
            self.lines.append(f"{name}: no session began that day; {_WORST}")
            return None
        session, *more = sessions
        self.lines += [
            f"{each}: repeated: one session a unit counts, the first" for each in more
        ]
        for run in sessions[session]:
            if len(values) == wanted:
                count = len(sessions[session])
                self.lines.append(
                    f"{session}: {count} runs, of which the first valid {wanted} count"
                )
                break
            try:
                values.append(self._number(run))
                self.used.append(run)
            except _InvalidError as error:
                excluded += 1
                self.lines.append(
                    f"{session}: a run of {_time(run)} does not count: {error}"
                )
        if len(values) + excluded < wanted:
            self.lines.append(
                f"{name}: {len(values) + excluded} of {wanted} runs; {_WORST}"
            )
            return None
        if len(values) < wanted:
            self.lines.append(
                f"{name}: {len(values)} of {wanted} runs are valid; the unit does not count"
            )
            return []
        return values

    def _number(self, run: Record) -> float:
        """Return the number of a run; infinite for one that failed."""
        clause = self.clause
        if run["metric"] is None or (clause.over == "runs" and run["value"] is None):
            why = str(run["fail_reason"] or "no reason is given")[:120]
            self.lines.append(
                f"{run['session']}: a run of {_time(run)} failed ({why}); it counts as the worst"
            )
            return math.inf
        self._require_valid(run)
        if clause.free_of:
            faults = {each.kind for each in findings_of(run) if each.is_fault}
            return float(faults.isdisjoint(clause.free_of))
        number = self._reached(self._ratios(run))
        return (
            float(clause.is_reached_by(number))
            if clause.quantity == "share"
            else number
        )

    def _ratios(self, run: Record) -> list[float]:
        """Return the values of a run over what they are divided by."""
        is_one = self.clause.over == "runs"
        values = [float(run["value"])] if is_one else self._bandwidths(run)
        by = self._divisor(run, values)
        return [each / by for each in values]

    def _reached(self, numbers: Sequence[float]) -> float:
        """Return the median of numbers, the worst of them, or what a share of them reaches."""
        share = {"slowest": 1.0, "quantile": self.clause.share}.get(
            self.clause.quantity
        )
        if share is None:
            return float(np.median(numbers))
        best_first = sorted(numbers, reverse=self.clause.larger_is_better)
        return best_first[max(0, math.ceil(share * len(numbers) - 1e-9) - 1)]

    def _number_of(self, values: Sequence[float]) -> float | None:
        """Return the number of a unit, given those of its runs; None if it is worse than any."""
        clause = self.clause
        if clause.quantity == "share":
            return float(
                np.mean([0.0 if math.isinf(each) else each for each in values])
            )
        worst = -math.inf if clause.larger_is_better else math.inf
        known = [worst if math.isinf(each) else each for each in values]
        reached = self._reached if clause.over == "runs" else np.median
        number = float(reached(known))
        return number if math.isfinite(number) else None

    def _divisor(self, record: Record, values: Sequence[float]) -> float:
        of = self.clause.of
        if of is None:
            return 1.0
        if of == MEDIAN:
            return float(np.median(values))
        if isinstance(of, Of):
            return of.value or self._of_series(of, record["session"])
        if rate := self.clause.link_MBps or record["link_MBps"]:
            return float(rate)
        raise ClauseError(
            f"{self.where}: the line rate is not known; add link_MBps to the clauses"
        )

    def _of_series(self, of: Of, session: str) -> float:
        """Return the median of the series that values are divided by, in a session or in all."""
        select = {**self.clause.select, **of.select}
        series = [each for each in self.own if each["metric"] and matches(each, select)]
        if not series:
            raise ClauseError(
                f"{self.where}: there are no records of {of.select}, which it compares with"
            )
        self._require_one(series)
        together = [each for each in series if each["session"] == session]
        return float(np.median([each["value"] for each in together or series]))

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
            raise _InvalidError(
                f"its output has no bandwidths of pairs ({error})"
            ) from None
        scan = output.scan
        if self.clause.over == "pairs":
            return [float(each) for each in scan.MBps]
        ends = np.concatenate((scan.sender, scan.receiver)).tolist()
        hosts = [output.hosts[rank] for rank in ends]
        table = pl.DataFrame({"host": hosts, "rate": np.tile(scan.MBps, 2)})
        return table.group_by("host").agg(pl.col("rate").median())["rate"].to_list()

    def _require_valid(self, record: Record) -> None:
        """Raise :class:`_InvalidError` for a run that the clause does not count."""
        clause, ports = self.clause, record["ports"] or {}
        limit = (record["limits"] or {}).get("node", math.inf)
        named = f"a node only from {100 * limit:.0f} % on"
        uncounted = "its ports were not counted"
        causes = {
            "other processes took cores from its ranks": (
                clause.quiet and was_disturbed(record)
            ),
            f"nothing shows which network carried it: {uncounted}": (
                clause.transport and not ports.get("fabric")
            ),
            uncounted: "port" in clause.free_of and not ports,
            f"it would have named {'no slow node' if math.isinf(limit) else named}": (
                0 < clause.blind_from < limit
            ),
        }
        if cause := next((each for each, holds in causes.items() if holds), None):
            raise _InvalidError(cause)
        self._require_same(record)

    def _require_same(self, record: Record) -> None:
        """Raise :class:`_InvalidError` for a run that differs from the first one that counts."""
        for name in self.clause.one:
            if record[name] != self.first.setdefault(name, record[name]):
                raise _InvalidError(
                    f"{name} is {record[name]}, but {self.first[name]} in the first run"
                )


class _InvalidError(RecordError):
    """A run that does not count; the text is the cause."""


def _day(record: Record) -> date:
    """Return the day on which a record's session began, in UTC."""
    began = started(str(record["session"]))
    return began.date() if began else date.fromisoformat(str(record["time"])[:10])


def _time(record: Record) -> str:
    return str(record["time"])[:16].replace("T", " ")
