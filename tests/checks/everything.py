# SPDX-License-Identifier: BSD-3-Clause
"""Load the checks of the system `rich`, which offers everything; see `rich.py`."""

import sys
from pathlib import Path

import reframe.core.runtime as runtime

from tests import loading
from tests.conftest import TESTS

SETTINGS = Path(__file__).resolve().parent / "rich.py"


def cases(patch):
    """Return all cases of `rich` but fixtures, set up.

    What a check offers depends on the system it was loaded for, and Python loads a module once: so forget the modules
    of the checks, before and after.

    :param patch: pytest's ``monkeypatch``, or one of its contexts.
    """
    forget_checks()
    with patch.context() as settings:
        settings.setattr(loading, "SETTINGS", SETTINGS)
        settings.setattr(runtime, "_runtime_context", None)  # ReFrame sets it only where there is none
        found = [case for case in loading.cases("rich") if not case.check.is_fixture()]
    forget_checks()
    return found


def forget_checks():
    """Let the next load of the checks be the first."""
    folder = str(TESTS.parent / "checks")
    for name, module in list(sys.modules.items()):
        if (getattr(module, "__file__", None) or "").startswith(f"{folder}/"):
            del sys.modules[name]
