# SPDX-License-Identifier: BSD-3-Clause
"""Let ReFrame select the cases of a run, and note them instead of running them.

    python -m fabric_checks.reframe_ext.planning FILE OPTIONS-OF-REFRAME

This is ReFrame's command line up to the moment at which the first case would start.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

from reframe.core.systems import SystemPartition

from fabric_checks.records.cost.plan import SIMULATED, Partition, Plan, PlannedCase, options_of
from fabric_checks.reframe_ext.internals import TestCase, select_only


def plan(testcases: list[TestCase], command: str, passes: int) -> Plan:
    """Return what a run of test cases would do; what only prepares others, such as a build, is no job on the nodes."""
    cases = [case for case in testcases if not case.check.is_fixture()]
    partitions = {case.partition.fullname: case.partition for case in cases}
    return Plan(
        command=command,
        passes=passes,
        system=cases[0].check.current_system.name if cases else "",
        partitions=tuple(
            Partition(each.name, None if simulated(each) else each.extras.get("nodes", 1), each.max_jobs)
            for each in partitions.values()
        ),
        cases=tuple(map(planned, cases)),
    )


def simulated(partition: SystemPartition) -> bool:
    """Tell whether the jobs of a partition are simulations."""
    return SIMULATED in partition.features


def planned(case: TestCase) -> PlannedCase:
    """Return what is known of a case before it is set up."""
    check, partition = case.check, case.partition
    in_simulation = simulated(partition)
    bounded = not partition.extras.get("launcher_bounds_time")
    return PlannedCase(
        system=check.current_system.name,
        partition=partition.name,
        environ=case.environ.name,
        check=type(check).__name__,
        test=check.display_name,
        parameters=check.own_parameters,
        layout=str(check.current_layout),
        nodes=1 if in_simulation else math.ceil(check.num_tasks / check.num_tasks_per_node),
        simulated=in_simulation,
        limit_s=float(check.time_limit) if bounded and check.time_limit else None,
    )


def main() -> None:
    """Be ReFrame for the rest of the command line, and note what it would run."""
    path, *options = sys.argv[1:]
    sys.argv = ["reframe", *options]
    command = options_of(sys.argv)
    select_only(lambda testcases, passes: plan(testcases, command, passes).write(Path(path)))


if __name__ == "__main__":
    main()
