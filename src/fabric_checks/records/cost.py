# SPDX-License-Identifier: BSD-3-Clause
"""Costs of runs, estimated from the durations of earlier cases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec
import polars as pl

from fabric_checks.core.errors import RecordError
from fabric_checks.records.record import case_name

_CASE = ("system", "partition", "environ", "test")
#: The fields of records that are read.
COLUMNS = ("session", "time", *_CASE, "metric", "elapsed_s")
#: How many runs of a case the medians are of: the latest.
LATEST = 9


class Expected(msgspec.Struct, frozen=True):
    """What a case takes by its own parameters: seconds of measurement, if nothing is slow, and bytes of
    output."""

    least_s: float
    output_B: int


class PlannedCase(msgspec.Struct, frozen=True):
    """A case that ReFrame would run, with the names that its records have.

    :param nodes: of the allocation; 1 for a simulation.
    :param expected: of a check that can tell.
    """

    system: str
    partition: str
    environ: str
    test: str
    nodes: int
    expected: Expected | None = None


class Plan(msgspec.Struct, frozen=True):
    """The cases of a run that was not made; each would run ``passes`` times."""

    system: str
    passes: int
    cases: tuple[PlannedCase, ...]

    def write(self, path: Path) -> None:
        """Write it as JSON."""
        path.write_bytes(msgspec.json.encode(self))


def read_plan(path: Path) -> Plan:
    """Read a plan that :meth:`Plan.write` wrote.

    :raises RecordError: if it is not there or of another form.
    """
    try:
        return msgspec.json.decode(path.read_bytes(), type=Plan)
    except OSError as error:
        raise RecordError(
            f"{path}: {error.strerror}; ci/run --cost writes it"
        ) from None
    except (msgspec.MsgspecError, ValueError, RecursionError):
        raise RecordError(
            f"{path}: this is not the plan of a run; ci/run --cost writes one"
        ) from None


def durations(frame: pl.DataFrame) -> dict[str, float]:
    """Return the duration of each case on its nodes in seconds, by name: the median of its latest runs.

    :param frame: records with :data:`COLUMNS`. A case that failed before it had values ended early and does
        not count.
    """
    measured = frame.filter(
        pl.col("metric").is_not_null() & pl.col("elapsed_s").is_not_null()
    )
    medians = (
        measured.unique([*_CASE, "session", "time"])
        .sort("time")
        .group_by(_CASE)
        .agg(pl.col("elapsed_s").tail(LATEST).median())
    )
    return {case_name(row): row["elapsed_s"] for row in medians.iter_rows(named=True)}


@dataclass(frozen=True)
class Estimate:
    """The estimated cost of a run: jobs one after the other, without waiting in the queue.

    :param nodes: the most that a job has.
    :param node_minutes: allocated nodes times minutes; :param job_minutes: the sum of all jobs' times. Both
        are of the ``timed_jobs``, of cases with recorded durations.
    :param scan_minutes: the measurements of all pairs in all jobs that have them, computed;
        :param output_MB: their outputs.
    """

    system: str
    passes: int
    jobs: int
    nodes: int
    node_minutes: float
    job_minutes: float
    timed_jobs: int
    scan_minutes: float = 0.0
    output_MB: float = 0.0

    @property
    def unknown_jobs(self) -> int:
        """Return how many jobs have none, so that the sums lack them."""
        return self.jobs - self.timed_jobs


def estimate(plan: Plan, past: Mapping[str, float]) -> Estimate:
    """Estimate the cost of a run by the durations of its cases.

    :param past: how long cases took in seconds, see :func:`durations`.
    """
    timed_jobs = 0
    node_s = job_s = scan_s = output_B = 0.0
    for case in plan.cases:
        time_s = past.get(case_name(msgspec.structs.asdict(case)))
        if time_s is not None:
            timed_jobs += plan.passes
            node_s += plan.passes * case.nodes * time_s
            job_s += plan.passes * time_s
        if case.expected:
            scan_s += plan.passes * case.expected.least_s
            output_B += plan.passes * case.expected.output_B
    return Estimate(
        plan.system,
        plan.passes,
        jobs=len(plan.cases) * plan.passes,
        nodes=max((case.nodes for case in plan.cases), default=0),
        node_minutes=round(node_s / 60, 3),
        job_minutes=round(job_s / 60, 3),
        timed_jobs=timed_jobs,
        scan_minutes=round(scan_s / 60, 3),
        output_MB=round(output_B / 1e6, 3),
    )
