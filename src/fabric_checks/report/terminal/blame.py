# SPDX-License-Identifier: BSD-3-Clause
"""Read, judge and print saved measurements of all pairs, of our own programs and of others."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from fabric_checks.core import files
from fabric_checks.core.errors import OutputError
from fabric_checks.core.finding import Finding, Severity
from fabric_checks.core.metrics import Metric
from fabric_checks.core.templates import filled
from fabric_checks.core.text import count_text
from fabric_checks.diagnosis.cross_section import evaluation
from fabric_checks.diagnosis.cross_section.metrics import METRICS, OF_SWITCHES
from fabric_checks.diagnosis.finding import RankFinding, not_measured, note
from fabric_checks.diagnosis.latency_map import evaluation as latency
from fabric_checks.diagnosis.latency_map.metrics import METRICS as OF_LATENCY
from fabric_checks.fabric_map.model import FabricMap
from fabric_checks.matrices import again, formats, merged
from fabric_checks.matrices.merged import Run
from fabric_checks.matrices.model import PairTable
from fabric_checks.parsers.rotate import RotateOutput

#: What is printed first.
_ORDER = (Severity.FAULT, Severity.SUSPECT, Severity.NOTE)
#: The most pairs to measure again, and commands for them, that are printed.
_MOST = 6


@dataclass(frozen=True)
class Judged:
    """A run, what was found in it, the pairs to measure again, and the number of slow ones that nothing
    explains."""

    run: Run
    report: evaluation.Report | latency.Report
    measure_next: list[again.Pair]
    unexplained: int

    @property
    def title(self) -> str:
        """The program, and how much it measured."""
        output = self.run.output
        ends = count_text(
            len({end.host for end in self.run.ends} or output.hosts), "node"
        )
        if any(end.device for end in self.run.ends):
            ends = f"{len(self.run.ends)} GPUs or adapters of {ends}"
        if isinstance(
            output, RotateOutput
        ):  # a value of both directions stands for each
            return (
                f"{output.pattern}, {ends}, "
                f"{count_text(len(output.scan) // (1 + output.both_ways), 'pair')}"
            )
        return f"latencies, {ends}, {count_text(len(output.starter), 'pair')}"

    @cached_property
    def values(self) -> dict[str, float]:
        """The values by the names of their metrics; of a million pairs they take a while."""
        return self.report.metrics()

    @property
    def unseen(self) -> set[str]:
        """The names of the limits of faults of which none would have been found."""
        limits = self.report.limits.items()
        return {f"smallest_{part}_fault" for part, size in limits if size is None}

    @property
    def declared(self) -> tuple[Metric, ...]:
        """The values that it has, in the order in which they are shown."""
        of_kind = (
            OF_LATENCY
            if isinstance(self.report, latency.Report)
            else (*METRICS, *OF_SWITCHES)
        )
        return tuple(metric for metric in of_kind if metric.name in self.values)

    @property
    def findings(self) -> list[Finding]:
        """What was found, faults first, then what is worth a look and what was measured."""
        found = list(self.report.all_findings())
        found.sort(key=lambda each: _ORDER.index(each.severity))
        if self.unexplained:
            text = (
                f"far below the rate of others: {count_text(self.unexplained, 'pair')}; what is slow is not"
                " certain"
            )
            suspects = Finding(
                kind="suspects",
                severity=Severity.SUSPECT,
                text=f"{text}, measure again",
            )
            found.insert(0, suspects)
        elif all(
            each.severity is Severity.NOTE and each.kind != latency.LONE
            for each in found
        ):
            found.insert(0, note("nothing", "nothing stands out in what was measured"))
        if isinstance(self.report, latency.Report):
            found += not_measured(self.run.cannot_tell)
        return found


def load(
    paths: Sequence[Path],
    link_MBps: float | None,
    known: FabricMap | None = None,
    *,
    alone: bool = False,
) -> tuple[list[Judged], list[str]]:
    """Read and judge saved outputs; those of our own programs each by itself, the tables of others joined.

    :param link_MBps: the rate of a link in MB/s, if it is known; :param known: the map of the fabric,
        likewise.
    :param alone: whether pairs were measured one after the other, where a format does not say so.
    :returns: the runs, and why files were left out, a line each.
    """
    runs: list[Run] = []
    tables: list[tuple[str, PairTable]] = []
    refused: list[str] = []
    read: dict[str, Path] = {}
    for path in paths:
        try:
            if (
                first := read.setdefault(text := files.read_text(path), path)
            ) is not path:
                raise OutputError(
                    f"it has the same content as {first}: a copy is no second measurement"
                )
            found = formats.parse(text)
        except OutputError as error:
            refused.append(f"{path}: {error}")
            continue
        if isinstance(found, list):
            tables += [
                (
                    str(path),
                    replace(each, alone=alone or None) if each.alone is None else each,
                )
                for each in found
            ]
        else:
            runs.append(Run((str(path),), found))
    judged = []
    for run in (*runs, *merged.join(tables)):
        try:
            judged.append(judge(run, link_MBps, known))
        except OutputError as error:
            refused.append(f"{', '.join(run.files)}: {error}")
    return judged, refused


def judge(run: Run, link_MBps: float | None, known: FabricMap | None) -> Judged:
    """Judge a run; see :func:`load`.

    :raises OutputError: if it is too large, or has too little.
    """
    report = _report(run, link_MBps, known)
    return Judged(run, report, *again.pairs(run, report))


def _report(
    run: Run, link_MBps: float | None, known: FabricMap | None
) -> evaluation.Report | latency.Report:
    if not isinstance(run.output, RotateOutput):
        return latency.of_run(run.output, known)
    report = evaluation.of_run(run.output, link_MBps, known, run.cannot_tell)
    found = _both_ways(report.findings)
    return replace(report, findings=(*found, *run.findings))


def _both_ways(findings: Sequence[RankFinding]) -> list[RankFinding]:
    """Return findings, those of a pair in both directions as one: the worse, of both."""
    found: dict[object, RankFinding] = {}
    for each in findings:
        is_pair = each.kind == "pair" and len(each.ranks) == 2
        key = frozenset(each.ranks) if is_pair else id(each)
        other = found.get(key)
        if other is None:
            found[key] = each
        elif each.severity is other.severity:
            worse = min(each, other, key=lambda one: one.share)
            text = worse.text.replace(worse.part, f"{worse.part}, and back,", 1)
            found[key] = replace(worse, text=text)
        else:
            found[id(each)] = each
    return list(found.values())


def as_lines(judged: Sequence[Judged], file: str) -> list[str]:
    """Return values and findings of the runs, line by line.

    :param file: the name of the file with what to measure again.
    """
    return [line for found in judged for line in _lines_of(found, file)]


def _lines_of(found: Judged, file: str) -> list[str]:
    pairs, table = found.measure_next, found.run.table
    text = filled(
        Path(__file__).with_suffix(".jinja"),
        {},
        found=found,
        pairs=[f"{one} to {other}" for one, other in pairs],
        commands=formats.again(table, pairs, file)[1] if table and pairs else (),
        most=_MOST,
    )
    return text.splitlines()


def next_text(judged: Sequence[Judged], file: str) -> str:
    """Return what to measure again, for the program that measured it first; empty if nothing.

    :param file: the name of the file that the text is for.
    :raises OutputError: if several programs did.
    """
    tables = {
        each.run.table.format: each.run.table
        for each in judged
        if each.run.table and each.measure_next
    }
    if len(tables) > 1:
        raise OutputError(
            f"what {' and '.join(tables)} should measure again is not one file: give those of one"
        )
    pairs = dict.fromkeys(pair for each in judged for pair in each.measure_next)
    return "".join(
        formats.again(table, list(pairs), file)[0] for table in tables.values()
    )


def as_json(judged: Sequence[Judged], refused: Sequence[str]) -> str:
    """Return the same as JSON.

    :param refused: why files were left out.
    """
    runs: dict[str, object] = {}
    for found in judged:
        label = ", ".join(found.run.files)
        name = label if label not in runs else f"{label}: {found.title}"
        runs[name] = _as_data(found)
    units = {metric.name: metric.unit for found in judged for metric in found.declared}
    return json.dumps(
        {"units": units, "runs": runs, "refused": list(refused)}, indent=1
    )


def _as_data(found: Judged) -> dict[str, object]:
    data: dict[str, object] = {
        "metrics": {
            name: None if name in found.unseen else value
            for name, value in found.values.items()
        },
        "findings": [each.as_dict() for each in found.findings],
        "limits": dict(found.report.limits),
    }
    if found.run.table:
        data["measure_next"] = [list(map(list, pair)) for pair in found.measure_next]
    return data
