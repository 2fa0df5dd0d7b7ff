# SPDX-License-Identifier: BSD-3-Clause
"""Packages that add verbs and sections of the report: found by their name, so that nothing here names one.

A plugin is a package ``fabric_*`` that has a module ``plugin``, in the folder of this package or installed with it, as
the Python Packaging User Guide has it for discovery by naming convention. The module defines any of

``VERBS``
    by name of the verb, its group in the help (``cli.commands.GROUPS``; empty: not listed), the module that has its
    click command as ``command``, and its short help;
``REPORT_SECTIONS``
    the modules whose function ``section(results, provenance, published)`` returns a section of the report, or None;
``RECORD_SOURCES``
    the modules whose function ``folder_of(path)`` returns the folder with the records of a file of a format of theirs,
    or None for any other file;
``SYSTEMS_OF_MACHINES``
    the systems each of whose partitions is a machine of its own, known by the partition's name.

It imports nothing that takes time: the help and the shell's completion load all of them.
"""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

#: The folder of this package, in a clone and where it is installed.
BESIDE = Path(__file__).resolve().parents[2]


@cache
def plugins() -> tuple[ModuleType, ...]:
    """Return the module ``plugin`` of every package that has one, in the order of their names."""
    names = (found.name for found in pkgutil.iter_modules([str(BESIDE)]) if found.ispkg)
    return tuple(
        import_module(f"{name}.plugin")
        for name in sorted(names)
        if name.startswith("fabric_") and name != "fabric_checks" and find_spec(f"{name}.plugin")
    )


def verbs() -> dict[str, tuple[str, str, str]]:
    """Return the verbs of all plugins: by name, the group, the module of the command, and its short help."""
    return {verb: entry for plugin in plugins() for verb, entry in getattr(plugin, "VERBS", {}).items()}


def report_sections() -> tuple[ModuleType, ...]:
    """Return the modules of all plugins that have a section of the report."""
    return tuple(import_module(name) for plugin in plugins() for name in getattr(plugin, "REPORT_SECTIONS", ()))


def systems_of_machines() -> frozenset[str]:
    """Return the systems of all plugins each of whose partitions is a machine."""
    return frozenset(name for plugin in plugins() for name in getattr(plugin, "SYSTEMS_OF_MACHINES", ()))


def record_sources() -> tuple[ModuleType, ...]:
    """Return the modules of all plugins that read records from files of a format of their own."""
    return tuple(import_module(name) for plugin in plugins() for name in getattr(plugin, "RECORD_SOURCES", ()))
