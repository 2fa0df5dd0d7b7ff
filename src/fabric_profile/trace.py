# SPDX-License-Identifier: BSD-3-Clause
"""Parse the trace of a rank from our library ``profile.so``: actions that SimGrid replays, one a line.

``checks/fabric/src/profiler/trace.h`` tells what they are. Each is held to its form here, because what reads
it later ends at what it does not know, or takes it for something else.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from fabric_checks.core.errors import OutputError, quoted

_FIRST = "# fabric-checks trace 1"
_RANK = re.compile(r"# rank: ([0-9]{1,7}) of ([0-9]{1,7})")
_RATE = re.compile(r"# flops/s: ([0-9]{1,15})")
_END = re.compile(r"# (complete|cut|stopped): (.*)")
_ACTIONS = re.compile(r"([0-9]{1,15}) actions")
#: At most so many digits has a number of an action; negative is only the source of a receive that never
#: ended.
_WHOLE = re.compile(r"[0-9]{1,18}")

#: The kinds of arguments of actions.
_PARTNER, _NUMBER, _TYPE = "rank", "number", "type"
_TYPES = 60


def _of(*kinds: str) -> Callable[[int], tuple[str, ...]]:
    return lambda ranks: kinds


#: The arguments of each action, by the number of ranks.
_FORMS: Mapping[str, Callable[[int], tuple[str, ...]]] = {
    **dict.fromkeys(("init", "finalize", "barrier", "waitall"), _of()),
    "compute": _of(_NUMBER),
    **dict.fromkeys(
        ("send", "isend", "recv", "irecv"), _of(_PARTNER, _NUMBER, _NUMBER)
    ),
    "wait": _of(_PARTNER, _PARTNER, _NUMBER),
    "bcast": _of(_NUMBER, _PARTNER, _TYPE),
    "reduce": _of(_NUMBER, _NUMBER, _PARTNER, _TYPE),
    **dict.fromkeys(("allreduce", "scan", "exscan"), _of(_NUMBER, _NUMBER, _TYPE)),
    **dict.fromkeys(
        ("gather", "scatter"), _of(_NUMBER, _NUMBER, _PARTNER, _TYPE, _TYPE)
    ),
    **dict.fromkeys(("allgather", "alltoall"), _of(_NUMBER, _NUMBER, _TYPE, _TYPE)),
    **dict.fromkeys(
        ("gatherv", "scatterv"),
        lambda n: (*(_NUMBER,) * (n + 1), _PARTNER, _TYPE, _TYPE),
    ),
    "allgatherv": lambda n: (*(_NUMBER,) * (n + 1), _TYPE, _TYPE),
    "reducescatter": lambda n: (*(_NUMBER,) * (n + 1), _TYPE),
    "alltoallv": lambda n: (*(_NUMBER,) * (2 * n + 2), _TYPE, _TYPE),
}


@dataclass(frozen=True)
class RankTrace:
    """A summary of the trace of a rank.

    :param rank: which rank, :param ranks: of how many.
    :param flops_per_s: the rate that turned processor time to flops, :param flops: all that it computes.
    :param actions: how many of each name.
    """

    rank: int
    ranks: int
    flops_per_s: int
    flops: int
    actions: Mapping[str, int]

    @property
    def compute_s(self) -> float:
        """The processor time that it computed."""
        return self.flops / self.flops_per_s


def parse(lines: Iterable[str]) -> RankTrace:
    """Read a trace, line by line: it may be large.

    :raises OutputError: if it is cut, was stopped by a call that cannot be replayed, or has what is no
        action.
    """
    numbered = enumerate((line.rstrip("\n") for line in lines), 1)
    if next(numbered, (1, ""))[1] != _FIRST:
        raise OutputError("this is not a trace of `fabric-checks profile --trace`", 1)
    rank, ranks = _header(numbered, _RANK, "the rank")
    (rate,) = _header(numbered, _RATE, "the rate")
    if rank >= ranks or rate == 0:
        raise OutputError(
            f"rank {rank} of {ranks}, {rate} flops/s: there is no such rank or rate", 3
        )
    counts: Counter[str] = Counter()
    flops, last, forms = 0, 3, {name: form(ranks) for name, form in _FORMS.items()}
    for number, line in numbered:
        last = number
        if line.startswith("#"):
            _require_whole(line, sum(counts.values()), number)
            _require_end(numbered, number)
            return RankTrace(rank, ranks, rate, flops, dict(counts))
        if line:
            words = line.split()
            _require_action(words, rank, ranks, forms, number)
            counts[words[1]] += 1
            flops += int(words[2]) if words[1] == "compute" else 0
    raise OutputError(
        "the trace is cut off: its last line is missing; did the program end with MPI_Finalize?",
        last,
    )


def _require_end(lines: Iterator[tuple[int, str]], number: int) -> None:
    if next(lines, None):
        raise OutputError(
            "there is something after the end of the trace; trace it again", number + 1
        )


def _header(
    lines: Iterator[tuple[int, str]], pattern: re.Pattern[str], what: str
) -> tuple[int, ...]:
    number, line = next(lines, (2, ""))
    found = pattern.fullmatch(line)
    if not found:
        raise OutputError(f"{what} is missing; trace it again", number)
    return tuple(map(int, found.groups()))


def _require_whole(line: str, actions: int, number: int) -> None:
    found = _END.fullmatch(line)
    if not found:
        raise OutputError(f"{quoted(line)} is not a line of a trace", number)
    how, why = found.groups()
    if how == "cut":
        raise OutputError(
            f"the trace was cut off: {quoted(why)}; trace fewer steps, or set FABRIC_TRACE_BYTES",
            number,
        )
    if how == "stopped":
        raise OutputError(f"the trace was stopped: {quoted(why, 160)}", number)
    counted = _ACTIONS.fullmatch(why)
    if not counted or int(counted[1]) != actions:
        raise OutputError(
            f"the trace ends with {quoted(why)}, but there are {actions}; trace it again",
            number,
        )


def _require_action(
    words: list[str],
    rank: int,
    ranks: int,
    forms: Mapping[str, tuple[str, ...]],
    number: int,
) -> None:
    if len(words) < 2 or words[0] != str(rank):
        raise OutputError(
            f"{quoted(' '.join(words))} is not an action of rank {rank}", number
        )
    name = words[1]
    if name not in forms:
        raise OutputError(
            f"{quoted(name)} is not an action that can be replayed", number
        )
    if len(words) != len(forms[name]) + 2:
        raise OutputError(
            f"{name} has {len(words) - 2} arguments, and needs {len(forms[name])}",
            number,
        )
    most = {_PARTNER: ranks, _TYPE: _TYPES}
    for word, kind in zip(words[2:], forms[name], strict=True):
        _require_number(name, word, number)
        if int(word) >= most.get(kind, math.inf):
            raise OutputError(f"{name}: there is no {kind} {word}", number)


def _require_number(name: str, word: str, number: int) -> None:
    if name == "irecv" and word.startswith("-"):
        raise OutputError(
            "a receive from any source did not complete; it cannot be replayed", number
        )
    if not _WHOLE.fullmatch(word):
        raise OutputError(f"{quoted(word)} is not a valid number for {name}", number)
