# SPDX-License-Identifier: BSD-3-Clause
"""Recompute every value and fact of the records from the outputs, with the checks, and compare."""

from __future__ import annotations

import json
import math
import re
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from fabric_checks.core import module_run
from fabric_checks.records import sessions
from fabric_checks.records.record import FIELDS, OF_GROUP, OF_VALUE, Record
from fabric_offers.bundle_file import Data, Fault
from fabric_offers.runs import OUTPUT, Run

#: What no check of a bundle can prove, with the fields of records and the files of cases that it is about:
#: whoever changes one of them is not found out. All others follow from something.
UNPROVED: dict[str, list[str]] = yaml.safe_load(
    Path(__file__).with_name("unproved.yaml").read_text()
)
#: Fields by which a run and its value are found, and those that are compared in another way.
_ELSEWHERE = ("session", "output", "metric", "collection", "case_result")
#: The fields of a record that follow from the files of its run, the system's description and its references.
FOLLOWING = tuple(
    name
    for name in FIELDS
    if name not in _ELSEWHERE and all(name not in names for names in UNPROVED.values())
)
#: Those of them that change from release to release, so that only the same collection can be asked for them.
OF_RELEASE = ("about", "family", "findings", "limits", "headline")
_OF_METRIC = (*OF_GROUP, *OF_VALUE)
#: Other releases of NumPy, and other processors, may round the last digits otherwise.
_SAME = 1e-9
#: The longest that the recomputation may take for a run.
_LONGEST_S = 120

#: Recomputes runs, given the arguments of :func:`fabric_offers.recomputation_run.recompute` and the commit
#: asked for; of the result ``at`` is that commit, or None if this clone is not at it or was changed.
Recompute = Callable[[Data, str], Data]


def job(
    system: Any, folder: Path, level: str, runs: Sequence[Run], scratch: Path
) -> dict[str, Any]:
    """Return the runs to recompute, as arguments of :func:`fabric_offers.recomputation_run.recompute`."""
    return {
        "system": system,
        "folder": str(scratch),
        "topology": str(folder / "topology"),
        "level": level,
        "runs": [
            {
                **dict(zip(("test", "partition", "environ"), run.case, strict=True)),
                "files": str(folder / run.folder),
                "group": run.group,
            }
            for run in runs
        ],
    }


def recompute(asked: Data, commit: str) -> Data:
    """Recompute with the collection of this clone.

    :raises FabricError: if nothing can be recomputed.
    """
    with tempfile.NamedTemporaryFile("w", suffix=".json") as source:
        source.write(json.dumps(asked))
        source.flush()
        found = module_run.written_by(
            "fabric_offers.recomputation_run",
            source.name,
            failed="the values cannot be recomputed",
            timeout_s=_LONGEST_S * (len(asked["runs"]) + 5),
            FABRIC_RESULTS=str(asked["folder"]),
            FABRIC_STACK="",
            RFM_REFERENCE_PREFIX=references_of(asked),
        )
    is_it = sessions.collection_version().endswith(f"+g{commit[:12]}")
    return {**found, "at": commit if is_it else None}


def references_of(asked: Data) -> str:
    """Return the folder of the reference files in a bundle."""
    return str(Path(asked["topology"]).with_name("site") / "references")


def differences(
    folder: Path, run: Run, found: Data, fields: Collection[str]
) -> Iterator[Fault]:
    """Yield the values and facts of a run that differ from those recomputed, and its files that are not
    there.

    :param found: the recomputed run; :param fields: of its records, which are compared.
    """
    if "error" in found:
        has_output = (folder / run.folder / OUTPUT).is_file()
        lost = "" if has_output else f"its output {run.folder}/{OUTPUT} is not there; "
        yield Fault(
            "record", run.name, f"it cannot be recomputed: {lost}{found['error']}"
        )
        return
    for text in (*_disagreements(run, found["records"], fields), *_outcome(run, found)):
        yield Fault("record", run.name, text)
    there = {path.name for path in (folder / run.folder).iterdir() if path.is_file()}
    for name in sorted(set(found["files"]) - there):
        yield Fault(
            "removed", run.folder, f"{name} is not there, which its job script writes"
        )
    if run.folder.startswith("output/"):
        for name in sorted(there - set(found["files"])):
            yield Fault(
                "added",
                run.folder,
                f"{name[:60]} is there, which its job script does not write",
            )


def _disagreements(
    run: Run, others: Sequence[Record], fields: Collection[str]
) -> Iterator[str]:
    """Yield how the records of a run differ in some fields from those recomputed, each text once."""
    by_metric = {record["metric"]: record for record in others}
    texts: dict[str, None] = {}
    for record in run.records:
        other = by_metric.pop(record["metric"], None)
        if other is None:
            texts[
                f"{record['metric'] or 'its failure'} is in the record, but does not follow from its files"
            ] = None
            continue
        for field in fields:
            one = _comparable(field, record[field])
            two = _comparable(field, other[field])
            if not same(one, two):
                which = f"{record['metric']}: {field}" if field in _OF_METRIC else field
                texts[
                    f"{which} is {_short(one)} in the record, but {_short(two)} by its files"
                ] = None
    yield from texts
    for metric in by_metric:
        yield f"{metric} is not among its records, but was measured by its files"


def _outcome(run: Run, found: Data) -> Iterator[str]:
    # A case may also fail where nothing can be recomputed; that is counted elsewhere.
    outcome, expected = run.first["case_result"], found["records"][0]["case_result"]
    if outcome not in ("fail", expected):
        yield f"case_result is {_short(outcome)} in the record, but {_short(expected)} by its values"


def _comparable(field: str, value: Any) -> Any:
    """Return a value without what depends on when and where it is computed: folders, and the age of a
    topology."""
    if field == "findings" and isinstance(value or [], list):
        return [
            each
            for each in value or ()
            if not isinstance(each, Mapping) or each.get("kind") != "topology"
        ]
    return re.sub(r"(?<=\s)/\S*/", "", value) if isinstance(value, str) else value


def same(one: Any, two: Any) -> bool:
    """Return whether two values of JSON are equal, except for the last digits of numbers."""
    if _is_number(one) and _is_number(two):
        return math.isclose(one, two, rel_tol=_SAME, abs_tol=0)
    if type(one) is not type(two):
        return False
    if isinstance(one, Mapping):
        return one.keys() == two.keys() and all(same(one[key], two[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(two) and all(map(same, one, two))
    return bool(one == two)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 80 else text[:77] + "..."
