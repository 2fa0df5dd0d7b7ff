# SPDX-License-Identifier: BSD-3-Clause
"""Fragments of ReFrame's configuration that say where results are written beside the JSON lines.

A fragment is a file of ``perflogs-templates``, or of a site, with a function ``fragment(**settings)`` that returns
what is to be added to the configuration: ``{"handlers_perflog": [...]}``, ``{"storage": [...]}`` or both, in the form
that ReFrame's documentation gives for these.
"""

from __future__ import annotations

import runpy
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fabric_checks.errors import RecordError, quoted
from fabric_checks.paths import ROOT

#: The folder of the fragments that come with the collection.
TEMPLATES = ROOT / "perflogs-templates"

#: The parts of a configuration that a fragment may add to.
PARTS = ("handlers_perflog", "storage")

Fragment = Mapping[str, Sequence[Mapping[str, Any]]]


def fragment(name: str, **settings: Any) -> Fragment:
    """Return a fragment.

    :param name: of a file of ``perflogs-templates`` without its ``.py``, or the path of another file.
    :param settings: go to the file's function ``fragment``; the file says which there are.
    :raises RecordError: if there is no such file, or it does not take these settings.
    """
    path = Path(name) if name.endswith(".py") else TEMPLATES / f"{name}.py"
    if not path.is_file():
        known = ", ".join(sorted(file.stem for file in TEMPLATES.glob("*.py")))
        raise RecordError(f"{path}: no such fragment; there are {known}, and files of your own by their path")
    make = runpy.run_path(str(path)).get("fragment")
    if not callable(make):
        raise RecordError(f"{path}: defines no function 'fragment'; perflogs-templates/csv.py is an example")
    try:
        made: Fragment = make(**settings)
    except TypeError as error:
        raise RecordError(f"{path}: {error}; the file says which settings there are") from None
    unknown = set(made) - set(PARTS)
    if unknown:
        raise RecordError(f"{path}: the fragment has {quoted(min(unknown))}; it may have {' and '.join(PARTS)}")
    return made


def include(configuration: dict[str, Any], *fragments: Fragment, systems: Sequence[str] = ("*",)) -> None:
    """Add fragments to a configuration of ReFrame; what it writes already, it goes on writing.

    :param configuration: the ``site_configuration``; it is changed.
    :param systems: the names of the systems that the fragments are for; without it, all.
    :raises RecordError: if two fragments bring a ``storage``: ReFrame has one.
    """
    handlers = [handler for each in fragments for handler in each.get("handlers_perflog", ())]
    storages = [storage for each in fragments for storage in each.get("storage", ())]
    for system in systems:
        if handlers:
            for entry in _entries(configuration.setdefault("logging", []), system):
                entry["handlers_perflog"] = [*entry.get("handlers_perflog", []), *handlers]
        had = [old for old in configuration.get("storage", []) if system in _targets(old)]
        if len(storages) + len(had) > 1:
            raise RecordError(
                f"two fragments bring a storage for the systems {quoted(system)}; ReFrame has one: remove one of them"
            )
        for storage in storages:
            configuration.setdefault("storage", []).append({**storage, "target_systems": [system]})


def _targets(entry: Mapping[str, Any]) -> Sequence[str]:
    targets: Sequence[str] = entry.get("target_systems", ["*"])
    return targets


def _entries(logging: list[dict[str, Any]], system: str) -> list[dict[str, Any]]:
    """Return the entries that say what is written for a system: all for ``*``, else its own, made if there is none.

    ReFrame takes the handlers of a system's own entry instead of the general ones, so a new one starts with these.
    """
    if system == "*":
        if not any("*" in _targets(entry) for entry in logging):
            logging.append({})
        return [entry for entry in logging if "*" in _targets(entry) or "handlers_perflog" in entry]
    own = [entry for entry in logging if list(_targets(entry)) == [system]]
    if not own:
        general = [handler for e in logging if "*" in _targets(e) for handler in e.get("handlers_perflog", [])]
        own = [{"target_systems": [system], "handlers_perflog": general}]
        logging += own
    return own
