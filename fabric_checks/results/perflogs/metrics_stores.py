# SPDX-License-Identifier: BSD-3-Clause
"""Stores of metrics: VictoriaMetrics, Prometheus, and the Pushgateway that a Prometheus collects from.

APIs: https://docs.victoriametrics.com/#how-to-import-data-in-prometheus-exposition-format,
https://prometheus.io/docs/guides/opentelemetry/ (OTLP in JSON), https://github.com/prometheus/pushgateway#api.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from fabric_checks import __version__
from fabric_checks.results.perflogs.connection import Connection
from fabric_checks.results.perflogs.moments import moment
from fabric_checks.results.perflogs.samples import CASE_LABELS, HELP, Sample, samples

Records = Sequence[Mapping[str, Any]]


def exposition(found: Sequence[Sample], with_time: bool) -> str:
    """Return samples in the text format of Prometheus, a group of lines for each name.

    https://prometheus.io/docs/instrumenting/exposition_formats/

    :param with_time: whether each has its time, in milliseconds since the epoch.
    """
    lines = []
    for name, group in groupby(sorted(found, key=lambda sample: sample.name), key=lambda sample: sample.name):
        lines += [f"# HELP {name} {HELP[name]}", f"# TYPE {name} gauge"]
        for sample in group:
            labels = ",".join(f'{key}="{_escaped(value)}"' for key, value in sample.labels.items())
            when = f" {round(sample.time.timestamp() * 1000)}" if with_time else ""
            lines.append(f"{name}{{{labels}}} {float(sample.value)!r}{when}")
    return "".join(line + "\n" for line in lines)


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


@dataclass
class VictoriaMetrics:
    """VictoriaMetrics, one node or a cluster's vminsert: all samples with the times at which they were measured."""

    connection: Connection
    path: str = "/api/v1/import/prometheus"
    name: str = "victoriametrics"

    def send(self, records: Records) -> None:
        """Send records.

        :raises TryLater: if the store is down or busy; sending them again is safe.
        :raises Refused: if it does not take them.
        """
        body = exposition(list(samples(records)), with_time=True).encode()
        self.connection.request("POST", self.path, body, "text/plain; version=0.0.4")


@dataclass
class Prometheus:
    """Prometheus 2.47 or later with its OTLP receiver, or another receiver of OTLP in JSON, as a collector.

    :param path: behind the URL; a collector has ``/v1/metrics``.
    """

    connection: Connection
    path: str = "/api/v1/otlp/v1/metrics"
    name: str = "prometheus"

    def send(self, records: Records) -> None:
        """Send records.

        :raises TryLater: if the store is down or busy; sending them again is safe.
        :raises Refused: if it does not take them.
        """
        self.connection.request(
            "POST", self.path, json.dumps(otlp(list(samples(records)))).encode(), "application/json"
        )


def otlp(found: Sequence[Sample]) -> dict[str, Any]:
    """Return samples as a request to export metrics of OTLP 1, in its JSON form.

    https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding
    """
    metrics = [
        {
            "name": name,
            "description": HELP[name],
            "gauge": {
                "dataPoints": [
                    {
                        "attributes": _attributes(sample.labels),
                        # Without floats: they have too few digits for nanoseconds.
                        "timeUnixNano": str(round(sample.time.timestamp() * 1000) * 10**6),
                        "asDouble": float(sample.value),
                    }
                    for sample in group
                ]
            },
        }
        for name, group in groupby(sorted(found, key=lambda sample: sample.name), key=lambda sample: sample.name)
    ]
    scope = {"name": "fabric-checks", "version": __version__}
    resource = {"attributes": _attributes({"service.name": "fabric-checks"})}
    return {"resourceMetrics": [{"resource": resource, "scopeMetrics": [{"scope": scope, "metrics": metrics}]}]}


def _attributes(labels: Mapping[str, str]) -> list[dict[str, Any]]:
    return [{"key": key, "value": {"stringValue": value}} for key, value in labels.items()]


@dataclass
class Pushgateway:
    """A Pushgateway, which keeps the latest run of each case for Prometheus to collect; it takes no times."""

    connection: Connection
    name: str = "pushgateway"

    def send(self, records: Records) -> None:
        """Send records, a request for each case: it replaces what the case's last run has left.

        :raises TryLater: if the store is down or busy; sending them again is safe.
        :raises Refused: if it does not take them.
        """
        for group, found in groupby(records, key=lambda record: [record[label] for label in CASE_LABELS]):
            # Base64: a name may have a slash. An empty value is a single padding character.
            labels = [("job", "fabric-checks"), *zip(CASE_LABELS, group, strict=True)]
            path = "".join(
                f"/{label}@base64/{base64.urlsafe_b64encode(str(value or '').encode()).decode() or '='}"
                for label, value in labels
            )
            records_of_case = list(found)
            latest = max(map(moment, records_of_case))
            run = [record for record in records_of_case if moment(record) == latest]
            body = exposition(list(samples(run)), with_time=False).encode()
            self.connection.request("PUT", f"/metrics{path}", body, "text/plain; version=0.0.4")
