# SPDX-License-Identifier: BSD-3-Clause
"""Reference files: a reference for each metric of a system, or the reason for none.

A file belongs to one system. Its top level has an entry for each check class, in the form of ReFrame's
``$ref`` (an ``$index`` and nested keys down to metrics, each with a list of value, lower share, upper share
and unit; or ``[$xfail, message, list]``), and three lists of ours, whose items select check, partition,
environment, layout and metric by optional regular expressions (:mod:`fabric_checks.references.items`):
``no_reference``, the reason for none; ``derived``, a share of the line rate, where there is no entry; and
``evidence``, where values of simulated systems come from.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

from fabric_checks.core import schema, yaml_file
from fabric_checks.core.errors import ReferenceError, quoted
from fabric_checks.core.metrics import Metric
from fabric_checks.references import line_rate, lookup
from fabric_checks.references.items import Evidence, Lists, Reason, Rule

NO_REFERENCE = "no_reference"
_LISTS = tuple(field.name for field in fields(Lists))

_FORM = "[value, lower share (null, or 0 or below), upper share (null, or 0 or above), unit]"


@dataclass(frozen=True)
class ReferenceFile:
    """A reference file after the checks that need no system.

    :param entries: the references, by check class.
    :param reasons: the items of ``no_reference``.
    """

    path: Path
    entries: Mapping[str, Mapping[Any, Any]]
    reasons: tuple[Reason, ...]
    evidence: tuple[Evidence, ...] = ()
    derived: tuple[Rule, ...] = ()

    def why_none(self, **case: str) -> str | None:
        """Return why a metric has no reference, or None if the file gives no reason.

        :param case: values for ``check``, ``partition``, ``environ``, ``layout`` and ``metric``.
        """
        return next(
            (reason.why for reason in self.reasons if reason.covers(**case)), None
        )

    def evidence_of(self, *, held: bool, **case: str) -> Evidence | None:
        """Return the origin of a value, or None if the file has none, as that of a machine.

        :param held: whether the metric has a reference; one that has none is ``simulated`` at most.
        """
        for evidence in self.evidence:
            if (held or evidence.evidence == "simulated") and evidence.covers(**case):
                return evidence
        return None


@lru_cache(maxsize=16)
def load(path: Path) -> ReferenceFile:
    """Read a reference file.

    :raises ReferenceError: if it is missing, not YAML, or not of the form described above.
    """
    try:
        content = yaml_file.load(path)
    except yaml_file.YamlError as error:
        remedy = "" if path.exists() else "; every system needs a reference file"
        raise ReferenceError(f"{error}{remedy}") from None
    if not isinstance(content, dict):
        raise ReferenceError(
            f"{path}: the top level must be a mapping of check classes and {NO_REFERENCE}"
        )
    own = {key: content.pop(key) for key in _LISTS if key in content}
    try:
        lists = schema.convert(own, Lists, path, lambda: yaml_file.lines(path))
    except schema.SchemaError as error:
        raise ReferenceError(str(error)) from None
    for name, entry in content.items():
        _require_entry(path, name, entry)
    return ReferenceFile(
        path,
        content,
        lists.no_reference or (),
        lists.evidence or (),
        lists.derived or (),
    )


def _require_entry(path: Path, name: Any, entry: Any) -> None:
    index = entry.get("$index") if isinstance(entry, dict) else None
    if not isinstance(index, list) or not index:
        raise ReferenceError(
            f"{path}: {name}: must be a mapping with an $index, such as [$partition, $environ, layout]"
        )
    _require_references(
        f"{path}: {name}",
        {key: each for key, each in entry.items() if key != "$index"},
        len(index),
    )


def _require_references(context: str, level: Any, depth: int) -> None:
    """Raise :class:`ReferenceError` unless there are ``depth`` levels of keys and well-formed references
    below them."""
    if not isinstance(level, dict):
        raise ReferenceError(
            f"{context}: {quoted(str(level))} where $index requires another level"
        )
    for key, value in level.items():
        if depth:
            _require_references(f"{context}: {key}", value, depth - 1)
        else:
            _require_reference(f"{context}: {key}", value)


def _require_reference(context: str, value: Any) -> None:
    if isinstance(value, list) and len(value) == 3 and value[0] == "$xfail":
        value = value[2]
    if not isinstance(value, list) or len(value) != 4 or not isinstance(value[3], str):
        raise ReferenceError(
            f"{context}: {quoted(str(value))} is not of the form {_FORM}"
        )
    reference, lower, upper, _ = value
    faults = {
        f"the value {quoted(str(reference))} is not a finite number other than 0": not (
            _is_number(reference) and reference
        ),
        f"the lower share {quoted(str(lower))} does not fit the form {_FORM}": not _is_share(
            lower, -1
        ),
        f"the upper share {quoted(str(upper))} does not fit the form {_FORM}": not _is_share(
            upper, 1
        ),
        f"has no bound; give it one, or a reason under {NO_REFERENCE}": lower is None
        and upper is None,
    }
    for text, holds in faults.items():
        if holds:
            raise ReferenceError(f"{context}: {text}")


def _is_share(value: Any, sign: int) -> bool:
    return value is None or (_is_number(value) and value * sign >= 0)


def _is_number(value: Any) -> bool:
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and abs(value) <= sys.float_info.max
    )


def require_known(
    file: ReferenceFile, checks: Iterable[str], known: Mapping[str, Collection[str]]
) -> None:
    """Raise :class:`ReferenceError` if the file has an entry for something that does not exist.

    :param checks: the names of all check classes.
    :param known: all values of the attributes that the system decides, such as ``$partition`` (full names),
        ``$environ`` and ``layout``.
    """
    names = set(checks)
    for name in file.entries:
        why = lookup.why_no_check(name, names)
        if why:
            raise ReferenceError(f"{file.path}: {why}")
        require_known_keys(file, name, known)


def require_known_keys(
    file: ReferenceFile, check: str, known: Mapping[str, Collection[str]]
) -> None:
    """Raise :class:`ReferenceError` if a check's entry has a key that is no value of its attribute.

    :param known: all values of some attributes of ``$index``; keys of other attributes are not looked at.
    """
    entry = file.entries[check]
    for keys in lookup.paths(check, entry):
        why = lookup.why_no_key(entry["$index"], keys, known)
        if why:
            raise ReferenceError(f"{file.path}: {why}")


def complete(
    file: ReferenceFile,
    found: Mapping[str, Any],
    metrics: Iterable[Metric],
    derived: Mapping[str, line_rate.FromLineRate] | None = None,
    **case: str,
) -> tuple[dict[str, Any], dict[str, str]]:
    """Match the references that were found for one case against its declared metrics.

    :param found: references by metric, as the file has them.
    :param metrics: all metrics that the case declares.
    :param derived: by metric, what the line rate gives; it counts where nothing was found.
    :param case: values for ``check``, ``partition``, ``environ`` and ``layout``.
    :returns: a reference for every metric, and the reasons, by metric, of those that have none: these get
        (0, None, None, unit), which any value meets.
    :raises ReferenceError: if a metric has neither, or a reference has no metric or another unit.
    """
    declared = {metric.name: metric for metric in metrics}
    context = f"{file.path}: {case['check']} on {case['partition']} with {case['environ']}, {case['layout']}"
    for name, reference in found.items():
        if name not in declared:
            raise ReferenceError(f"{context}: {lookup.no_metric((name,))}")
        unit = (reference[2] if reference[0] == "$xfail" else reference)[3]
        if unit != declared[name].unit:
            raise ReferenceError(
                f"{context}: {name} is in {declared[name].unit}, but its reference is in {unit}"
            )
    references = {
        name: each.reference for name, each in (derived or {}).items()
    } | dict(found)
    reasons = {}
    for name, metric in declared.items():
        if name in references:
            continue
        why = file.why_none(metric=name, **case)
        if why is None:
            raise ReferenceError(
                f"{context}: {name} has no reference; add one, or give a reason under {NO_REFERENCE}"
            )
        references[name] = (0, None, None, metric.unit)
        reasons[name] = why
    return references, reasons
