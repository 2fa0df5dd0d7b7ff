# SPDX-License-Identifier: BSD-3-Clause
"""Write the gauges of a night or a vet as OpenMetrics text, for the textfile collector of node_exporter.

That collector reads Prometheus' older text format, refuses times, and may look at any moment. So all metrics
are gauges without times, which both formats write alike, and a file is renamed once it is whole, from a name
without its ending. Units are base units: seconds, bytes, ratios. Names follow
https://prometheus.io/docs/practices/naming/.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from types import SimpleNamespace

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.openmetrics import exposition

from fabric_checks.core import files
from fabric_checks.core.text import clean, shortened
from fabric_checks.core.verdict import Verdict
from fabric_checks.nightly.journal import News, Open
from fabric_checks.nightly.model import Night
from fabric_checks.nightly.vetting.group_tests import Verdicts, Word
from fabric_checks.records.record import Record, is_success
from fabric_checks.records.sessions import started
from fabric_checks.report.headlines import Values

#: The most series of a file; those of single nodes come last and are left out first.
MOST_SERIES = 2000
#: The longest value of a label, in characters.
LONGEST = 120
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
_Labels = Mapping[str, str]
_Rows = list[tuple[_Labels, float]]


def of_night(night: Night, news: News, records: Sequence[Record]) -> list[GaugeMetricFamily]:
    """Return the gauges of a night; :param records: of its session."""
    system = {"system": night.system}
    lists = {
        "new": news.new,
        "open": news.still,
        "not looked at": news.unseen,
        "acknowledged": news.acknowledged,
    }
    numbers = {**{state: len(entries) for state, entries in lists.items()}, "closed": len(news.closed)}
    verdicts = {each.value: int(each is night.verdict) for each in Verdict}
    info = {**system, "level": night.level, "simulated": str(night.simulated).lower()}
    nodes, began_s = _nodes(night, records), _epoch_s(night.session)
    return [
        _gauge("night_timestamp", "Start of the last night that was judged.", [(system, began_s)], "seconds"),
        _gauge(
            "night_verdict", "1 for the verdict on the last night, else 0.", _by(system, "verdict", verdicts)
        ),
        _gauge("night_blind", "Whether it would not have named a slow node.", [(system, bool(night.blind))]),
        _gauge("night_info", "Its level, and whether its values are of a simulation.", [(info, 1)]),
        _gauge("night_findings", "Findings by state after it.", _by(system, "state", numbers)),
        _gauge("night_nodes", "Nodes that were measured, or out of service.", _by(system, "verdict", nodes)),
        *_of_findings(system, [(state, entry) for state, entries in lists.items() for entry in entries]),
        *_of_values(records),
    ]


def of_vet(partition: str, session: str, verdicts: Verdicts) -> list[GaugeMetricFamily]:
    """Return the gauges of a vet; :param partition: ``SYSTEM:PARTITION``."""
    where = dict(zip(("system", "partition"), partition.split(":"), strict=True))
    counts = {word.value: len(verdicts.of(word)) for word in Word}
    bad = [
        (node, word.value) for word in (Word.FAULTY, Word.SLOW, Word.NOT_SEEN) for node in verdicts.of(word)
    ]
    rows: _Rows = [({**where, "node": node, "verdict": word}, 1) for node, word in bad]
    return [
        _gauge("vet_timestamp", "Start of the last vet.", [(where, _epoch_s(session))], "seconds"),
        _gauge("vet_nodes", "Nodes by verdict of the last vet.", _by(where, "verdict", counts)),
        _gauge("vet_paths", "Paths that are slow or faulty.", [(where, len(verdicts.paths))]),
        _gauge("vet_node_verdict", "1 for each node that is not good.", rows),
    ]


def write(folder: Path, of: str, system: str, gauges: Iterable[GaugeMetricFamily]) -> list[str]:
    """Write gauges as a file of a folder; return a line on the series that were left out, if any.

    :param of: ``night`` or ``vet``; :param system: which has to be a name of a file.
    :raises OSError: if it cannot be written; then the old file is unchanged.
    """
    kept, left_out = _bounded(gauges)
    kept.append(_gauge(f"{of}_series_left_out", "Series without room.", [({"system": system}, left_out)]))
    text = exposition.generate_latest(SimpleNamespace(collect=lambda: kept))  # type: ignore[no-untyped-call]
    path = folder / f"fabric_checks_{of}_{system}.prom"
    with files.replacing(path, ending="") as new:
        new.write_bytes(text)
    why = f"it has room for {MOST_SERIES}, and names that differ only in what does not print are one"
    return [f"{path}: {left_out} series are left out: {why}"] if left_out else []


def _bounded(gauges: Iterable[GaugeMetricFamily]) -> tuple[list[GaugeMetricFamily], int]:
    """Return gauges with each series once and at most so many in all, and how many series are left out."""
    room, left_out, kept = MOST_SERIES - 1, 0, []
    for gauge in gauges:
        once = {tuple(sample.labels.items()): sample for sample in reversed(gauge.samples)}
        samples = list(reversed(once.values()))[:room]
        left_out += len(gauge.samples) - len(samples)
        room -= len(samples)
        gauge.samples = samples
        kept += [gauge] if samples else []
    return kept, left_out


def _gauge(name: str, meaning: str, rows: _Rows, unit: str = "") -> GaugeMetricFamily:
    """Return a gauge with a series for each row of labels and a value; :param name: without prefix and
    unit."""
    gauge = GaugeMetricFamily(f"fabric_checks_{name}", meaning, unit=unit)
    for labels, value in rows:
        # An empty label is none to Prometheus.
        cleaned = {key: shortened(clean(label), LONGEST) or "?" for key, label in labels.items()}
        gauge.add_sample(gauge.name, cleaned, float(value))
    return gauge


def _by(labels: _Labels, name: str, counts: Mapping[str, int]) -> _Rows:
    return [({**labels, name: value}, count) for value, count in counts.items()]


def _epoch_s(session: str) -> float:
    return (started(session) or datetime.now(timezone.utc)).timestamp()


def _nodes(night: Night, records: Sequence[Record]) -> dict[str, int]:
    """Return how many nodes a night measured and did not blame, blamed, and could not use."""
    away = {node for record in records for node in record["node_faults"] or ()}
    blamed = {host for finding in night.findings for host in finding.hosts} - away
    measured = {
        node for record in records if record["metric"] is not None for node in record["nodelist"] or ()
    }
    return {"not blamed": len(measured - blamed - away), "blamed": len(blamed), "not seen": len(away)}


def _of_findings(system: _Labels, found: Sequence[tuple[str, Open]]) -> list[GaugeMetricFamily]:
    """Return since when each finding is open, its largest loss, and its largest excess of latency."""
    since, losses, excesses = _Rows(), _Rows(), _Rows()
    for state, entry in found:
        finding = entry.finding
        labels = {**system, "finding": entry.id, "kind": finding.kind, "part": finding.subject}
        since.append((labels | {"state": state}, _epoch_s(entry.since)))
        loss, excess_us = finding.largest("share"), finding.largest("us")
        losses += [(labels, loss)] if loss else []
        excesses += [(labels, 1e-6 * excess_us)] if excess_us else []
    return [
        _gauge(
            "finding_since_timestamp", "Start of the night that saw an open finding first.", since, "seconds"
        ),
        _gauge("finding_loss", "The share that is lost by the largest part of a finding.", losses, "ratio"),
        _gauge(
            "finding_excess", "The latency above that of others by the largest part.", excesses, "seconds"
        ),
    ]


def _of_values(records: Sequence[Record]) -> list[GaugeMetricFamily]:
    """Return the headline values, their references, and whether each is within the bounds of its
    reference."""
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
    return [
        _gauge("value_within_reference", "Whether a value is within the bounds of its reference.", within),
        *(
            _gauge("value", "A headline value of the last night.", rows, unit)
            for unit, rows in values.items()
        ),
        *(
            _gauge("reference", "The reference of a headline value.", rows, unit)
            for unit, rows in references.items()
        ),
    ]
