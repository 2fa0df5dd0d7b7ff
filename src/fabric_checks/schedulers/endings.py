# SPDX-License-Identifier: BSD-3-Clause
"""Why a job did not end as it should, in the same words for every scheduler."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

#: How many nodes a message names.
MOST_SHOWN = 8

CANCELLED = "it was cancelled, but not by this session"
NODE_FAILED = "a node of it failed"
OUT_OF_MEMORY = "it ran out of memory"
OVER_LIMIT = "it ran over its time limit"


@dataclass(frozen=True)
class Ending:
    """Why a job did not end as it should.

    :param text: in a line; :param node_faults: what keeps its nodes, or those that it waited for, from taking jobs.
    """

    text: str
    node_faults: Mapping[str, str] = field(default_factory=dict)


def listed(found: Mapping[str, str]) -> str:
    """Return faults of nodes for a message; not all of them if they are many."""
    said = list(found.values())
    return "; ".join(
        said if len(said) <= MOST_SHOWN else [*said[: MOST_SHOWN - 1], f"and {len(said) - MOST_SHOWN + 1} more"]
    )


def ended(jobid: str, names: Sequence[str], what: str, said: str, wrong: Mapping[str, str]) -> Ending:
    """Say that a job was ended.

    :param names: its nodes, if it had any; :param what: such as :data:`OVER_LIMIT`; :param said: the scheduler's own
        words for it; :param wrong: what is wrong with its nodes.
    """
    where = f"ran on {', '.join(names)}" if names else "had not started"
    return Ending(f"job {jobid} {where}; {what} ({said}){_blame(listed(wrong))}", wrong)


def waited(
    jobid: str,
    seconds: float,
    says: str,
    *,
    wrong: Mapping[str, str],
    busy: Sequence[str],
    known: int,
    hopeless: bool = False,
) -> Ending:
    """Say that a job waited for too long.

    :param says: the scheduler and its reason; :param busy: the nodes that other jobs have, of so many ``known`` ones.
    :param hopeless: it was not to start at all: too few nodes are in service.
    """
    what = "cannot start" if hopeless else "is still waiting"
    taken = f"{', '.join(busy[:MOST_SHOWN])} taken by other jobs ({len(busy)} of {known} nodes)" if busy else ""
    blame = "; ".join(part for part in (listed(wrong), taken) if part)
    text = f"job {jobid} {what} after {seconds:.0f} s in the queue and was cancelled; {says}"
    return Ending(f"{text}{_blame(blame)}", wrong)


def _blame(said: str) -> str:
    return f": {said}" if said else ""
