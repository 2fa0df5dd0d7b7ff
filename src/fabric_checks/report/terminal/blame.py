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

    :param label: its files; :param report: what was found; :param run: the joined tables of another program.
    """

    label: str
    report: evaluation.Report | latency.Report
    run: joining.Run | None = None

    @property
    def title(self) -> str:
        """The program, and how much it measured."""
        output = self.report.output
        name, ends = "latencies", count_text(len(output.hosts), "node")
        count = len(output.starter) if not isinstance(output, RotateOutput) else len(output.scan)
        if isinstance(output, RotateOutput):
            name = output.pattern
        if self.run and any(end.device for end in self.run.ends):
            hosts = count_text(len({end.host for end in self.run.ends}), "node")
            ends = f"{len(output.hosts)} GPUs or adapters of {hosts}"
        return f"{name}, {ends}, {count_text(count, 'pair')}"

    @property
    def again(self) -> list[again.Pair]:
        """The pairs to measure again."""
        return again.pairs(self.run, self.report) if self.run else []

    @property
    def notes(self) -> list[dict[str, object]]:
        """What was found, as plain data, each with a ``text``."""
        found = self.report.notes()
        if self.run and isinstance(self.report, latency.Report):
            found += [{"kind": "not measured", "text": f"not measured: {line}"} for line in self.run.cannot_tell]
        return found


def load(
    paths: Sequence[Path], link_MBps: float | None, known: FabricMap | None = None, *, alone: bool = False
) -> list[Judged]:
    """Read and judge saved outputs; those of our own programs each by itself, the tables of others joined.

    :param link_MBps: the rate of a link in MB/s, if it is known; :param known: the map of the fabric, likewise.
    :param alone: whether pairs were measured one after the other, where a format does not say so.
    :raises OutputError: for a file that is not the whole output of a known program; the file is named.
    """
    judged: list[Judged] = []
    tables: list[tuple[str, PairTable]] = []
    for path in paths:
        try:
            found = formats.parse(files.read_text(path))
            if isinstance(found, list):
                tables += [
                    (str(path), replace(table, alone=True) if alone and table.alone is None else table)
                    for table in found
                ]
            elif isinstance(found, RotateOutput):
                judged.append(Judged(str(path), evaluation.of_run(found, link_MBps, known)))
            else:
                judged.append(Judged(str(path), latency.of_run(found, known)))
        except OutputError as error:
            raise OutputError(f"{path}: {error}") from None
    for run in joining.join(tables):
        report: evaluation.Report | latency.Report
        if isinstance(run.output, RotateOutput):
            own = evaluation.of_run(run.output, link_MBps, known, run.cannot_tell)
            report = replace(own, findings=(*own.findings, *run.findings))
        else:
            report = latency.of_run(run.output, known)
        judged.append(Judged(", ".join(run.files), report, run))
    return judged


def as_lines(judged: Sequence[Judged], file: str) -> list[str]:
    """Return values and findings of the runs, line by line.

    :param file: the name of the file with what to measure again.
    """
    lines = []
    for found in judged:
        lines.append(f"{found.label}: {found.title}")
        values = found.report.metrics()
        lines += [
            f"  {metric.name:30} {value_text(values[metric.name]):>10} {_unit(metric)}".rstrip()
            for metric in _metrics(found)
            if metric.name in values
        ]
        for note in found.notes:
            more = note.get("details", ())
            lines += [f"  {one_line(str(note['text']))}"]
            lines += [f"    {one_line(line)}" for line in (more if isinstance(more, (list, tuple)) else ())]
        if not found.report.findings:
            lines.append("  nothing stands out in what was measured")
        pairs = found.again
        if pairs:
            names = names_text([f"{one} to {other}" for one, other in pairs], _MOST)
            lines.append(f"  measure next, twice at least and one pair after the other: {one_line(names)}")
            commands = formats.again(_program(found), pairs, file)[1]
            lines += [f"    {one_line(line)}" for line in commands[:_MOST]]
    return lines


def next_text(judged: Sequence[Judged], file: str) -> str:
    """Return what to measure again, for the program that measured it first; empty if nothing.

    :param file: the name of the file that the text is for.
    :raises OutputError: if several programs did.
    """
    programs = list(dict.fromkeys(_program(found) for found in judged if found.again))
    if len(programs) > 1:
        raise OutputError(f"what {' and '.join(programs)} should measure again is not one file: give those of one")
    pairs = dict.fromkeys(pair for found in judged for pair in found.again)
    return formats.again(programs[0], list(pairs), file)[0] if pairs else ""


def as_json(judged: Sequence[Judged]) -> str:
    """Return the same as JSON."""
    runs = {}
    for found in judged:
        label = found.label if found.label not in runs else f"{found.label}: {found.title}"
        again_ = {"measure_next": [[list(end) for end in pair] for pair in found.again]} if found.run else {}
        runs[label] = {"metrics": found.report.metrics(), "notes": found.notes, **again_}
    named = {name for found in judged for name in found.report.metrics()}
    units = {metric.name: metric.unit for found in judged for metric in _metrics(found) if metric.name in named}
    return json.dumps({"units": units, "runs": runs}, indent=1)


def draw(judged: Sequence[Judged], folder: Path) -> None:
    """Write ``pairs.svg``, heat map and histogram, into ``folder``; of several runs into a folder each."""
    for number, found in enumerate(judged, 1):
        own = folder
        if len(judged) > 1:
            own = folder / Path(found.label).stem if found.run is None else folder / f"{number}-{_program(found)}"
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


def _program(found: Judged) -> str:
    return found.run.program if found.run else ""


def _unit(metric: Metric) -> str:
    return "" if metric.unit == "1" else metric.unit
