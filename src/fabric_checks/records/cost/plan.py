# SPDX-License-Identifier: BSD-3-Clause
"""What a run would do: the cases that ReFrame selects for it, from :mod:`fabric_checks.reframe_ext.planning`."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from fabric_checks.core.errors import RecordError

#: The feature of a partition whose jobs are simulations: its nodes are none, the host is one.
SIMULATED = "simulated"


@dataclass(frozen=True)
class PlannedCase:
    """One case, with the names that its records have.

    :param nodes: of the allocation; 1 for a simulation.
    :param limit_s: the time after which its job is ended, None if nothing ends it.
    """

    system: str
    partition: str
    environ: str
    check: str
    test: str
    parameters: Mapping[str, Any]
    layout: str
    nodes: int
    simulated: bool
    limit_s: float | None


@dataclass(frozen=True)
class Partition:
    """Where cases run.

    :param nodes: how many nodes the checks may use, None if that is not said.
    :param max_jobs: how many jobs ReFrame may have there at a time.
    """

    name: str
    nodes: int | None
    max_jobs: int


@dataclass(frozen=True)
class Plan:
    """A run that was not made.

    :param command: as :func:`options_of` returns it. :param passes: how often each case would run.
    """

    command: str
    passes: int
    system: str
    partitions: tuple[Partition, ...]
    cases: tuple[PlannedCase, ...]

    @property
    def jobs(self) -> int:
        """How many jobs it is."""
        return len(self.cases) * self.passes

    def write(self, path: Path) -> None:
        """Write it as JSON."""
        path.write_text(json.dumps(asdict(self)))


def read(path: Path) -> Plan:
    """Read what :meth:`Plan.write` wrote.

    :raises RecordError: if it is not there or of another form.
    """
    try:
        found = json.loads(path.read_text())
        partitions = tuple(Partition(**each) for each in found.pop("partitions"))
        cases = tuple(PlannedCase(**each) for each in found.pop("cases"))
        return Plan(**found, partitions=partitions, cases=cases)
    except OSError as error:
        raise RecordError(f"{path}: {error.strerror}; ci/run --cost writes it") from None
    except (ValueError, TypeError, KeyError, AttributeError):
        raise RecordError(f"{path}: this is not the plan of a run; ci/run --cost writes one") from None


def options_of(words: Sequence[str]) -> str:
    """Return what tells one run from another in a command line of ReFrame.

    That is without what all of ours have, and where results go.
    """
    out: list[str] = []
    rest = iter(words[1:])
    for word in rest:
        if word in ("-c", "--report-junit"):
            next(rest, None)
        elif word not in ("-r", "--run") and not word.startswith("--report-junit="):
            out.append(word)
    return shlex.join(out)


def level_of(command: str) -> str | None:
    """Return the mode that a command line chooses, or None."""
    words = shlex.split(command)
    for word, following in pairwise([*words, ""]):
        if word == "--mode":
            return following
        if word.startswith("--mode="):
            return word.removeprefix("--mode=")
    return None
