# SPDX-License-Identifier: BSD-3-Clause
"""OpenSearch and Elasticsearch: a document a record, through their bulk API.

API: https://opensearch.org/docs/latest/api-reference/document-apis/bulk/. A document is the record itself and what
:func:`document` adds. Its name is made from the record, so what is sent twice is there once. Indices are by month,
``fabric-checks-2026.11``, so that old ones can be deleted whole.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fabric_checks.errors import quoted
from fabric_checks.paths import ROOT
from fabric_checks.results.perflogs.connection import Connection, Refused, TryLater
from fabric_checks.results.perflogs.moments import moment
from fabric_checks.results.record import bounds

#: The index template: the type of each field. Without it the store would guess them from the first value.
TEMPLATE = ROOT / "perflogs-templates" / "opensearch" / "index-template.json"


def document(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record with what dashboards need and the record has in another form: its time and its bounds."""
    lower, upper = bounds(record)
    return {**record, "@timestamp": moment(record).isoformat(), "lower_bound": lower, "upper_bound": upper}


def document_id(record: Mapping[str, Any]) -> str:
    """Return a name that only this record has."""
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()[:40]


@dataclass
class OpenSearch:
    """A node of OpenSearch (1.0 or later) or Elasticsearch (7.8 or later).

    :param index: what the names of the indices begin with, and the name of their template.
    """

    connection: Connection
    index: str = "fabric-checks"
    template: Path = TEMPLATE
    name: str = "opensearch"
    _prepared: bool = field(default=False, init=False)

    def send(self, records: Sequence[Mapping[str, Any]]) -> None:
        """Send records.

        :raises TryLater: if the store is down or busy; some of the records may be there, sending them again is safe.
        :raises Refused: with the number of records that it refuses, and its reason for the first of them.
        """
        self._prepare()
        lines = []
        for record in records:
            index = f"{self.index}-{moment(record):%Y.%m}"
            lines.append(json.dumps({"index": {"_index": index, "_id": document_id(record)}}))
            lines.append(json.dumps(document(record), allow_nan=False))
        body = "".join(line + "\n" for line in lines).encode()
        answer = self.connection.request("POST", "/_bulk", body, "application/x-ndjson")
        self._judge(answer, len(records))

    def _prepare(self) -> None:
        """Put the index template if there is none."""
        if self._prepared:
            return
        path = f"/_index_template/{self.index}"
        try:
            self.connection.request("HEAD", path)
        except Refused as error:
            if error.status == 404:
                body = json.loads(self.template.read_text())
                body["index_patterns"] = [f"{self.index}-*"]
                try:
                    self.connection.request("PUT", path, json.dumps(body).encode(), "application/json")
                except Refused as refused:
                    raise Refused(
                        f"it has no index template {self.index} and does not take it ({refused}); "
                        "have an administrator put perflogs-templates/opensearch/index-template.json"
                    ) from None
            elif error.status != 403:
                raise
            # A user who may not ask for templates may still be allowed to write.
        self._prepared = True

    def _judge(self, answer: bytes, count: int) -> None:
        """Find what the store did with each record: its answer is 200 also where it refused some."""
        try:
            items = [next(iter(item.values())) for item in json.loads(answer)["items"]]
            statuses = [int(item["status"]) for item in items]
        except (ValueError, KeyError, TypeError, AttributeError, StopIteration):
            text = answer[:80].decode(errors="replace")
            raise Refused(f"it answers {quoted(text)}, which no OpenSearch does") from None
        if len(items) != count:
            raise Refused(f"it answers for {len(items)} of {count} records")
        failed = [(status, item) for status, item in zip(statuses, items, strict=True) if status >= 300]
        if not failed:
            return
        status, item = failed[0]
        why = quoted(json.dumps(item.get("error")), 200)
        if any(status == 429 or status >= 500 for status, _ in failed):
            raise TryLater(f"it answers {status} for a record: {why}")
        raise Refused(f"it answers {status} for a record: {why}", len(failed))
