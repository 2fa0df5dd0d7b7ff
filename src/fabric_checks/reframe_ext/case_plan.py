# SPDX-License-Identifier: BSD-3-Clause
"""Write the cases that ReFrame selects for a run, instead of running them.

    python -m fabric_checks.reframe_ext.case_plan FILE OPTIONS-OF-REFRAME

This is ReFrame's command line up to the moment at which the first case would start.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

from fabric_checks.records.cost import Plan, PlannedCase
from fabric_checks.records.record import SIMULATED
from fabric_checks.reframe_ext.internals import TestCase, select_only


def plan(testcases: list[TestCase], passes: int) -> Plan:
    """Return the plan of a run; a fixture, such as a build, is no job on the nodes."""
    cases = [case for case in testcases if not case.check.is_fixture()]
    system = cases[0].check.current_system.name if cases else ""
    return Plan(system, passes, tuple(map(planned, cases)))


def planned(case: TestCase) -> PlannedCase:
    """Return the facts about a case before its set-up."""
    check, partition = case.check, case.partition
    is_simulated = SIMULATED in partition.features
    expected = getattr(check, "expected", lambda _: None)
    return PlannedCase(
        system=check.current_system.name,
        partition=partition.name,
        environ=case.environ.name,
        test=check.display_name,
        nodes=1
        if is_simulated
        else math.ceil(check.num_tasks / check.num_tasks_per_node),
        expected=expected(partition),
    )


def main() -> None:
    """Run ReFrame with the rest of the command line, and write the cases that it would run."""
    path, *options = sys.argv[1:]
    sys.argv = ["reframe", *options]
    select_only(lambda testcases, passes: plan(testcases, passes).write(Path(path)))


if __name__ == "__main__":
    main()
