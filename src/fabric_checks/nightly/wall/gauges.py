# SPDX-License-Identifier: BSD-3-Clause
"""Write the gauges of a night or a vet for the textfile collector of node_exporter.

That collector refuses times, and may look at any moment. So all metrics are gauges without times, and a file
is renamed once it is whole, from a name without its ending. Units are base units: seconds, bytes, ratios.
Names follow https://prometheus.io/docs/practices/naming/.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path

import yaml
from prometheus_client import CollectorRegistry, Gauge, generate_latest

from fabric_checks.core import files
from fabric_checks.core.text import clean
from fabric_checks.core.verdict import Verdict
from fabric_checks.nightly.journal import Open, State
from fabric_checks.nightly.model import Night
from fabric_checks.nightly.summary import Summary
from fabric_checks.nightly.vetting.group_tests import Verdicts, Word
from fabric_checks.records.record import Record, is_success
from fabric_checks.records.sessions import started
from fabric_checks.report.headlines import Values

_DATA = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text())
#: The base unit of each unit of the collection as names have it, and the factor to it.
BASE_UNITS: dict[str, tuple[str, float]] = _DATA["base_units"]
#: What each gauge is, by its name without prefix; those of values have their unit behind it.
HELP: dict[str, str] = _DATA["help"]


class Gauges:
    """The gauges of a file; :param labels: of all of them."""

    def __init__(self, **labels: str) -> None:
        self.registry = CollectorRegistry()
        self.labels = labels
        self.known: dict[str, Gauge] = {}

    def set(self, name: str, value: float, unit: str = "", **labels: str) -> None:
        """Set the value of a gauge for some labels."""
        full, labels = f"{name}_{unit}" if unit else name, self.labels | labels
        if full not in self.known:
            of = self.registry
            self.known[full] = Gauge(
                f"fabric_checks_{full}", HELP[name], list(labels), registry=of
            )
        self.known[full].labels(
            **{key: clean(text) for key, text in labels.items()}
        ).set(value)

    def write(self, folder: Path, of: str) -> None:
        """Write them as a file of a folder; :param of: ``night`` or ``vet``.

        :raises OSError: if it cannot be written; then the old file is unchanged.
        """
        path = folder / f"fabric_checks_{of}_{self.labels['system']}.prom"
        with files.replacing(path, ending="") as new:
            new.write_bytes(generate_latest(self.registry))


def of_night(summary: Summary, records: Sequence[Record]) -> Gauges:
    """Return the gauges of a night; :param records: of its session."""
    night = summary.night
    found = Gauges(system=night.system)
    found.set("night_timestamp_seconds", _epoch_s(night.session))
    found.set("night_blind", bool(night.blind))
    found.set(
        "night_info", 1, level=night.level, simulated=str(night.simulated).lower()
    )
    for verdict in Verdict:
        found.set("night_verdict", verdict is summary.verdict, verdict=verdict.value)
    for state in State:
        found.set("night_findings", len(summary.of(state)), state=state.value)
    for name, count in _nodes(night, records).items():
        found.set("night_nodes", count, verdict=name)
    for entry in summary.news:
        if entry.state is not State.CLOSED:
            _add_finding(found, entry)
    for row in Values(records).rows():
        for cell in row.cells.values():
            if cell.record is not None and cell.record["unit"] in BASE_UNITS:
                _add_value(
                    found,
                    cell.record,
                    section=row.section,
                    title=row.title,
                    program=row.program,
                )
    return found


def of_vet(partition: str, session: str, verdicts: Verdicts) -> Gauges:
    """Return the gauges of a vet; :param partition: ``SYSTEM:PARTITION``."""
    found = Gauges(
        **dict(zip(("system", "partition"), partition.split(":"), strict=True))
    )
    found.set("vet_timestamp_seconds", _epoch_s(session))
    found.set("vet_paths", len(verdicts.paths))
    for word in Word:
        found.set("vet_nodes", len(verdicts.of(word)), verdict=word.value)
    for node, word in verdicts.words.items():
        if word is not Word.GOOD:
            found.set("vet_node_verdict", 1, node=node, verdict=word.value)
    return found


def _epoch_s(session: str) -> float:
    return (started(session) or datetime.now(timezone.utc)).timestamp()


def _nodes(night: Night, records: Sequence[Record]) -> dict[str, int]:
    """Return how many nodes a night measured and did not blame, blamed, and could not use."""
    away = {node for record in records for node in record["node_faults"] or ()}
    blamed = {host for finding in night.findings for host in finding.hosts} - away
    measured = {
        node
        for record in records
        if record["metric"]
        for node in record["nodelist"] or ()
    }
    return {
        "not blamed": len(measured - blamed - away),
        "blamed": len(blamed),
        "not seen": len(away),
    }


def _add_finding(found: Gauges, entry: Open) -> None:
    """Add since when a finding is open, its largest loss, and its largest excess of latency."""
    labels = {
        "finding": entry.id,
        "kind": entry.finding.kind,
        "part": entry.finding.subject,
    }
    state = entry.state.value
    found.set(
        "finding_since_timestamp_seconds", _epoch_s(entry.since), state=state, **labels
    )
    if loss := entry.finding.largest("share"):
        found.set("finding_loss_ratio", loss, **labels)
    if excess_us := entry.finding.largest("us"):
        found.set("finding_excess_seconds", 1e-6 * excess_us, **labels)


def _add_value(found: Gauges, record: Record, **of: str) -> None:
    """Add a headline value, its reference, and whether it is within the bounds of that."""
    unit, factor = BASE_UNITS[record["unit"]]
    of |= {
        key: str(record[key]) for key in ("partition", "environ", "layout", "metric")
    }
    found.set("value", factor * record["value"], unit, **of)
    if record["reference"] is not None:
        found.set("reference", factor * record["reference"], unit, **of)
        found.set("value_within_reference", is_success(record["result"]), **of)
