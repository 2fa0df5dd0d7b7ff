# SPDX-License-Identifier: BSD-3-Clause
"""Discover the packages that add verbs and sections of the report, by naming convention.

A plugin is a package ``fabric_*`` with a module ``plugin`` in the folder of this package (Python Packaging
User Guide, "Creating and discovering plugins"). The module defines any of

``VERBS``
    by name of the verb, its group in the help (``cli.commands.GROUPS``; empty: not listed), the module of its
    click command, and its short help;
``REPORT_SECTIONS``
    the modules whose function ``section(results, published)`` returns a section of the report, or
    None;
``RECORD_SOURCES``
    the modules whose function ``folder_of(path)`` returns the folder with the records of a file in a format
    of their own, or None for any other file;
``SYSTEMS_OF_MACHINES``
    the systems each of whose partitions is a machine of its own, named as the partition.

It imports nothing slow: the help and the shell's completion load all of them.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

#: The folder of this package, in a clone and where it is installed.
FOLDER = Path(__file__).resolve().parents[2]


@cache
def plugins() -> tuple[ModuleType, ...]:
    """Return the module ``plugin`` of every package that has one, in the order of their names."""
    names = sorted(path.parent.name for path in FOLDER.glob("fabric_*/plugin.py"))
    return tuple(import_module(f"{name}.plugin") for name in names)


def verbs() -> dict[str, tuple[str, str, str]]:
    """Return the verbs of all plugins: by name, the group, the module of the command, and its short help."""
    return {
        verb: entry
        for plugin in plugins()
        for verb, entry in getattr(plugin, "VERBS", {}).items()
    }


def _listed(name: str) -> list[str]:
    return [entry for plugin in plugins() for entry in getattr(plugin, name, ())]


def report_sections() -> tuple[ModuleType, ...]:
    """Return the modules of all plugins that have a section of the report."""
    return tuple(map(import_module, _listed("REPORT_SECTIONS")))


def systems_of_machines() -> frozenset[str]:
    """Return the systems of all plugins each of whose partitions is a machine."""
    return frozenset(_listed("SYSTEMS_OF_MACHINES"))


def record_sources() -> tuple[ModuleType, ...]:
    """Return the modules of all plugins that read records from files of a format of their own."""
    return tuple(map(import_module, _listed("RECORD_SOURCES")))
