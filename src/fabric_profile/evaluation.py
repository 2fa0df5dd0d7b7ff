# SPDX-License-Identifier: BSD-3-Clause
"""Evaluate a profile: the time of a program by call, the balance of its ranks, and its messages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from fabric_checks.core.metrics import Metric
from fabric_profile.profile import Calls, Profile

#: The metrics of a profile; none has a reference.
METRICS = [
    Metric(
        "profile_mpi_share",
        "%",
        "smaller",
        about="Share of the run time in MPI, mean of the ranks",
    ),
    Metric(
        "profile_collective_share",
        "%",
        "smaller",
        about="Share of the time in MPI that is in collectives",
    ),
    Metric(
        "profile_wait_share",
        "%",
        "smaller",
        about="Share of the time in MPI that is in waiting for requests",
    ),
    Metric(
        "profile_imbalance",
        "%",
        "smaller",
        about="By how much the busiest rank is longer outside of MPI than the mean",
    ),
    Metric("profile_call_rate", "1/s", "smaller", about="MPI calls a second of a rank"),
    Metric(
        "profile_message_rate",
        "1/s",
        "smaller",
        can_be_zero=True,
        about="Messages a second of a rank",
    ),
    Metric(
        "profile_message_median",
        "B",
        "larger",
        can_be_zero=True,
        about="Size of the median message",
    ),
    Metric(
        "profile_bytes_median",
        "B",
        "larger",
        can_be_zero=True,
        about="Size of the message with the median byte",
    ),
    Metric(
        "profile_sent_rate",
        "MB/s",
        "smaller",
        can_be_zero=True,
        about="Bytes that a rank sends a second",
    ),
    Metric(
        "profile_partners",
        "1",
        "smaller",
        can_be_zero=True,
        about="Ranks that a rank sends messages to",
    ),
]


@dataclass(frozen=True)
class CallTotal:
    """One call, of all ranks: how often, its bytes, and its time as a share of all ranks' run time."""

    call: str
    count: int
    bytes: int
    time_s: float
    longest_s: float
    share_percent: float


def values(profile: Profile) -> dict[str, float]:
    """Return the value of each of :data:`METRICS`.

    ``mpi_share`` is the time in MPI of the run time, the mean of all ranks. ``collective_share`` and
    ``wait_share`` are of the time in MPI: in collectives, and in waiting for requests, whatever they are of.
    ``imbalance`` is by how much the busiest rank is longer outside of MPI than the mean of all. Rates are of
    one rank. ``message_median`` is the size of the middle message, ``bytes_median`` that of the message with
    the middle byte, each as the lower power of two. ``partners`` are the ranks that a rank sends messages to.
    """
    ranks = profile.ranks
    calls = list(_all(profile))
    wall_s = sum(rank.wall_s for rank in ranks)
    mpi_s = sum(rank.mpi_s for rank in ranks)
    messages = histogram(profile, is_message)
    sent = {size: of[0] for size, of in messages.items()}
    moved = {size: of[1] for size, of in messages.items()}
    collective_s, wait_s = (
        sum(of.get(kind, 0.0) for of in time_by_kind(profile))
        for kind in ("collective", "wait")
    )
    return {
        "profile_mpi_share": _percent(mpi_s, wall_s),
        "profile_collective_share": _percent(collective_s, mpi_s),
        "profile_wait_share": _percent(wait_s, mpi_s),
        "profile_imbalance": _imbalance(profile),
        "profile_call_rate": sum(each.count for each in calls) / wall_s,
        "profile_message_rate": sum(sent.values()) / wall_s,
        "profile_message_median": float(weighted_median(sent)),
        "profile_bytes_median": float(weighted_median(moved)),
        "profile_sent_rate": sum(each.bytes for each in calls) / wall_s / 1e6,
        "profile_partners": sum(len(rank.partners) for rank in ranks) / len(ranks),
    }


def _imbalance(profile: Profile) -> float:
    busy_s = [max(rank.wall_s - rank.mpi_s, 0.0) for rank in profile.ranks]
    mean_s = sum(busy_s) / len(busy_s)
    return _percent(max(busy_s) - mean_s, mean_s)


def is_message(calls: Calls) -> bool:
    """Return whether these sent messages: from one rank to another, not those within a collective."""
    return (
        calls.kind == "send"
        and not calls.call.endswith("_init")
        and calls.call not in ("Start", "Startall")
    )


def moves_in_a_collective(calls: Calls) -> bool:
    """Return whether these are collectives with data: not `MPI_Barrier`, and no initialisations."""
    return (
        calls.kind == "collective"
        and not calls.call.endswith("_init")
        and "arrier" not in calls.call
    )


def histogram(
    profile: Profile, which: Callable[[Calls], bool]
) -> dict[int, tuple[int, int]]:
    """Return how many calls there were and how many bytes they handed over, by size: 0, or the lower power of
    two.

    :param which: selects the calls.
    """
    found: dict[int, tuple[int, int]] = {}
    for calls in _all(profile):
        if which(calls):
            count, moved = found.get(calls.size_B, (0, 0))
            found[calls.size_B] = count + calls.count, moved + calls.bytes
    return dict(sorted(found.items()))


def by_call(profile: Profile) -> list[CallTotal]:
    """Return the calls of all ranks, by decreasing time."""
    found: dict[str, list[Calls]] = defaultdict(list)
    for calls in _all(profile):
        found[calls.call].append(calls)
    wall_s = sum(rank.wall_s for rank in profile.ranks)
    totals = [_total(call, all_of_it, wall_s) for call, all_of_it in found.items()]
    return sorted(totals, key=lambda total: (-total.time_s, total.call))


def _total(call: str, calls: list[Calls], wall_s: float) -> CallTotal:
    time_s = sum(each.time_s for each in calls)
    return CallTotal(
        call,
        sum(each.count for each in calls),
        sum(each.bytes for each in calls),
        time_s,
        max(each.longest_s for each in calls),
        _percent(time_s, wall_s),
    )


def not_kept(profile: Profile) -> int:
    """Return how many calls are missing, because there were more sorts of them than a profile has room
    for."""
    return sum(rank.not_kept for rank in profile.ranks)


def weighted_median(weights: dict[int, int]) -> int:
    """Return the smallest key up to which there is half of all the weight; 0 if there is none.

    >>> weighted_median({8: 3, 64: 2, 1024: 2})
    64
    """
    half, found = sum(weights.values()) / 2, 0
    for key in sorted(weights):
        found += weights[key]
        if found >= half and found > 0:
            return key
    return 0


def _all(profile: Profile) -> Iterable[Calls]:
    return (each for rank in profile.ranks for each in rank.calls)


def time_by_kind(profile: Profile) -> list[dict[str, float]]:
    """Return for each rank the seconds in each kind of call, and under ``outside`` those outside of MPI."""
    found = []
    for rank in profile.ranks:
        times: dict[str, float] = defaultdict(float)
        for calls in rank.calls:
            times[calls.kind] += calls.time_s
        times["outside"] = max(rank.wall_s - rank.mpi_s, 0.0)
        found.append(dict(times))
    return found


def _percent(part: float, whole: float) -> float:
    return 100 * part / whole if whole > 0 else 0.0
