# SPDX-License-Identifier: BSD-3-Clause
"""Load the checks for a system as `reframe -c checks` does, without running them."""

import contextlib
import functools
import gc
import os
import runpy
import sys
from pathlib import Path
from unittest import mock

from reframe.utility import osext, typecheck

from fabric_checks.reframe_ext import internals
from tests.conftest import ROOT, TESTS

SETTINGS = TESTS / "settings.py"


def shipped_systems():
    """Return the names of all systems in config/systems."""
    files = sorted((ROOT / "config/systems").glob("*.py"))
    return [
        system["name"]
        for file in files
        for system in runpy.run_path(str(file))["systems"]
    ]


@contextlib.contextmanager
def without_collecting():
    """Collect no garbage while thousands of cases are made, nearly all of which stay: it takes a tenth of the
    time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@without_collecting()
def cases(system, set_up=True, variables=None, suite="."):
    """Return all test cases of a system, fixtures first, set up as far as a run takes them before their job
    starts.

    What a check offers depends on the system that it was loaded for, and a process has one system and loads a
    module once: so both are forgotten first. Cases of systems that were loaded before must not be run any
    more.
    """
    forget_checks()
    folder = Path(os.environ["FABRIC_RESULTS"]) / "cases"
    folder.mkdir(parents=True, exist_ok=True)
    internals.take_system([str(SETTINGS)], system, folder)
    ordered, skipped = internals.load_cases(ROOT / "checks" / suite, variables)
    assert not skipped
    if set_up:
        with once_a_process():
            for case in ordered:
                internals.set_up(case)
    return ordered


@contextlib.contextmanager
def once_a_process():
    """Cache two steps that ReFrame repeats for each case with the same result.

    Its srun asks for Slurm's version. And the types that it makes to check references are registered with the
    ABC of all mappings, which every later check goes through: they stay until the garbage is collected, which
    a process with thousands of cases seldom does.
    """
    mapping, builtin = typecheck._MappingType, typecheck._BuiltinType
    with (
        mock.patch.object(osext, "run_command", functools.cache(osext.run_command)),
        mock.patch.object(mapping, "__getitem__", functools.cache(mapping.__getitem__)),
        mock.patch.object(builtin, "__invert__", functools.cache(builtin.__invert__)),
    ):
        yield


def forget_checks():
    """Unload the checks, and the settings, which ReFrame loads as a module too: they depend on FABRIC_MPI."""
    folder = str(ROOT / "checks")
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None) or ""
        if file == str(SETTINGS) or file.startswith(f"{folder}/"):
            del sys.modules[name]
