# SPDX-License-Identifier: BSD-3-Clause
"""Bounds that history shows to judge nothing: no value ever met them, or all did by far."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from fabric_checks.core.errors import ReferenceError
from fabric_checks.core.text import value_text
from fabric_checks.records.record import SERIES, limit
from fabric_checks.records.series import records_by_series
from fabric_checks.references import lookup
from fabric_checks.references.audit import line_numbers
from fabric_checks.references.reference_file import ReferenceFile

#: A bound that all values meet by more than this factor judges nothing.
EASY = 5.0
#: The fields of records that this needs.
COLUMNS = (*SERIES, "parameters", "tasks", "ppn", "time", "value", "better")


def of_history(file: ReferenceFile, frame: pl.DataFrame, min_runs: int = 5) -> list[str]:
    """Return bounds that no value of the history met, or that all met by more than :data:`EASY` times.

    :param frame: records with :data:`COLUMNS`, of the systems that the file is for.
    """
    lines = line_numbers(file.path)
    faults = []
    for _, records in records_by_series(frame):
        record = records[-1]
        if len(records) < min_runs or record["check"] not in file.entries:
            continue
        try:
            slot = lookup.slot(file.entries, record)
        except ReferenceError:
            continue  # an orphan, which `of_file` names
        reference = slot.reference
        if reference is None or reference[0] == "$xfail" or reference[3] != record["unit"]:
            continue
        why = _unreachable(reference, [each["value"] for each in records], record["better"], record["unit"])
        if why:
            where = ": ".join(map(str, (slot.check, *slot.keys, slot.metric)))
            line = lines.get((slot.check, *slot.keys, slot.metric), 0)
            faults.append(f"{file.path}:{line}: {where}: {why}; `fabric-checks references propose` suggests one")
    return faults


def _unreachable(reference: Sequence[Any], values: Sequence[float], better: str, unit: str) -> str:
    value, lower, upper, _ = reference
    bound = limit(value, upper if better == "smaller" else lower)
    if bound is None:
        return ""
    best, worst = (min(values), max(values)) if better == "smaller" else (max(values), min(values))
    text = f"{'at most' if better == 'smaller' else 'at least'} {value_text(bound)} {unit}"
    if (best > bound) if better == "smaller" else (best < bound):
        return f"unreachable: {text}, but the best of {len(values)} values is {value_text(best)}"
    easy = worst * EASY < bound if better == "smaller" else worst > bound * EASY
    if easy and bound > 0 and worst > 0:
        return f"judges nothing: {text}, and the worst of {len(values)} values is {value_text(worst)}"
    return ""
