# SPDX-License-Identifier: BSD-3-Clause
"""Reference files: a reference for each metric of a system, or the reason for none.

A file belongs to one system. Its top level has an entry for each check class, in the form of ReFrame's
``$ref`` (an ``$index`` and nested keys down to metrics, each with a list of value, lower share, upper share and unit;
or ``[$xfail, message, list]``), and three lists of ours, whose items select check, partition, environment, layout and
metric by optional regular expressions:

- ``no_reference``: the reason for none, ``why``;
- ``derived``: a share of the line rate (see :mod:`fabric_checks.references.line_rate`), where there is no entry;
- ``evidence``, of simulated systems: the origin of the value (one of :data:`EVIDENCE`), and the ``source`` of its
  reference.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from fabric_checks.core import yaml_file
from fabric_checks.core.errors import ReferenceError, quoted
from fabric_checks.core.metrics import Metric
from fabric_checks.references import line_rate, lookup

NO_REFERENCE = "no_reference"

#: The origins of a simulated value: a parameter fitted to it, parameters fitted to other values, a document's statement
#: without a number, or no document.
EVIDENCE = ("fitted", "predicted", "said", "simulated")
_FIELDS = ("check", "partition", "environ", "layout", "metric")


@dataclass(frozen=True)
class Reason:
    """Give the reason why a group of metrics has no reference; each pattern has to match in full."""

    why: str
    patterns: Mapping[str, str]

    def covers(self, **case: str) -> bool:
        """Return whether this reason covers the metric; ``case`` has a value for each of check, partition, ..."""
        return all(re.fullmatch(pattern, case[field]) for field, pattern in self.patterns.items())


@dataclass(frozen=True)
class Evidence(Reason):
    """Give the origin of a group of metrics of a simulation.

    :param why: the source of their references; empty if they have none.
    :param kind: one of :data:`EVIDENCE`.
    """

    kind: str


@dataclass(frozen=True)
class ReferenceFile:
    """A reference file after the checks that need no system.

    :param entries: the references, by check class.
    :param reasons: the items of ``no_reference``; :param evidence: and :param derived: those of the other
        two lists.
    """

    path: Path
    entries: Mapping[str, Mapping[Any, Any]]
    reasons: tuple[Reason, ...]
    evidence: tuple[Evidence, ...] = ()
    derived: tuple[line_rate.Rule, ...] = ()

    def why_none(self, **case: str) -> str | None:
        """Return why a metric has no reference, or None if the file gives no reason.

        :param case: values for ``check``, ``partition``, ``environ``, ``layout`` and ``metric``.
        """
        return next((reason.why for reason in self.reasons if reason.covers(**case)), None)

    def evidence_of(self, *, held: bool, **case: str) -> Evidence | None:
        """Return the origin of a value, or None if the file has none, as that of a machine.

        :param held: whether the metric has a reference; one that has none is ``simulated`` at most.
        """
        for evidence in self.evidence:
            if (held or evidence.kind == "simulated") and evidence.covers(**case):
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
        raise ReferenceError(f"{path}: the top level must be a mapping of check classes and {NO_REFERENCE}")
    reasons = tuple(_reason(path, item) for item in _list(path, content, NO_REFERENCE))
    evidence = tuple(_evidence(path, item) for item in _list(path, content, "evidence"))
    derived = tuple(_derived(path, item) for item in _list(path, content, "derived"))
    for name, entry in content.items():
        if not isinstance(name, str):
            raise ReferenceError(f"{path}: the key {quoted(str(name))} is not the name of a check; write it as text")
        if not isinstance(entry, dict) or not isinstance(entry.get("$index"), list) or not entry["$index"]:
            raise ReferenceError(
                f"{path}: {name}: must be a mapping with an $index, such as [$partition, $environ, layout]"
            )
        _require_references(f"{path}: {name}", {k: v for k, v in entry.items() if k != "$index"}, len(entry["$index"]))
    return ReferenceFile(path, content, reasons, evidence, derived)


def _list(path: Path, content: dict[Any, Any], key: str) -> list[Any]:
    """Take one of the lists of ours out of a file's content; empty if it is not there."""
    found = content.pop(key, None) or []
    if not isinstance(found, list):
        raise ReferenceError(f"{path}: {key}: {quoted(str(found))} where a list is expected")
    return found


