# SPDX-License-Identifier: BSD-3-Clause
"""Let ReFrame select the cases of a run, and note them instead of running them.

    python -m fabric_checks.reframe_ext.planning FILE OPTIONS-OF-REFRAME

This is ReFrame's command line up to the moment at which the first case would start, so that the selection is that of
all its options. A listing would not tell how often cases run, and a dry run would set up each of them, with a folder
and a job script: for thousands of cases that takes minutes.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reframe.core.exceptions import CommandLineError
from reframe.core.systems import SystemPartition
from reframe.frontend import cli
from reframe.frontend.executors import Runner, TestCase

from fabric_checks.results.cost.plan import SIMULATED, Partition, Plan, PlannedCase, options_of


def noting(path: Path, command: str) -> type[Runner]:
    """Return a runner that writes the plan of a run into a file, and runs nothing."""

    class NotingRunner(Runner):
        def runall(self, testcases, restored_cases=None):
            if self._timeout:
                raise CommandLineError("--duration says itself how long the run takes; compute the cost without it")
            plan(testcases, command, 1 + self._num_reruns).write(path)

    return NotingRunner


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
    # The sizes of some checks depend on where they run. ReFrame sets these two when it sets up the case, and has no
    # other way to say them; every test case sets its own.
    check._current_partition, check._current_environ = partition, case.environ
    in_simulation = simulated(partition)
    bounded = not partition.extras.get("launcher_bounds_time")
    nodes = 1 if in_simulation else math.ceil(check.num_tasks / check.num_tasks_per_node)
    limit_s = float(check.time_limit) if bounded and check.time_limit else None
    return PlannedCase(
        system=check.current_system.name,
        partition=partition.name,
        environ=case.environ.name,
        check=type(check).__name__,
        test=check.display_name,
        parameters=check.own_parameters,
        layout=str(check.place),
        nodes=nodes,
        tasks=check.num_tasks,
        simulated=in_simulation,
        limit_s=limit_s,
        metrics=len(check.metrics()),
        traffic_B=None if in_simulation else carried_B(check.declared_traffic_B(), nodes, limit_s, partition.extras),
    )


def carried_B(declared_B: int | None, nodes: int, limit_s: float | None, extras: Mapping[str, Any]) -> int | None:
    """Return what a case declares, but no more than the links of its nodes carry until its time limit."""
    if declared_B is None or limit_s is None or "link_MBps" not in extras:
        return declared_B
    carried_MB = float(nodes * extras.get("nics", 1) * extras["link_MBps"] * limit_s)
    return min(declared_B, round(carried_MB * 1e6))


def main() -> None:
    """Be ReFrame for the rest of the command line, but for its runner."""
    path, *options = sys.argv[1:]
    sys.argv = ["reframe", *options]
    cli.Runner = noting(Path(path), options_of(sys.argv))
    cli.main()


if __name__ == "__main__":
    main()
