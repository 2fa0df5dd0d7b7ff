# SPDX-License-Identifier: BSD-3-Clause
"""Load the checks for a system as `reframe -c checks` does, without running them."""

import functools
import runpy
import sys
from unittest import mock

import reframe.core.runtime as rt
from reframe.core.config import load_config
from reframe.frontend import dependencies
from reframe.frontend.executors import generate_testcases
from reframe.frontend.loader import RegressionCheckLoader
from reframe.utility import osext

from tests.conftest import TESTS

SETTINGS = TESTS / "settings.py"


def shipped_systems():
    """Return the names of all systems in config/systems."""
    files = sorted((TESTS.parent / "config" / "systems").glob("*.py"))
    return [system["name"] for file in files for system in runpy.run_path(str(file))["systems"]]


def cases(system, set_up=True):
    """Return all test cases of a system, fixtures first, set up as far as a run takes them before their job starts.

    What a check offers depends on the system that it was loaded for, and a process has one system and loads a module
    once: so both are forgotten first. Cases of systems that were loaded before must not be run any more.
    """
    forget_checks()
    rt._runtime_context = None  # ReFrame keeps the first
    site = load_config("<builtin>", str(SETTINGS))
    site.validate()
    site.select_subconfig(system)
    rt.init_runtime(site)
    checks = RegressionCheckLoader([str(TESTS.parent / "checks")], recurse=True).load_all(force=True)
    graph, skipped = dependencies.build_deps(generate_testcases(checks))
    assert not skipped
    ordered = dependencies.toposort(graph)
    if set_up:
        # ReFrame's srun asks for Slurm's version in each case.
        with mock.patch.object(osext, "run_command", functools.cache(osext.run_command)):
            for case in ordered:
                case.prepare()
                case.check.setup(case.partition, case.environ)
    return ordered


def forget_checks():
    """Let the next load of the checks be the first."""
    folder = str(TESTS.parent / "checks")
    for name, module in list(sys.modules.items()):
        if (getattr(module, "__file__", None) or "").startswith(f"{folder}/"):
            del sys.modules[name]