def _reason(path: Path, item: object) -> Reason:
    if not isinstance(item, dict) or not str(item.get("why", "")).strip():
        raise ReferenceError(f"{path}: {NO_REFERENCE}: {quoted(str(item))} needs a reason under 'why'")
    return Reason(str(item["why"]).strip(), _patterns(f"{path}: {NO_REFERENCE}", item, ("why",)))


def _evidence(path: Path, item: object) -> Evidence:
    kind = item.get("evidence") if isinstance(item, dict) else None
    if not isinstance(item, dict) or kind not in EVIDENCE:
        raise ReferenceError(
            f"{path}: evidence: {quoted(str(item))} needs one of {', '.join(EVIDENCE)} under 'evidence'"
        )
    source = str(item.get("source", "")).strip()
    if not source and kind != "simulated":
        raise ReferenceError(f"{path}: evidence: {quoted(str(item))} needs its source under 'source'")
    return Evidence(source, _patterns(f"{path}: evidence", item, ("evidence", "source")), str(kind))


def _derived(path: Path, item: object) -> line_rate.Rule:
    if not isinstance(item, dict):
        raise ReferenceError(
            f"{path}: derived: {quoted(str(item))} is not a mapping with a metric and a share_of_line_rate"
        )
    return line_rate.rule(f"{path}: derived", item, _patterns(f"{path}: derived", item, line_rate.KEYS))


def _patterns(context: str, item: Mapping[str, Any], other: tuple[str, ...]) -> dict[str, str]:
    """Return the patterns of an item of a list of ours: its keys but ``other``."""
    patterns = {key: str(value) for key, value in item.items() if key not in other}
    for key, pattern in patterns.items():
        if key not in _FIELDS:
            raise ReferenceError(f"{context}: unknown key {quoted(str(key))}; use {', '.join(_FIELDS)}")
        try:
            re.compile(pattern)
        except re.error as error:
            raise ReferenceError(f"{context}: {key}: {quoted(pattern)} is not a pattern: {error}") from None
    return patterns


def _require_references(context: str, level: Any, depth: int) -> None:
    """Raise :class:`ReferenceError` unless there are ``depth`` levels of keys and well-formed references below them."""
    if not isinstance(level, dict):
        raise ReferenceError(f"{context}: {quoted(str(level))} where $index requires another level")
    for key, value in level.items():
        if depth:
            _require_references(f"{context}: {key}", value, depth - 1)
        else:
            _require_reference(f"{context}: {key}", value)


def _require_reference(context: str, value: Any) -> None:
    if isinstance(value, list) and len(value) == 3 and value[0] == "$xfail":
        value = value[2]
    form = "[value, lower share (null, or 0 or below), upper share (null, or 0 or above), unit]"
    if not isinstance(value, list) or len(value) != 4 or not isinstance(value[3], str):
        raise ReferenceError(f"{context}: {quoted(str(value))} is not of the form {form}")
    reference, lower, upper, _ = value
    if not line_rate.is_number(reference) or reference == 0:
        raise ReferenceError(f"{context}: the value {quoted(str(reference))} is not a finite number other than 0")
    for share, sign, name in ((lower, -1, "lower"), (upper, 1, "upper")):
        if share is not None and (not line_rate.is_number(share) or share * sign < 0):
            raise ReferenceError(f"{context}: the {name} share {quoted(str(share))} does not fit the form {form}")
    if lower is None and upper is None:
        raise ReferenceError(f"{context}: has no bound; give it one, or a reason under {NO_REFERENCE}")


def require_known(file: ReferenceFile, checks: Iterable[str], known: Mapping[str, Collection[str]]) -> None:
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


def require_known_keys(file: ReferenceFile, check: str, known: Mapping[str, Collection[str]]) -> None:
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
        unit = _unit(reference)
        if unit is None or unit != declared[name].unit:
            raise ReferenceError(
                f"{context}: {name} is in {declared[name].unit}, but its reference is in {unit or 'no unit'}"
            )
    references = {name: each.reference for name, each in (derived or {}).items()} | dict(found)
    reasons = {}
    for name, metric in declared.items():
        if name in references:
            continue
        why = file.why_none(metric=name, **case)
        if why is None:
            raise ReferenceError(f"{context}: {name} has no reference; add one, or give a reason under {NO_REFERENCE}")
        references[name] = (0, None, None, metric.unit)
        reasons[name] = why
    return references, reasons


def _unit(reference: Any) -> str | None:
    data = reference[2] if reference[0] == "$xfail" else reference
    return str(data[3]) if len(data) > 3 else None
