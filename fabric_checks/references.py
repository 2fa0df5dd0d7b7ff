# SPDX-License-Identifier: BSD-3-Clause
"""Reference files: what each figure of a system is held to, or why it is held to nothing.

A file belongs to one system. Its top level has an entry for each check class, in the form that ReFrame reads through
``$ref`` (an ``$index`` and nested keys down to metrics), and one list ``no_reference``, ours: each item says for which
check, partition, environment, layout and metric (regular expressions, all of them optional) there is none, and why.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from fabric_checks.errors import ReferenceError, quoted
from fabric_checks.metrics import Metric

NO_REFERENCE = "no_reference"
_FIELDS = ("check", "partition", "environ", "layout", "metric")


@dataclass(frozen=True)
class Reason:
    """Why a group of figures has no reference; each pattern has to match in full."""

    why: str
    patterns: Mapping[str, str]

    def covers(self, **case: str) -> bool:
        """Tell whether this reason is about the figure; ``case`` has a value for each of check, partition, ..."""
        return all(re.fullmatch(pattern, case[field]) for field, pattern in self.patterns.items())


@dataclass(frozen=True)
class ReferenceFile:
    """A reference file after the checks that need no system.

    :param entries: what ReFrame reads, by check class.
    :param reasons: the items of ``no_reference``.
    """

    path: Path
    entries: Mapping[str, Mapping[Any, Any]]
    reasons: tuple[Reason, ...]

    def why_none(self, **case: str) -> str | None:
        """Return why a figure has no reference, or None if the file does not say.

        :param case: values for ``check``, ``partition``, ``environ``, ``layout`` and ``metric``.
        """
        return next((reason.why for reason in self.reasons if reason.covers(**case)), None)


@lru_cache(maxsize=16)
def load(path: Path) -> ReferenceFile:
    """Read a reference file.

    :raises ReferenceError: if it is missing, not YAML, or not of the form described above.
    """
    try:
        content = yaml.safe_load(path.read_text())
    except OSError as error:
        raise ReferenceError(f"{path}: {error.strerror}; every system needs a reference file") from None
    except yaml.YAMLError as error:
        place = getattr(error, "problem_mark", None)
        line = f" line {place.line + 1}" if place else ""
        raise ReferenceError(f"{path}{line}: not valid YAML: {getattr(error, 'problem', error)}") from None
    if not isinstance(content, dict):
        raise ReferenceError(f"{path}: the top level must be a mapping of check classes and {NO_REFERENCE}")
    reasons = tuple(_reason(path, item) for item in content.pop(NO_REFERENCE, None) or [])
    for name, entry in content.items():
        if not isinstance(entry, dict):
            raise ReferenceError(f"{path}: {name}: must be a mapping of metrics, with an $index above them if need be")
    return ReferenceFile(path, content, reasons)


def _reason(path: Path, item: object) -> Reason:
    if not isinstance(item, dict) or not str(item.get("why", "")).strip():
        raise ReferenceError(f"{path}: {NO_REFERENCE}: {quoted(str(item))} needs a reason under 'why'")
    patterns = {key: str(value) for key, value in item.items() if key != "why"}
    for key, pattern in patterns.items():
        if key not in _FIELDS:
            raise ReferenceError(f"{path}: {NO_REFERENCE}: unknown key {quoted(str(key))}; use {', '.join(_FIELDS)}")
        try:
            re.compile(pattern)
        except re.error as error:
            raise ReferenceError(
                f"{path}: {NO_REFERENCE}: {key}: {quoted(pattern)} is not a pattern: {error}"
            ) from None
    return Reason(str(item["why"]).strip(), patterns)


def require_known(
    file: ReferenceFile, checks: Iterable[str], partitions: Iterable[str], environs: Iterable[str]
) -> None:
    """Raise :class:`ReferenceError` if the file has an entry for a check, partition or environment that does not exist.

    :param checks: the names of all check classes.
    :param partitions: full names of the system's partitions, as ``system:partition``.
    :param environs: names of all environments that are configured for the system.
    """
    known = {"$partition": list(partitions), "$environ": list(environs)}
    checks = list(checks)
    for name, entry in file.entries.items():
        if name not in checks:
            raise ReferenceError(f"{file.path}: orphan entry {quoted(name)}: no check class has that name")
        level: list[Mapping[Any, Any]] = [entry]
        for attribute in entry.get("$index", ()):
            keys = [key for mapping in level for key in mapping if key != "$index"]
            for key in keys if attribute in known else ():
                if not any(re.fullmatch(str(key), value) for value in known[attribute]):
                    raise ReferenceError(
                        f"{file.path}: {name}: orphan key {quoted(str(key))}: the system has no such {attribute[1:]} "
                        f"(it has {', '.join(known[attribute])})"
                    )
            level = [mapping[key] for mapping in level for key in mapping if key != "$index"]
            for mapping in level:
                if not isinstance(mapping, dict):
                    raise ReferenceError(
                        f"{file.path}: {name}: {quoted(str(mapping))} where $index asks for another level"
                    )


def complete(
    file: ReferenceFile, found: Mapping[str, Any], metrics: Iterable[Metric], **case: str
) -> tuple[dict[str, Any], dict[str, str]]:
    """Match the references that were found for one case against its declared metrics.

    :param found: references by metric, as ReFrame read them: (value, lower, upper, unit).
    :param metrics: all metrics that the case declares.
    :param case: values for ``check``, ``partition``, ``environ`` and ``layout``.
    :returns: a reference for every metric, and the reasons, by metric, of those that have none: these get
        (0, None, None, unit), which any value meets.
    :raises ReferenceError: if a metric has neither, or a reference has no metric or another unit.
    """
    declared = {metric.name: metric for metric in metrics}
    place = f"{file.path}: {case['check']} on {case['partition']} with {case['environ']}, {case['layout']}"
    for name, reference in found.items():
        if name not in declared:
            raise ReferenceError(f"{place}: orphan reference {quoted(name)}: the check declares no such metric")
        unit = _unit(reference)
        if unit is None or unit != declared[name].unit:
            raise ReferenceError(f"{place}: {name} is in {declared[name].unit}, its reference in {unit or 'no unit'}")
    references, reasons = dict(found), {}
    for name, metric in declared.items():
        if name in references:
            continue
        why = file.why_none(metric=name, **case)
        if why is None:
            raise ReferenceError(f"{place}: {name} has no reference; add one, or say why under {NO_REFERENCE}")
        references[name] = (0, None, None, metric.unit)
        reasons[name] = why
    return references, reasons


def _unit(reference: Any) -> str | None:
    data = getattr(reference, "data", reference)  # ReFrame wraps an expected failure around its reference
    return str(data[3]) if len(data) > 3 else None
