# SPDX-License-Identifier: BSD-3-Clause
"""Turn the records of a case into its line in a perflog; :mod:`fabric_checks.records.lines` reads it.

Needs what ReFrame brings and no more: a site's own ReFrame writes records, in a Python without msgspec and
Polars.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import Any

from fabric_checks.records.folding import folded, folded_ranks
from fabric_checks.records.record import OF_CASE, OF_GROUP, OF_VALUE, Record

#: The result that a value without one has.
PASSED = "pass"


def line_of(records: Sequence[Record]) -> dict[str, Any]:
    """Return the line of a case.

    :param records: those of its values, or the one of a case that has none. A case without a name is named by
        a checksum of its line.
    """
    line = _present(records[0], OF_CASE)
    for name, fold in {"nodelist": folded, "placement": folded_ranks}.items():
        if name in line:
            line[name] = fold(line[name])
    groups: dict[str, dict[str, Any]] = {}
    for record in records:
        value = _present(record, OF_VALUE)
        if "reference" not in value and value.get("result") == PASSED:
            del value["result"]
        if "metric" in value or "value" in value:
            shared = _present(record, OF_GROUP)
            groups.setdefault(json.dumps(shared), {**shared, "values": []})[
                "values"
            ].append(value)
    if groups:
        line["metrics"] = list(groups.values())
    if "case" not in line:
        text = json.dumps(line, sort_keys=True).encode()
        line["case"] = hashlib.blake2s(text, digest_size=6).hexdigest()
    return line


def _present(record: Record, names: Iterable[str]) -> dict[str, Any]:
    return {name: record[name] for name in names if record.get(name) is not None}
