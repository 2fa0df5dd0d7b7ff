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

from fabric_checks.core.extras import Extras
from fabric_checks.core.paths import ROOT
from fabric_checks.reframe_ext import internals
from fabric_checks.reframe_ext.mixins.references import check_names


def describe(system: str, *attributes: str) -> dict[str, Any]:
    """Return all check names and the cases of a system."""
    cases = []
    with TemporaryDirectory() as folder:
        internals.take_own_system(system, Path(folder))
        for case in internals.load_cases(ROOT / "checks")[0]:
            if case.check.is_fixture():
                internals.set_up(case)
            else:
                cases.append(data_of(case, attributes))
    return {"checks": sorted(check_names()), "cases": cases}


def data_of(case: Any, attributes: Iterable[str]) -> dict[str, Any]:
    """Return the data of a case for :meth:`fabric_checks.references.cases.Case.of`.

    :param case: the fixtures that it depends on were set up.
    """
    check, extras = internals.placed(case), Extras.of(case.partition)
    values = {
        name: str(getattr(check, name)) for name in attributes if hasattr(check, name)
    }
    values |= {
        "$system": check.current_system.name,
        "$partition": case.partition.fullname,
        "$environ": case.environ.name,
    }
    return {
        "check": type(check).__name__,
        "partition": case.partition.fullname,
        "environ": case.environ.name,
        "layout": str(check.current_layout),
        "file": extras.references or check.current_system.name,
        "extras": {"link_MBps": extras.link_MBps, "nics": extras.nics},
        "attributes": values,
        "metrics": [
            [metric.name, metric.unit, metric.better] for metric in check.metrics()
        ],
    }


if __name__ == "__main__":
    internals.answer(describe)
