# SPDX-License-Identifier: BSD-3-Clause
"""Run the cases that ReFrame selects in one allocation.

    python -m fabric_checks.schedulers.in_job.session OPTIONS-OF-REFRAME

This is ReFrame's command line, with a scheduler of :mod:`.scheduler` for partitions that are to be in it
(:func:`fabric_checks.schedulers.in_job.apply`).
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Mapping, Sequence
from itertools import count

from msgspec.structs import asdict
from reframe.core.exceptions import ConfigError
from reframe.core.logging import getlogger
from reframe.utility.typecheck import Duration

from fabric_checks.core import console, paths
from fabric_checks.core.errors import FabricError
from fabric_checks.core.extras import Extras
from fabric_checks.core.levels import NIGHTLY, SMOKE, VET
from fabric_checks.core.text import count_text, duration_text
from fabric_checks.records import cost, reader, repeats, runs
from fabric_checks.records.record import Record, case_name
from fabric_checks.records.sessions import session_id
from fabric_checks.records.sources import default, perflogs
from fabric_checks.reframe_ext import internals
from fabric_checks.reframe_ext.case_plan import planned
from fabric_checks.reframe_ext.internals import TestCase
from fabric_checks.schedulers import in_job
from fabric_checks.schedulers.in_job import allocation
from fabric_checks.schedulers.in_job.scheduler import RESERVE_S, Queue, take

#: The run that this one continues.
CONTINUED = "FABRIC_CONTINUE"
#: A case of which no duration is recorded is taken to need so long.
UNKNOWN_S = 60.0
#: The allocation is asked for so much longer than its cases are to take, and between two there is so much.
MARGIN, BETWEEN_S = 1.25, 0.5
#: What matters most comes first: what names a slow node, then the levels that are run most often.
_IMPORTANCE = (VET, SMOKE, NIGHTLY)

#: The allocations of the schedulers.
_KINDS: dict[str, type[allocation.Slurm | allocation.Inside | allocation.Flux]] = {
    in_job.INSIDE["fabric-slurm"]: allocation.Slurm,
    in_job.INSIDE["fabric-pbs"]: allocation.Pbs,
    in_job.INSIDE["fabric-flux"]: allocation.Flux,
    in_job.INSIDE["fabric-lsf"]: allocation.Lsf,
}


class _Session:
    """What a run has to know between its cases' selection and its end."""

    queue: Queue | None = None
    #: The cases whose misses can be measured again in the allocation, by name, and how often they are.
    repeatable: Mapping[str, TestCase] = {}
    times = 0

    def choose(
        self, cases: list[TestCase], passes: int, options: list[str]
    ) -> list[TestCase]:
        """Make the allocation of the cases, and return those to run, the most important first."""
        done = _done_in(os.environ.get(CONTINUED, ""))
        chosen = [case for case in cases if _name(case) not in done]
        left = _inside(chosen)
        if not left:
            return chosen
        self.times = _times()
        past = durations()
        estimates_s = {name: past.get(name, UNKNOWN_S) for name in map(_name, left)}
        every_s = [*estimates_s.values()] * passes
        # There is time to measure one miss again, whichever it is.
        every_s += [max(every_s)] * (self.times and self.times + 1)
        time_s = limit_s(every_s)
        request = _request(left, time_s, options)
        unknown = len(estimates_s.keys() - past.keys())
        getlogger().info(
            f"one allocation: {count_text(request.nodes, 'node')} for {duration_text(request.limit_s)}, for"
            f" {count_text(len(left), 'case')}, {unknown} of them without a recorded duration"
            f" ({UNKNOWN_S:.0f} s each)"
        )
        held = _KINDS[_scheduler(left[0])](request)
        _require_inside(held)
        self.queue = Queue(held, lambda: not internals.has_fixtures_left())
        self.queue.estimates_s = estimates_s
        take(self.queue)
        if len(left) == len(chosen):
            internals.poll_steadily()
            self.repeatable = {
                _name(case): case for case in chosen if _is_repeatable(case)
            }
        return sorted(chosen, key=_importance)

    def measure_again(self) -> None:
        """Measure misses again on the nodes that are still held."""
        held = self.queue.allocation if self.queue else None
        if not self.times or held is None or not held.held or held.ended:
            return
        numbers, of_run = count(1), session_id()

        def load() -> list[Record]:
            found = runs.load_session(paths.results(), of_run).records
            named = [(self.repeatable.get(case_name(each)), each) for each in found]
            # A scheduler may have other names of hosts than these themselves, which are in the records.
            return [
                {**each, "nodelist": getattr(case.check.job, "nodelist", None)}
                for case, each in named
                if case
            ]

        def repeat(wanted: Mapping[str, Sequence[str]]) -> bool:
            getlogger().info(repeats.BEGUN)
            number = next(numbers)
            with repeats.repeating(wanted, number):
                again = [self.repeatable[name] for name in wanted]
                return internals.run_again(again, number)

        repeats.measure_again(self.times, load, repeat, lambda _: held.usable)

    def release(self) -> None:
        """Give the allocation back, and say how it was used."""
        queue = self.queue
        if queue is None:
            return
        held = queue.allocation
        held.release()
        if held.held:
            held_s = time.monotonic() - held.began_s
            share = queue.busy_node_s / (held_s * len(held.nodes))
            getlogger().info(
                f"job {held.job}: {count_text(len(held.nodes), 'node')} held for {held_s:.1f} s; cases ran"
                f" for {queue.busy_s:.1f} s, in {share:.0%} of the node-seconds"
            )


