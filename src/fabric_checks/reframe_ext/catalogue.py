# SPDX-License-Identifier: BSD-3-Clause
"""Print the declarations of the checks on a system, which are loaded as in a run, and not run.

ReFrame has one system per process, and loads a module once, so each system needs its own process:

    python -m fabric_checks.reframe_ext.catalogue SYSTEM FILE [ATTRIBUTE ...]

writes JSON to FILE: the cases with the values of the attributes, in the form of
:class:`fabric_checks.references.cases.Case`.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fabric_checks.core.paths import ROOT
from fabric_checks.reframe_ext import internals


def describe(system: str, *attributes: str) -> list[dict[str, Any]]:
    """Return the cases of a system."""
    cases = []
    with TemporaryDirectory() as folder:
        internals.take_own_system(system, Path(folder))
        for case in internals.load_cases(ROOT / "checks")[0]:
            if case.check.is_fixture():
                internals.set_up(case)
            else:
                cases.append(data_of(case, attributes))
    return cases


def data_of(case: Any, attributes: Iterable[str]) -> dict[str, Any]:
    """Return the data of a case, of :class:`fabric_checks.references.cases.Case`.

    :param case: the fixtures that it depends on were set up.
    """
    check = internals.placed(case)
    return {
        "check": type(check).__name__,
        "layout": str(check.current_layout),
        "attributes": {
            name: str(getattr(check, name))
            for name in attributes
            if hasattr(check, name)
        },
        "metrics": [metric.name for metric in check.metrics()],
    }


if __name__ == "__main__":
    internals.answer(describe)
