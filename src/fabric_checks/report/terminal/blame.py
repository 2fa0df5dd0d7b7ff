# SPDX-License-Identifier: BSD-3-Clause
"""Read, judge, print and draw saved measurements of all pairs, of our own programs and of others."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fabric_checks.core import files
from fabric_checks.core.errors import OutputError
from fabric_checks.core.metrics import Metric
from fabric_checks.core.text import count_text, names_text, one_line, value_text
from fabric_checks.diagnosis.cross_section import evaluation
from fabric_checks.diagnosis.cross_section.metrics import METRICS, OF_SWITCHES
from fabric_checks.diagnosis.fabric_map.model import FabricMap
from fabric_checks.diagnosis.latency_map import evaluation as latency
from fabric_checks.diagnosis.latency_map.metrics import METRICS as OF_LATENCY
from fabric_checks.matrices import again, formats, joining
from fabric_checks.matrices.model import PairTable
from fabric_checks.parsers.rotate import RotateOutput
from fabric_checks.report import drawing
from fabric_checks.report.pair_drawing import pair_bandwidths

#: The most pairs to measure again, and commands for them, that are printed.
_MOST = 6


@dataclass(frozen=True)
class Judged:
    """One run, or several joined.

    :param files: its files; :param report: what was found; :param run: the joined tables of another program.
    """

    files: tuple[str, ...]
    report: evaluation.Report | latency.Report
    run: joining.Run | None = None

    @property
    def label(self) -> str:
        """The files, of many the first and the last."""
        shown = f"{len(self.files)} files, {self.files[0]} .. {self.files[-1]}"
        return shown if len(self.files) > 3 else ", ".join(self.files)

    @property
    def title(self) -> str:
        """The program, and how much it measured."""
        output, ends = self.report.output, count_text(len(self.report.output.hosts), "node")
        if self.run and any(end.device for end in self.run.ends):
            hosts = count_text(len({end.host for end in self.run.ends}), "node")
            ends = f"{len(self.run.ends)} GPUs or adapters of {hosts}"
        if isinstance(output, RotateOutput):  # a value of both directions stands for each
            pairs = len(output.scan) // (2 if output.both_ways else 1)
            return f"{output.pattern}, {ends}, {count_text(pairs, 'pair')}"
        return f"latencies, {ends}, {count_text(len(output.starter), 'pair')}"

    @property
    def again(self) -> list[again.Pair]:
        """The pairs to measure again."""
        return again.pairs(self.run, self.report) if self.run else []

    @property
    def notes(self) -> list[dict[str, object]]:
        """What was found, as plain data, each with a ``text``."""
        found = self.report.notes()
        if slow := again.unexplained(self.run, self.report) if self.run else 0:
            text = (
                f"far below the rate of others: {count_text(slow, 'pair')}; what is slow is not certain, measure again"
            )
            found.insert(0, {"kind": "suspects", "text": text})
        elif not self.report.findings:
            found.append({"kind": "nothing", "text": "nothing stands out in what was measured"})
        if self.run and isinstance(self.report, latency.Report):
            found += [{"kind": "not measured", "text": f"not measured: {line}"} for line in self.run.cannot_tell]
        return found


def load(
    paths: Sequence[Path], link_MBps: float | None, known: FabricMap | None = None, *, alone: bool = False
) -> tuple[list[Judged], list[str]]:
    """Read and judge saved outputs; those of our own programs each by itself, the tables of others joined.

    :param link_MBps: the rate of a link in MB/s, if it is known; :param known: the map of the fabric, likewise.
    :param alone: whether pairs were measured one after the other, where a format does not say so.
    :returns: the runs, and why files were left out, a line each.
    """
    judged: list[Judged] = []
    tables: list[tuple[str, PairTable]] = []
    refused: list[str] = []
    for path in paths:
        try:
            found = formats.parse(files.read_text(path))
            if isinstance(found, list):
                alike = [replace(each, alone=True) if alone and each.alone is None else each for each in found]
                tables += [(str(path), table) for table in alike]
            else:
                judged.append(Judged((str(path),), _report(found, link_MBps, known)))
        except OutputError as error:
            refused.append(f"{path}: {error}")
    for run in joining.join(tables):
        report = _report(run.output, link_MBps, known, run.cannot_tell)
        if isinstance(report, evaluation.Report):
            report = replace(report, findings=(*report.findings, *run.findings))
        judged.append(Judged(run.files, report, run))
    return judged, refused


def _report(
    output: joining.Output, link_MBps: float | None, known: FabricMap | None, cannot_tell: Sequence[str] = ()
) -> evaluation.Report | latency.Report:
    if isinstance(output, RotateOutput):
        return evaluation.of_run(output, link_MBps, known, cannot_tell)
    return latency.of_run(output, known)


def as_lines(judged: Sequence[Judged], file: str) -> list[str]:
    """Return values and findings of the runs, line by line.

    :param file: the name of the file with what to measure again.
    """
    lines = []
    for found in judged:
        lines.append(f"{found.label}: {found.title}")
        values = found.report.metrics()
        for metric in _metrics(found):
            if metric.name in values:
                unit = "" if metric.unit == "1" else metric.unit
                lines.append(f"  {metric.name:30} {value_text(values[metric.name]):>10} {unit}".rstrip())
        for note in found.notes:
            more = note.get("details", ())
            lines += [f"  {one_line(str(note['text']))}"]
            lines += [f"    {one_line(line)}" for line in (more if isinstance(more, (list, tuple)) else ())]
        if found.run and (pairs := found.again):
            names = names_text([f"{one} to {other}" for one, other in pairs], _MOST)
            lines.append(f"  measure next, twice at least and one pair after the other: {one_line(names)}")
            commands = formats.again(found.run.table, pairs, file)[1]
            lines += [f"    {one_line(line)}" for line in commands[:_MOST]]
    return lines


def next_text(judged: Sequence[Judged], file: str) -> str:
    """Return what to measure again, for the program that measured it first; empty if nothing.

    :param file: the name of the file that the text is for.
    :raises OutputError: if several programs did.
    """
    tables = {found.run.table.format: found.run.table for found in judged if found.run and found.again}
    if len(tables) > 1:
        raise OutputError(f"what {' and '.join(tables)} should measure again is not one file: give those of one")
    pairs = dict.fromkeys(pair for found in judged for pair in found.again)
    return "".join(formats.again(table, list(pairs), file)[0] for table in tables.values())


def as_json(judged: Sequence[Judged], refused: Sequence[str]) -> str:
    """Return the same as JSON.

    :param refused: why files were left out.
    """
    runs: dict[str, object] = {}
    units: dict[str, str] = {}
    for found in judged:
        label = ", ".join(found.files)
        again_ = {"measure_next": [[list(end) for end in pair] for pair in found.again]} if found.run else {}
        of_run = {"metrics": found.report.metrics(), "notes": found.notes, **again_}
        runs[label if label not in runs else f"{label}: {found.title}"] = of_run
        units |= {metric.name: metric.unit for metric in _metrics(found) if metric.name in found.report.metrics()}
    return json.dumps({"units": units, "runs": runs, "refused": list(refused)}, indent=1)


def draw(judged: Sequence[Judged], folder: Path) -> None:
    """Write ``pairs.svg``, heat map and histogram, into ``folder``; of several runs into a folder each."""
    for number, found in enumerate(judged, 1):
        own = folder
        if len(judged) > 1:
            own /= f"{number}-{found.run.table.format}" if found.run else Path(found.label).stem
        own.mkdir(parents=True, exist_ok=True)
        if isinstance(found.report, evaluation.Report):
            picture = pair_bandwidths(found.title, found.report.matrix, found.report.link_MBps)
        else:
            hosts = list(found.report.output.hosts)
            drawn = drawing.heat_map(found.report.latency_us, hosts, hosts)
            picture = drawing.document(found.title, [("latency of every pair, us", drawn)], {})
        drawing.save(own / "pairs.svg", picture)


def _metrics(found: Judged) -> tuple[Metric, ...]:
    return (*METRICS, *OF_SWITCHES) if isinstance(found.report, evaluation.Report) else OF_LATENCY
