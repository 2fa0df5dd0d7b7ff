# SPDX-License-Identifier: BSD-3-Clause
"""Print a profile as lines, or write it as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from fabric_checks.core.text import (
    bytes_text,
    count_text,
    one_line,
    size_text,
    value_text,
)
from fabric_profile import evaluation as analysis
from fabric_profile.profile import Profile

#: How many calls are listed; the rest is one line.
_MOST_CALLS = 12


def as_lines(profile: Profile) -> list[str]:
    """Return the profile as the lines of one screen."""
    found = analysis.values(profile)
    ranks = len(profile.ranks)
    wall_s = max(rank.wall_s for rank in profile.ranks)
    hosts = len({rank.host for rank in profile.ranks})
    lines = [
        f"{ranks} ranks on {count_text(hosts, 'host')}, {value_text(wall_s)} s; {one_line(profile.mpi)}",
        (
            f"in MPI {found['profile_mpi_share']:.1f} % of the time; of that"
            f" {found['profile_collective_share']:.1f} % in collectives, {found['profile_wait_share']:.1f} %"
            " waiting for requests"
        ),
        f"the busiest rank spends {found['profile_imbalance']:.1f} % more time outside of MPI than the mean",
        *_message_line(found),
        "",
        *_call_table(profile),
        "",
        *_table_by_size("messages", analysis.histogram(profile, analysis.is_message)),
        "",
        *_table_by_size(
            "collectives", analysis.histogram(profile, analysis.moves_in_a_collective)
        ),
    ]
    if any(
        each.call.startswith("Win_") for rank in profile.ranks for each in rank.calls
    ):
        lines += [
            "",
            "the program makes windows: its one-sided transfers and their synchronisation are not counted",
        ]
    if missing := analysis.not_kept(profile):
        lines += [
            "",
            f"{missing} calls are missing: there were more kinds of them than a profile has room for",
        ]
    return lines


def _call_table(profile: Profile) -> Iterator[str]:
    yield f"  {'call':<24}{'calls':>12}{'bytes':>10}{'s, all ranks':>14}{'% of time':>11}{'longest, us':>13}"
    totals = analysis.by_call(profile)
    for each in totals[:_MOST_CALLS]:
        yield (
            f"  {each.call:<24}{each.count:>12}{bytes_text(each.bytes):>10}{value_text(each.time_s):>14}"
            f"{each.share_percent:>11.2f}{value_text(each.longest_s * 1e6):>13}"
        )
    rest = totals[_MOST_CALLS:]
    if rest:
        share = sum(each.share_percent for each in rest)
        yield f"  {f'{len(rest)} others':<24}{sum(each.count for each in rest):>12}{'':>24}{share:>11.2f}"


def _message_line(found: dict[str, float]) -> Iterator[str]:
    if not found["profile_message_rate"]:
        return
    yield (
        f"a rank sends {value_text(found['profile_message_rate'])} messages/s to"
        f" {found['profile_partners']:.3g} ranks; half of them have"
        f" {size_text(int(found['profile_message_median']))} bytes or more, and half of all bytes are in"
        f" messages of {size_text(int(found['profile_bytes_median']))} bytes or more"
    )


def _table_by_size(what: str, found: dict[int, tuple[int, int]]) -> Iterator[str]:
    """Yield lines of a histogram.

    :param found: how many there were and the bytes that ranks handed over, by the lower power of two of the
        size.
    """
    if not found:
        yield f"  no {what}"
        return
    count, moved = (sum(each[index] for each in found.values()) for index in (0, 1))
    yield f"  {f'{what} of, B':<24}{what if what == 'messages' else 'calls':>12}{'%':>8}{'bytes':>12}{'%':>8}"
    for size_B, (times, sent) in found.items():
        span = (
            size_text(size_B)
            if size_B < 2
            else f"{size_text(size_B)} to {size_text(2 * size_B)}"
        )
        yield (
            f"  {span:<24}{times:>12}{100 * times / count:>8.1f}{bytes_text(sent):>12}"
            f"{100 * sent / moved if moved else 0:>8.1f}"
        )


def as_json(profile: Profile) -> str:
    """Return the same as JSON, with every row of the profile."""
    units = {metric.name: metric.unit for metric in analysis.METRICS}
    ranks: list[dict[str, Any]] = [
        {
            "host": rank.host,
            "wall_s": rank.wall_s,
            "cpu_s": rank.cpu_s,
            "mpi_s": rank.mpi_s,
            "calls": [
                vars(each) | {"kind": each.kind, "size_B": each.size_B}
                for each in rank.calls
            ],
            "sent_to": {
                str(to): {"messages": sent[0], "bytes": sent[1]}
                for to, sent in rank.partners.items()
            },
        }
        for rank in profile.ranks
    ]
    return json.dumps(
        {
            "mpi": profile.mpi,
            "figures": analysis.values(profile),
            "units": units,
            "ranks": ranks,
        },
        indent=1,
    )
