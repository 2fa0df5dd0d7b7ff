# SPDX-License-Identifier: BSD-3-Clause
"""The ``extras`` of partitions and environments of ReFrame that the checks read, each with its unit.

A site's settings may have other keys, for other suites. One that is nearly one of these is refused, because
the check that needs it would do without in silence; ``others`` lists the few that are meant.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal, TypeVar

from fabric_checks.core import schema
from fabric_checks.core.schema import Count, Positive, option, rules

T = TypeVar("T", "Extras", "EnvironExtras")

#: A key is taken for a misspelt one of ours from this likeness on (:mod:`difflib`).
_NEAR = 0.75
#: What ReFrame itself adds to the extras of each partition.
OF_REFRAME = ("scheduler", "launcher")

Few = Annotated[int, rules(minimum=1, maximum=1000)]
Shape = Annotated[
    str,
    rules(
        pattern="^[1-9][0-9]*x[1-9][0-9]*$",
        description="nodes x processes a node, as in 2x4",
    ),
]
Words = list[Annotated[str, rules(minLength=1)]]


#: Container runtimes whose command starts a program inside an image. Docker's daemon would start it outside
#: of the job.
BY_COMMAND = ("Apptainer", "Singularity", "Podman", "Sarus")
#: Plugins of Slurm for which an option of ``srun`` does: NVIDIA's Pyxis, and CSCS's Container Engine, whose
#: environment definition file (EDF) names the image.
BY_LAUNCHER = ("Pyxis", "EDF")


@dataclass(frozen=True)
class Container:
    """How programs are started inside an image."""

    platform: (
        Literal["Apptainer", "Singularity", "Podman", "Sarus", "Pyxis", "EDF"] | None
    ) = option("the runtime")
    image: str = option("the image, as the runtime takes it: a file, or a name", "")
    options: tuple[str, ...] = option("further options of the runtime, or of srun", ())
    mpi: str = option("the MPI inside, as in mpich@4.3", "")

    def __str__(self) -> str:
        """Return image and platform as they stand in messages."""
        return f"{self.image} ({self.platform})"

    @property
    def by_launcher(self) -> bool:
        """Whether an option of the launcher starts it, so that everything that is launched is inside."""
        return self.platform in BY_LAUNCHER


@dataclass(frozen=True, kw_only=True)
class Extras:
    """The extras of a partition."""

    nodes: Annotated[int, rules(minimum=1, maximum=10**6)] = option(
        "the most nodes of a job", 1
    )
    cores: Annotated[int, rules(minimum=1, maximum=10**5)] | None = option(
        "the cores of a node; without it those of `processor`"
    )
    ppn: list[Count | Literal["full"]] | None = option(
        "processes a node to measure with, in addition to 1, 2 and all cores; powers of two without it"
    )
    layouts: list[Shape] | None = option(
        "the layouts to measure with, instead of those by nodes, cores and ppn"
    )
    gpus: Annotated[int, rules(minimum=0, maximum=1000)] | None = option(
        "the GPUs of a node; without it those of `devices`"
    )
    link_MBps: Annotated[float, rules(exclusiveMinimum=0, maximum=1e9)] | None = option(
        "the rate of one link of a node, in 10^6 B/s"
    )
    nics: Few = option("such links of a node", 1)
    fabric: Words = option(
        "patterns of the ports that carry the traffic, as in mlx5_*, hsn*", make=list
    )
    topology: Words = option(
        "files with the topology of the fabric, as of ibnetdiscover or OpenSM",
        make=list,
    )
    routing: Literal["static", "adaptive", "hashed", "unknown"] | None = option(
        "how switches choose routes"
    )
    launch_options: list[str] | None = option(
        "options of the launcher that start {tasks} processes, {ppn} a node, on {nodes} nodes of a larger job"
    )
    program_options: Mapping[str, list[str]] = option(
        "further options by the name of the program", make=dict
    )
    oversubscribed: bool = option(
        "whether ranks may share cores, as on a test machine", False
    )
    references: str | None = option(
        "the file of references: a path, or a name in config/references"
    )
    one_job: bool = option(
        "whether a night asks for one allocation, in which all of its cases run", False
    )
    max_pending_time: Annotated[str, rules(pattern=r"^(\d+[dhms])+$")] | None = option(
        "the longest time in the queue, as in 12h; 1d without it"
    )
    launcher_bounds_time: bool = option(
        "whether the launcher bounds the time of what it starts", False
    )
    host_lock: str | None = option("a lock file for the jobs of this host")
    largest_work_B: Positive | None = option(
        "the largest message that is sent while ranks compute, in bytes"
    )
    most_work_tasks: Count | None = option("the most ranks that compute at once")
    container: Container | None = option("the image that programs run in")
    others: tuple[str, ...] = option(
        "keys of other suites that look like one of these", ()
    )

    @classmethod
    def of(cls, partition: Any) -> Extras:
        """Return the extras of a partition of ReFrame.

        :raises SchemaError: with partition, key, cause and remedy.
        """
        return _read(cls, partition)


@dataclass(frozen=True, kw_only=True)
class EnvironExtras:
    """The extras of an environment; `fabric_checks.software.programs.environment` writes the first three."""

    stack: str = option(
        "where its programs come from: wheels, spack, modules, simgrid", ""
    )
    programs: Mapping[str, dict[str, Any]] = option(
        "its program of each suite", make=dict
    )
    without: Mapping[str, str] = option(
        "why it lacks a suite or a feature of one", make=dict
    )
    blocking_wait: Mapping[str, str] = option(
        "variables with which the MPI blocks while it waits", make=dict
    )
    container: Container | None = option("the image that programs run in")
    spack: Mapping[str, str] = option(
        "the scopes of Spack that build its programs", make=dict
    )
    not_set_up: str = option("why it cannot be used yet", "")
    others: tuple[str, ...] = option(
        "keys of other suites that look like one of these", ()
    )

    @classmethod
    def of(cls, environ: Any) -> EnvironExtras:
        """Return the extras of an environment of ReFrame; see :meth:`Extras.of`."""
        return _read(cls, environ)


#: What was read, as a listing of the checks asks for it a thousand times.
_KNOWN: dict[tuple[type, str, str], Any] = {}


def _read(kind: type[T], part: Any) -> T:
    """Return the extras of a part of ReFrame's configuration, each read once a process."""
    name = str(getattr(part, "fullname", getattr(part, "name", "")))
    key = (kind, name, repr(part.extras))
    if key not in _KNOWN:
        _KNOWN[key] = parse(kind, part.extras, f"{name}: extras".removeprefix(": "))
    found: T = _KNOWN[key]
    return found


def parse(
    kind: type[T], given: Mapping[str, Any], place: str, *, only_ours: bool = False
) -> T:
    """Return extras as ReFrame's configuration has them.

    :param only_ours: whether keys of other suites are refused too.
    :raises SchemaError: with the place, key, cause and remedy.
    """
    known: tuple[str, ...] = names(kind)
    allowed = {*known, *OF_REFRAME, *given.get("others", ())}
    for key in given.keys() - allowed:
        if only_ours:
            remedy = schema.near(key, known)
        elif meant := schema.nearest(key, known, _NEAR):
            remedy = f"did you mean {meant}? If it is of another suite, list it under 'others' too"
        else:
            continue
        raise schema.SchemaError(f"{place}: {key}: unknown; {remedy}")
    return schema.convert(
        {key: each for key, each in given.items() if key in known}, kind, place
    )


def names(kind: type) -> tuple[str, ...]:
    """Return the keys that are ours."""
    return tuple(field.name for field in fields(kind))
