# SPDX-License-Identifier: BSD-3-Clause
"""Define the record: its fields, the parts of a check that fill them, and helpers that every reader needs.

A record is the whole of one value: :data:`FIELDS` are its keys, ``format``, ``case``, and the members of the
four classes here except ``metrics``. A perflog has a line for each case, with all of its values
(:mod:`fabric_checks.records.lines`); a case that failed before it had values is a record whose
:class:`MetricFacts` and :class:`Judgement` are null. The annotations are the types that are validated, and
those of the columns of tables (:mod:`fabric_checks.records.table`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin, get_type_hints

from fabric_checks.core.grouping import by_key

if TYPE_CHECKING:
    from msgspec import Meta
else:
    try:
        from msgspec import Meta
    except (
        ModuleNotFoundError
    ):  # a site's own ReFrame has none: it writes records, and reads none

        def Meta(**_: object) -> None:
            """Stand for the bounds, which only readers need."""


#: The joined view of one value.
Record = Mapping[str, Any]

#: The version of this format.
FORMAT = 3
#: The name of something.
Name = Annotated[str, Meta(max_length=1000)]
Text = Annotated[str, Meta(max_length=2**20)]
#: No value is larger: sums and squares of larger ones overflow.
Number = Annotated[float, Meta(ge=-1e30, le=1e30)]
#: A duration or a rate, which is never below zero.
Amount = Annotated[float, Meta(ge=0, le=1e30)]
Count = Annotated[int, Meta(ge=0, le=2**53)]
#: The feature of a partition whose jobs are simulations: its nodes are simulated, and the host runs them.
SIMULATED = "simulated"


@dataclass(slots=True)
class Case:
    """Identify a case and its result, from ReFrame."""

    reframe: Text | None  # version of ReFrame
    system: Annotated[str, Meta(max_length=80)]
    partition: Name
    environ: Name
    test: Name  # the class with its parameters, as ReFrame writes them
    case_result: Name | None  # of the whole case; see `is_success`
    fail_reason: Text | None
    jobid: Text | int | None


@dataclass(slots=True)
class Judgement:
    """Hold a value and what ReFrame compared it with."""

    metric: Name
    value: Number
    unit: Name
    reference: Number | None
    lower: (
        Number | None
    )  # allowed relative deviation below the reference, e.g. -0.05; see `bounds`
    upper: Number | None
    result: Name | None  # of this metric: pass, fail, xfail, xpass


@dataclass(slots=True)
class MetricFacts:
    """Describe a metric: what its check declares of it, and its reference."""

    # Declared by the check: RecordMixin.
    quantity: Name | None  # the curve a metric is a point of
    size_B: Count | None = None  # message size of that point
    better: Text | None = None  # smaller or larger
    one_way: bool | None = (
        None  # whether a rate counts one direction only, so that the link's rate bounds it
    )
    headline: dict[str, Any] | None = (
        None  # whether and how it is shown among the headline values: metrics.Headline
    )
    meaning: Text | None = None  # one sentence: what it is
    can_be_zero: bool | None = (
        None  # whether 0 or less is valid, so that two values are compared by their difference
    )
    # Of a ratio or difference: metric, quantity, unit and values by layout that it was computed from.
    # PpnRatioMixin and LammpsPpnSeries.
    compared: dict[str, Any] | None = None
    # Its reference: ReferencesMixin.
    no_reference: Text | None = None  # why it has none
    evidence: Text | None = (
        None  # of a simulation: fitted, predicted, said or simulated
    )
    reference_source: Text | None = (
        None  # the document, and where in it the reference stands
    )

    def as_data(self) -> dict[str, Any]:
        """Return all of it as JSON has it."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(slots=True)
class Facts:
    """Collect the facts of a run of a check. The mixins that are named fill them; ReFrame logs them as plain
    data."""

    # RecordMixin, when the case is set up.
    session: Name  # the run of ReFrame
    check: Name  # the class
    family: Text | None = None  # the section of a report: core.families
    parameters: dict[str, Any] | None = None  # of the test but its layout, by name
    collection: Text | None = None  # version and commit of the collection
    about: Text | None = None  # the description of the partition, or else of the system
    link_MBps: Amount | None = None  # the rate of a link, from the partition's extras
    layout: Text | None = None  # nodes x processes a node
    nodes: Count | None = None
    ppn: Count | None = None
    tasks: Count | None = None
    sizes_B: list[Count] | None = None  # all message sizes that were requested
    not_offered: dict[str, str] | None = (
        None  # suites that were asked for and that the environment lacks, and why
    )
    # Where the case's files are, relative to the folder of results: output/SESSION/..., or stage/SESSION/...
    # of a case that failed. Null in a dry run, and where a site keeps them elsewhere.
    output: Text | None = None
    metrics: dict[str, MetricFacts] = field(default_factory=dict)  # by metric
    # RecordMixin, when the job has ended: ISO 8601 with time zone; of a case that failed before, the time of
    # the log.
    time: Text | None = None
    job_state: Text | None = None  # in the words of the scheduler
    job_began: Text | None = (
        None  # ISO 8601 with time zone; null if it never began, or if that is unknown
    )
    node_faults: dict[str, str] | None = (
        None  # why nodes that it had, or waited for, are out of service
    )
    elapsed_s: Amount | None = (
        None  # how long the job ran on its nodes, without the queue
    )
    # The first node when the job's script began and ended: load average of the last minute, and runnable
    # processes, of which one reads them. Null for a simulation, whose values do not depend on it.
    host_cores: Count | None = None
    load_1min_before: Amount | None = None
    load_1min_after: Amount | None = None
    runnable_processes_before: Count | None = None
    runnable_processes_after: Count | None = None
    # ProgramMixin, or OwnProgram of checks/fabric.
    program: Text | None = None
    program_version: Text | None = None
    stack: Text | None = (
        None  # where the program came from: wheels, spack, modules, simgrid, or built here
    )
    # ProgramMixin, of what Spack built: the concretized spec, its hash, and the release of Spack.
    spec: Text | None = None
    spec_hash: Text | None = None
    spack: Text | None = None
    # ContainerMixin, of programs inside an image: the platform, the image as it is named, and its digest.
    container: Text | None = None
    image: Text | None = None
    image_digest: Text | None = None
    # PlacementMixin, PortsMixin.
    mpi: Text | None = None  # as the library itself reports it
    compiler: Text | None = None
    # Where the ranks ran; if the case failed before that, the nodes that the scheduler names.
    nodelist: list[str] | None = None
    placement: list[str] | None = None  # node and allowed CPUs of each rank
    binding: Text | None = (
        None  # of ranks to CPUs: none, core, unknown, or CPUs by local rank as in 0-3|4-7
    )
    # The traffic and errors of the ports; see `fabric_checks.ports.evaluation.Evaluation`. Null on one node.
    ports: dict[str, Any] | None = None
    # The checks themselves and PortsMixin: what an analysis found, as `core.finding.Finding.as_dict` gives
    # it.
    findings: list[dict[str, Any]] | None = None
    # The checks themselves: the smallest faults that the run would have named, by part: of a `node`, `pair`,
    # `cable` or `leaf` the share of the bandwidth that is lost, with `_us` the latency; null where none would
    # have been.
    limits: dict[str, float | None] | None = None

    def as_data(self) -> dict[str, Any]:
        """Return all of it as JSON has it, not copied: ReFrame asks for it at every line of its log."""
        data = {name: getattr(self, name) for name in self.__slots__}
        return data | {
            "metrics": {name: facts.as_data() for name, facts in self.metrics.items()}
        }


