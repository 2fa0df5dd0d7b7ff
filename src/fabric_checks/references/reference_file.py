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
    content = _content(path)
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


def _content(path: Path) -> dict[Any, Any]:
    try:
        content = yaml_file.load(path)
    except yaml_file.YamlError as error:
        remedy = "" if path.exists() else "; every system needs a reference file"
        raise ReferenceError(f"{error}{remedy}") from None
    if not isinstance(content, dict):
        raise ReferenceError(
            f"{path}: the top level must be a mapping of check classes and {NO_REFERENCE}"
        )
    return content


def _require_entry(path: Path, name: Any, entry: Any) -> None:
    index = entry.get("$index") if isinstance(entry, dict) else None
    if not isinstance(index, list) or not index:
        if meant := schema.nearest(str(name), _LISTS, 0.8):
            raise ReferenceError(f"{path}: {name}: unknown; did you mean {meant}?")
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
        why = f"{quoted(str(value))} is not of the form {_FORM}"
    else:
        why = _fault_of(*value[:3])
    if why:
        raise ReferenceError(f"{context}: {why}")


def _fault_of(value: Any, lower: Any, upper: Any) -> str:
    """Return what is wrong with a value and its shares; empty if nothing is."""
    if not _is_number(value) or not value:
        return f"the value {quoted(str(value))} is not a finite number other than 0"
    for name, share, sign in (("lower", lower, -1), ("upper", upper, 1)):
        if share is not None and not (_is_number(share) and share * sign >= 0):
            return (
                f"the {name} share {quoted(str(share))} does not fit the form {_FORM}"
            )
    if lower is None and upper is None:
        return f"has no bound; give it one, or a reason under {NO_REFERENCE}"
    return ""


def _is_number(value: Any) -> bool:
    is_one = isinstance(value, int | float) and not isinstance(value, bool)
    return is_one and abs(value) <= sys.float_info.max


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
    context = f"{file.path}: {case['check']} on {case['partition']} with {case['environ']}, {case['layout']}"
    declared = {metric.name: metric for metric in metrics}
    for name, reference in found.items():
        _require_declared(context, name, reference, declared)
    references = {name: each.reference for name, each in (derived or {}).items()}
    references.update(found)
    reasons = {}
    for name in [each for each in declared if each not in references]:
        why = file.why_none(metric=name, **case)
        if why is None:
            raise ReferenceError(
                f"{context}: {name} has no reference; add one, or give a reason under {NO_REFERENCE}"
            )
        references[name] = (0, None, None, declared[name].unit)
        reasons[name] = why
    return references, reasons


def _require_declared(
    context: str, name: str, reference: Any, declared: Mapping[str, Metric]
) -> None:
    """Raise :class:`ReferenceError` unless a reference is of a declared metric, and in its unit."""
    if name not in declared:
        raise ReferenceError(f"{context}: {lookup.no_metric((name,))}")
    unit = (reference[2] if reference[0] == "$xfail" else reference)[3]
    if unit != declared[name].unit:
        raise ReferenceError(
            f"{context}: {name} is in {declared[name].unit}, but its reference is in {unit}"
        )
