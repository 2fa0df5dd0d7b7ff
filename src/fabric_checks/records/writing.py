# SPDX-License-Identifier: BSD-3-Clause
"""Turn records into the lines of a perflog; :mod:`fabric_checks.records.lines` describes and reads them.

Needs what ReFrame brings and no more: a site's own ReFrame writes records, in a Python without msgspec and
Polars.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from fabric_checks.core.metrics import point
from fabric_checks.records.folding import folded, folded_ranks
from fabric_checks.records.record import OF_CASE, OF_METRIC, Record

#: What a line of a value repeats of its case.
_REPEATED = ("time", "environ", "test")
_JUDGED = ("reference", "lower", "upper")
#: The fields of metrics that a group of them shares.
SHARED = tuple(name for name in OF_METRIC if name not in ("quantity", "size_B"))
PASSED = "pass"


def lines_of(records: Iterable[Record]) -> Iterator[dict[str, Any]]:
    """Yield the lines of records: that of a case first, then those of its values.

    :param records: with ``case``, or without, to be named by their contents.
    """
    cases: dict[str, list[Record]] = {}
    for record in records:
        cases.setdefault(record.get("case") or case_of(record), []).append(record)
    for case, of in cases.items():
        first = {**of[0], "case": case}
        facts = {name: first[name] for name in OF_CASE if first.get(name) is not None}
        folding = {"nodelist": folded, "placement": folded_ranks}
        facts |= {name: fold(facts[name]) for name, fold in folding.items() if name in facts}
        measured = [
            record for record in of if record.get("metric") is not None or record.get("value") is not None
        ]
        metrics = {"metrics": groups} if (groups := _groups(measured)) else {}
        yield {**facts, **metrics}
        for record in measured:
            yield _line_of_value(case, record)


def case_of(record: Record) -> str:
    """Return the name of the case of a record: a checksum of what its values share."""
    facts = {name: record[name] for name in OF_CASE if name != "case" and record.get(name) is not None}
    return hashlib.blake2s(json.dumps(facts, sort_keys=True).encode(), digest_size=6).hexdigest()


def _line_of_value(case: str, record: Record) -> dict[str, Any]:
    line = {"case": case} | {
        name: record.get(name) for name in (*_REPEATED, "metric", "value", "unit", *_JUDGED)
    }
    if isinstance(line["time"], str):
        line["time"] = line["time"].replace("+00:00", "Z")
    if record.get("result") != PASSED or record.get("reference") is not None:
        line["result"] = record.get("result")
    return {name: value for name, value in line.items() if value is not None}


def _groups(records: Sequence[Record]) -> list[dict[str, Any]]:
    """Return the groups of metrics that agree in what is declared of them; see :class:`_Group`."""
    groups: dict[str, dict[str, Any]] = {}
    for record in records:
        shared = {name: record[name] for name in SHARED if record.get(name) is not None}
        group = groups.setdefault(json.dumps(shared), shared)
        metric, quantity, size_B = (record.get(name) for name in ("metric", "quantity", "size_B"))
        if quantity == metric and size_B is None:
            group.setdefault("metrics", []).append(metric)
        elif isinstance(quantity, str) and isinstance(size_B, int) and metric == point(quantity, size_B):
            group.setdefault("curves", {}).setdefault(quantity, []).append(size_B)
        else:
            group.setdefault("others", {})[str(metric)] = [quantity, size_B]
    return list(groups.values())