def _request(
    cases: Sequence[TestCase], time_s: float, options: Sequence[str]
) -> allocation.Request:
    """Return what is asked for, for cases that take so long, with more options of jobs."""
    own = [word for word in options if word.startswith("-")]
    named = {name for of in (repeats.asked_for() or {}).values() for name in of}
    if named:  # misses are measured again on the nodes that they had
        own.append(f"--nodelist={','.join(sorted(named))}")
    nodes = max(len(named), *(planned(case).nodes for case in cases))
    access = [*_access(cases), *own]
    return allocation.Request(nodes, time_s, access, _most_wait_s(cases))


def _times() -> int:
    """Return how often misses are measured again by this process, which no repeat does."""
    return 0 if repeats.asked_for() else int(os.environ.get(repeats.TIMES) or 0)


def _require_inside(held: allocation.Allocation) -> None:
    """Refuse to run outside of a job where the scheduler is not asked for one.

    :raises FabricError: with the reason.
    """
    if isinstance(held, allocation.Inside) and os.environ.get(in_job.BESIDE):
        raise FabricError(
            "--beside: in a job of PBS two cases were on its first node; leave the option out"
        )
    if not isinstance(held, allocation.Slurm):
        held.follow()
        if held.ended:
            raise FabricError(f"--one-job: {held.ended.text}")


def _is_repeatable(case: TestCase) -> bool:
    """Tell whether a miss of a case can be measured again: not if it confirms itself, or is computed from
    other cases."""
    confirms = getattr(case.check, "confirms_itself", False)
    return not confirms and all(dep.check.is_fixture() for dep in case.deps)


def limit_s(estimates_s: Sequence[float]) -> float:
    """Return for how long an allocation is asked for, in whole minutes.

    :param estimates_s: how long its cases take, in seconds.
    """
    busy_s = sum(MARGIN * each_s + BETWEEN_S for each_s in estimates_s)
    return 60.0 * math.ceil((busy_s + 2 * RESERVE_S) / 60)


def durations() -> dict[str, float]:
    """Return how long cases took, in seconds, by name; see :func:`fabric_checks.records.cost.durations`."""
    if not perflogs(paths.results()):
        return {}
    try:
        loaded = reader.load([default()], cost.COLUMNS, compact=True)
    except FabricError as error:
        getlogger().warning(f"no duration of an earlier run can be read: {error}")
        return {}
    return cost.durations(loaded.frame)


def _name(case: TestCase) -> str:
    return case_name(asdict(planned(case)))


def _done_in(session: str) -> set[str]:
    """Return the cases that a run has run, by name."""
    if not session:
        return set()
    found = runs.load_session(paths.results(), session)
    if found.was_killed:
        return {case_name(record) for record in found.records}
    return {case.name for case in found.cases if case.result != "abort"}


def _scheduler(case: TestCase) -> str:
    return str(case.partition.scheduler.registered_name)


def _inside(cases: Sequence[TestCase]) -> list[TestCase]:
    """Return the cases that are to be in the allocation.

    :raises ConfigError: if a case cannot be although all are to, or they are of several schedulers.
    """
    found = [case for case in cases if _scheduler(case) in _KINDS]
    others = [case for case in cases if case not in found]
    if others and in_job.is_for_all():
        raise ConfigError(
            f"--one-job: {others[0].partition.fullname} is run by {_scheduler(others[0])!r}, which has no"
            " allocations: leave the option out"
        )
    if len({_scheduler(case) for case in found}) > 1:
        names = ", ".join(dict.fromkeys(case.partition.fullname for case in found))
        raise ConfigError(f"--one-job: {names} have different schedulers")
    return found


def _access(cases: Sequence[TestCase]) -> list[str]:
    """Return the options of the partitions of cases.

    :raises ConfigError: if they differ, so that one allocation cannot be on both.
    """
    of = {case.partition.fullname: list(case.partition.access) for case in cases}
    (first, access), *others = of.items()
    for name, options in others:
        if options != access:
            raise ConfigError(
                f"--one-job: {first} and {name} have different `access`, so no allocation is on both: choose"
                f" one by --system {first}"
            )
    return access


def _most_wait_s(cases: Sequence[TestCase]) -> float:
    """Return how long the allocation may be in the queue."""
    own = Extras.of(cases[0].partition).max_pending_time
    return float(Duration(own)) if own else 86400.0


def _importance(case: TestCase) -> tuple[int, int]:
    """Return the place of a case; beside each other run those that have a place beside each other."""
    nodes = planned(case).nodes if os.environ.get(in_job.BESIDE) else 0
    ranks = [rank for rank, tag in enumerate(_IMPORTANCE) if tag in case.check.tags]
    return min(ranks, default=len(_IMPORTANCE)), -nodes


def main() -> None:
    """Run ReFrame with the command line of this process."""
    session = _Session()

    def choose(
        cases: list[TestCase], passes: int, options: list[str]
    ) -> list[TestCase]:
        try:
            return session.choose(cases, passes, options)
        except (FabricError, ConfigError) as error:
            # ReFrame would end with a status as if cases had failed.
            console.error(f"error: {error}")
            sys.exit(2)

    internals.run_cases(choose, session.measure_again, session.release)


if __name__ == "__main__":
    main()