#: The result of a value that missed its reference once, and met it when it was measured again, and of its
#: case; no record in a perflog has it: see `fabric_checks.records.repeats`.
UNCONFIRMED = "unconfirmed"
#: Results of a case or a value that is as it should be.
SUCCESS = ("pass", "xfail", UNCONFIRMED)


def is_success(result: str | None) -> bool:
    """Tell whether a case or a value is as it should be."""
    return result in SUCCESS


def other_processes(record: Record) -> int:
    """Return how many other processes were ready to run on the first node when a case began and when it
    ended."""
    counts = [record[f"runnable_processes_{moment}"] for moment in ("before", "after")]
    # One of them is the process that reads the number.
    return max(0, min((count for count in counts if count is not None), default=1) - 1)


def was_disturbed(record: Record) -> bool:
    """Tell whether other processes and the ranks of a case had too few cores, when it began and when it
    ended."""
    others = other_processes(record)
    return bool(
        others
        and record["host_cores"]
        and others + (record["ppn"] or 1) > record["host_cores"]
    )


def never_began(record: Record) -> bool:
    """Tell whether a job was submitted and ended without ever being on a node."""
    return (
        record["job_state"] is not None
        and record["job_began"] is None
        and not record["nodelist"]
    )


def machine_name(of: Mapping[str, Any]) -> str:
    """Return the system, partition and environment of a measurement, as in ``local:node+mpich``."""
    return f"{of['system']}:{of['partition']}+{of['environ']}"


def case_name(of: Mapping[str, Any]) -> str:
    """Return the name of a case: its test, and where it ran."""
    return f"{of['test']} @{machine_name(of)}"


def by_case(records: Iterable[Record]) -> dict[str, list[Record]]:
    """Return records by the name of their case."""
    return by_key(records, case_name)


def limit(reference: float, share: float | None) -> float | None:
    """Return the value that a bound stands for, in the reference's unit; None where there is no bound.

    As ``reframe.utility.sanity.reference_bounds``: shares are of the reference's size; of 0, they are values.
    """
    return None if share is None else reference + share * (abs(reference) or 1.0)


def bounds(record: Record) -> tuple[float | None, float | None]:
    """Return the least and the greatest value that pass, in the record's unit; None where there is no
    limit."""
    reference = record["reference"]
    if reference is None:
        return None, None
    return limit(reference, record["lower"]), limit(reference, record["upper"])


#: The type of each key of a record, in their order, as it is validated.
HINTS: dict[str, Any] = {"format": int, "case": Name} | {
    name: hint
    for part in (Case, Facts, Judgement, MetricFacts)
    for name, hint in get_type_hints(part, include_extras=True).items()
    if name != "metrics"
}
FIELDS = tuple(HINTS)
#: The plain type of each: bool, int, float, str, list or dict.
TYPES: dict[str, type] = {"format": int, "case": str} | {
    name: get_origin(kind := next(iter(get_args(hint)), hint)) or kind
    for part in (Case, Facts, Judgement, MetricFacts)
    for name, hint in get_type_hints(part).items()
    if name in HINTS
}
#: The fields of a value in the line of its case, and those that it shares with the others of its group.
OF_VALUE = ("metric", "size_B", "value", "reference", "lower", "upper", "result")
OF_GROUP = tuple(
    name
    for name in (*Judgement.__slots__, *MetricFacts.__slots__)
    if name not in OF_VALUE
)
#: The fields that all values of a case share.
OF_CASE = tuple(name for name in FIELDS if name not in (*OF_GROUP, *OF_VALUE))

#: Records that agree in these are of one series: the same metric, measured again.
SERIES = ("system", "partition", "environ", "check", "test", "layout", "metric", "unit")

#: Two records that agree in these are one measurement that was written twice: the name of a case is a
#: checksum of all that it has.
MEASUREMENT = ("case", "metric")
