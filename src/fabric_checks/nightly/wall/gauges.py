# SPDX-License-Identifier: BSD-3-Clause
"""Write the gauges of a night or a vet for the textfile collector of node_exporter.

That collector refuses times, and may look at any moment. So all metrics are gauges without times, and a file
is renamed once it is whole, from a name without its ending. Units are base units: seconds, bytes, ratios.
Names follow https://prometheus.io/docs/practices/naming/.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path

from prometheus_client import CollectorRegistry, Gauge, generate_latest

from fabric_checks.core import files
from fabric_checks.core.text import clean
from fabric_checks.core.verdict import Verdict
from fabric_checks.nightly.journal import Open, State
from fabric_checks.nightly.summary import Summary
from fabric_checks.nightly.vetting.group_tests import Verdicts, Word
from fabric_checks.records.record import Record, is_success
from fabric_checks.records.sessions import started
from fabric_checks.report.headlines import Values

#: The base unit of each unit of the collection as names have it, and the factor to it.
BASE_UNITS = {
    "us": ("seconds", 1e-6),
    "s": ("seconds", 1.0),
    "MB/s": ("bytes_per_second", 1e6),
    "Mmsg/s": ("messages_per_second", 1e6),
    "B": ("bytes", 1.0),
    "%": ("ratio", 0.01),
    "1": ("ratio", 1.0),
    "1/s": ("per_second", 1.0),
    "Matom-step/s": ("atom_steps_per_second", 1e6),
}
_Labels = dict[str, str]
_Rows = list[tuple[_Labels, float]]


def of_night(summary: Summary, records: Sequence[Record]) -> CollectorRegistry:
    """Return the gauges of a night; :param records: of its session."""
    night, into = summary.night, CollectorRegistry()
    system = {"system": night.system}
    counts = Counter(each.state for each in summary.news)
    states = {state.value: counts[state] for state in State}
    verdicts = {each.value: each is summary.verdict for each in Verdict}
    info = {**system, "level": night.level, "simulated": str(night.simulated).lower()}
    began: _Rows = [(system, _epoch_s(night.session))]
    _add(into, "night_timestamp", "Start of the last night that was judged.", began, "seconds")
    _add(into, "night_verdict", "1 for the verdict on it, else 0.", _by(system, "verdict", verdicts))
    _add(into, "night_blind", "Whether it would not have named a slow node.", [(system, bool(night.blind))])
    _add(into, "night_info", "Its level, and whether its values are of a simulation.", [(info, 1)])
    _add(into, "night_findings", "Findings by state after it.", _by(system, "state", states))
    nodes = _by(system, "verdict", _nodes(summary, records))
    _add(into, "night_nodes", "Nodes that were measured, or out of service.", nodes)
    _add_findings(into, system, [each for each in summary.news if each.state is not State.CLOSED])
    _add_values(into, records)
    return into


def of_vet(partition: str, session: str, verdicts: Verdicts) -> CollectorRegistry:
    """Return the gauges of a vet; :param partition: ``SYSTEM:PARTITION``."""
    into = CollectorRegistry()
    where = dict(zip(("system", "partition"), partition.split(":"), strict=True))
    counts = {word.value: len(verdicts.of(word)) for word in Word}
    bad: _Rows = [
        ({**where, "node": node, "verdict": word.value}, 1)
        for word in Word
        if word is not Word.GOOD
        for node in verdicts.of(word)
    ]
    _add(into, "vet_timestamp", "Start of the last vet.", [(where, _epoch_s(session))], "seconds")
    _add(into, "vet_nodes", "Nodes by verdict of the last vet.", _by(where, "verdict", counts))
    _add(into, "vet_paths", "Paths that are slow or faulty.", [(where, len(verdicts.paths))])
    _add(into, "vet_node_verdict", "1 for each node that is not good.", bad)
    return into


def write(folder: Path, of: str, system: str, gauges: CollectorRegistry) -> None:
    """Write gauges as a file of a folder.

    :param of: ``night`` or ``vet``; :param system: which has to be a name of a file.
    :raises OSError: if it cannot be written; then the old file is unchanged.
    """
    with files.replacing(folder / f"fabric_checks_{of}_{system}.prom", ending="") as new:
        new.write_bytes(generate_latest(gauges))


def _add(into: CollectorRegistry, name: str, meaning: str, rows: _Rows, unit: str = "") -> None:
    """Add a gauge with a series for each row of labels and a value; :param name: without prefix and unit."""
    if rows:
        gauge = Gauge(f"fabric_checks_{name}", meaning, list(rows[0][0]), unit=unit, registry=into)
        for labels, value in rows:
            gauge.labels(**{key: clean(label) for key, label in labels.items()}).set(value)


def _by(labels: _Labels, name: str, counts: Mapping[str, int]) -> _Rows:
    return [({**labels, name: value}, count) for value, count in counts.items()]


def _epoch_s(session: str) -> float:
    return (started(session) or datetime.now(timezone.utc)).timestamp()


def _nodes(summary: Summary, records: Sequence[Record]) -> dict[str, int]:
    """Return how many nodes a night measured and did not blame, blamed, and could not use."""
    away = {node for record in records for node in record["node_faults"] or ()}
    blamed = {host for finding in summary.night.findings for host in finding.hosts} - away
    measured = {
        node for record in records if record["metric"] is not None for node in record["nodelist"] or ()
    }
    return {"not blamed": len(measured - blamed - away), "blamed": len(blamed), "not seen": len(away)}


def _add_findings(into: CollectorRegistry, system: _Labels, found: Iterable[Open]) -> None:
    """Add since when each finding is open, its largest loss, and its largest excess of latency."""
    since, losses, excesses = _Rows(), _Rows(), _Rows()
    for entry in found:
        finding = entry.finding
        labels = {**system, "finding": entry.id, "kind": finding.kind, "part": finding.subject}
        since.append(({**labels, "state": entry.state.value}, _epoch_s(entry.since)))
        losses.append((labels, finding.largest("share")))
        excesses.append((labels, 1e-6 * finding.largest("us")))
    meaning = "Start of the night that saw an open finding first."
    _add(into, "finding_since_timestamp", meaning, since, "seconds")
    meaning = "The share that is lost by the largest part of a finding."
    _add(into, "finding_loss", meaning, [row for row in losses if row[1]], "ratio")
    meaning = "The latency above that of others by the largest part."
    _add(into, "finding_excess", meaning, [row for row in excesses if row[1]], "seconds")


def _add_values(into: CollectorRegistry, records: Sequence[Record]) -> None:
    """Add the headline values, their references, and whether each is within the bounds of its reference."""
    values, references, within = defaultdict[str, _Rows](list), defaultdict[str, _Rows](list), _Rows()
    for row in Values(records).rows():
        for record in (cell.record for cell in row.cells.values()):
            if record["unit"] not in BASE_UNITS:
                continue
            unit, factor = BASE_UNITS[record["unit"]]
            labels = {key: str(record[key]) for key in ("system", "partition", "environ", "layout", "metric")}
            labels |= {"section": row.section, "title": row.title, "program": row.program}
            values[unit].append((labels, factor * record["value"]))
            if record["reference"] is not None:
                references[unit].append((labels, factor * record["reference"]))
                within.append((labels, is_success(record["result"])))
    for unit, rows in values.items():
        _add(into, "value", "A headline value of the last night.", rows, unit)
    for unit, rows in references.items():
        _add(into, "reference", "The reference of a headline value.", rows, unit)
    meaning = "Whether a value is within the bounds of its reference."
    _add(into, "value_within_reference", meaning, within)
