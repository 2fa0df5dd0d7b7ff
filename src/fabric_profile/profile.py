# SPDX-License-Identifier: BSD-3-Clause
"""Parse the file of our library ``profile.so``: the MPI calls of each rank."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.parsers import plain
from fabric_checks.parsers.table import number, whole

_FIRST = re.compile(r"# fabric-checks profile (\S+)")
_LAST = re.compile(r"# complete: ([0-9]{1,9}) ranks")
FORMAT = "1"

_SENDS = ("Send", "Bsend", "Ssend", "Rsend")
_COLLECTIVES = (
    "Barrier",
    "Bcast",
    "Gather",
    "Gatherv",
    "Scatter",
    "Scatterv",
    "Allgather",
    "Allgatherv",
    "Alltoall",
    "Alltoallv",
    "Alltoallw",
    "Reduce",
    "Allreduce",
    "Scan",
    "Exscan",
    "Reduce_scatter_block",
    "Reduce_scatter",
    "Neighbor_allgather",
    "Neighbor_allgatherv",
    "Neighbor_alltoall",
    "Neighbor_alltoallv",
    "Neighbor_alltoallw",
)
_WAITS = (
    "Wait",
    "Waitall",
    "Waitany",
    "Waitsome",
    "Test",
    "Testall",
    "Testany",
    "Testsome",
)
#: The kinds of calls: ``send`` and ``receive`` of messages, ``wait`` for any request, ``collective``, and
#: ``making`` of communicators and windows.
KINDS: dict[str, str] = {
    **{f"{name}{end}": "send" for name in _SENDS for end in ("", "_init", "_start")},
    **{f"I{name.lower()}": "send" for name in _SENDS},
    **dict.fromkeys(
        (
            "Sendrecv",
            "Sendrecv_replace",
            "Isendrecv",
            "Isendrecv_replace",
            "Start",
            "Startall",
        ),
        "send",
    ),
    **dict.fromkeys(
        ("Recv", "Irecv", "Mrecv", "Imrecv", "Recv_init", "Recv_start"), "receive"
    ),
    **dict.fromkeys(("Probe", "Iprobe", "Mprobe", "Improbe"), "receive"),
    **dict.fromkeys(_WAITS, "wait"),
    **{
        f"{name}{end}": "collective"
        for name in _COLLECTIVES
        for end in ("", "_init", "_start")
    },
    **{f"I{name.lower()}": "collective" for name in _COLLECTIVES},
    **{
        f"Win_{name}": "making"
        for name in ("create", "allocate", "allocate_shared", "create_dynamic")
    },
    **{
        f"Comm_{name}": "making"
        for name in (
            "dup",
            "dup_with_info",
            "idup",
            "split",
            "split_type",
            "create",
            "create_group",
        )
    },
    **dict.fromkeys(
        ("Cart_create", "Cart_sub", "Graph_create", "Dist_graph_create"), "making"
    ),
    **dict.fromkeys(
        ("Dist_graph_create_adjacent", "Intercomm_create", "Intercomm_merge"), "making"
    ),
}


@dataclass(frozen=True)
class Calls:
    """Calls of one kind, by one rank, on communicators of one size, of sizes between two powers of two.

    :param call: without ``MPI_``. ``Send_start`` are the starts of what ``Send_init`` made.
    :param comm_size: processes of the communicator; 0 where the call knows of none, such as ``Waitall``.
    :param is_inter: whether it is an inter-communicator, whose own group ``comm_size`` counts.
    :param power: 0 if the size is 0; otherwise sizes are from ``2**(power - 1)`` to ``2**power - 1`` bytes.
        The size is that of a message; of a block, in a collective; of the buffer that a receive offers.
    :param bytes: what this rank handed over: nothing in a receive, and the root alone in a broadcast.
    :param longest_s: the longest of these calls.
    """

    call: str
    comm_size: int
    is_inter: bool
    power: int
    count: int
    bytes: int
    time_s: float
    longest_s: float

    @property
    def kind(self) -> str:
        """The kind of call: one of the values of :data:`KINDS`."""
        return KINDS[self.call]

    @property
    def size_B(self) -> int:
        """The smallest size that is counted here."""
        return 2 ** (self.power - 1) if self.power else 0


@dataclass(frozen=True)
class Rank:
    """The calls of one rank between ``MPI_Init`` and ``MPI_Finalize``.

    :param wall_s: the time between them, :param cpu_s: processor time of all its threads, :param mpi_s: time
        in calls.
    :param not_kept: calls for which the library's table had no room.
    :param partners: messages and bytes that it sent, by rank in MPI_COMM_WORLD; -1 are processes of another
        world.
    """

    host: str
    wall_s: float
    cpu_s: float
    mpi_s: float
    not_kept: int
    calls: tuple[Calls, ...]
    partners: dict[int, tuple[int, int]]


@dataclass(frozen=True)
class Profile:
    """A whole profile: the MPI library by its own words, and the ranks in order."""

    mpi: str
    ranks: tuple[Rank, ...]


def parse(text: str, ranks: int | None = None) -> Profile:
    """Read a profile.

    :param ranks: how many there have to be; any number if it is not given.
    :raises OutputError: if it is cut, damaged, of a call that is not known, or of another number of ranks.
    """
    lines = plain.cleaned(text).splitlines()
    first = _FIRST.fullmatch(lines[0]) if lines else None
    if first is None:
        raise OutputError(
            "this is not a profile: its first line is not '# fabric-checks profile ...'"
        )
    if first[1] != FORMAT:
        raise OutputError(
            f"the profile has format {quoted(first[1])}, but only {FORMAT} is known", 1
        )
    last = _LAST.fullmatch(lines[-1])
    if last is None:
        raise OutputError(
            "the profile is cut off: its last line is not '# complete: ...'"
        )
    mpi, asked = (
        _header(lines, index, key) for index, key in ((1, "mpi"), (2, "ranks"))
    )
    expected = whole(asked, 3, "a number of ranks")
    found = tuple(_ranks(lines))
    for count in {expected, int(last[1])}:
        if len(found) != count:
            raise OutputError(
                f"{count} ranks were profiled, found {len(found)}: a rank is lost"
            )
    if ranks is not None and len(found) != ranks:
        raise OutputError(f"the profile has {len(found)} ranks, expected {ranks}")
    return Profile(mpi, found)


def _header(lines: list[str], index: int, key: str) -> str:
    line = lines[index] if index < len(lines) else ""
    if not line.startswith(f"# {key}: "):
        raise OutputError(
            f"the header line '# {key}: ...' was expected, found {quoted(line)}",
            index + 1,
        )
    return line.removeprefix(f"# {key}: ")


def _ranks(lines: list[str]) -> Iterator[Rank]:
    index, end = 3, len(lines) - 1
    expected = 0
    while index < end:
        words = _words(lines, index, "rank", 8)
        if words[1] != str(expected):
            raise OutputError(
                f"rank {expected} was expected, found {quoted(words[1])}", index + 1
            )
        wall_s, cpu_s, mpi_s = (_time(word, index) for word in words[3:6])
        not_kept = whole(words[6], index + 1, "a number of calls")
        rows = whole(words[7], index + 1, "a number of rows")
        if index + rows >= end:
            raise OutputError(
                f"rank {expected} has {rows} rows, the profile ends before them",
                index + 1,
            )
        calls, partners = _rows(lines, range(index + 1, index + 1 + rows))
        summed_s = sum(each.time_s for each in calls)
        is_off = abs(summed_s - mpi_s) > 1e-9 * (len(calls) + 1)
        if is_off or mpi_s > wall_s * _MOST_THREADS:
            raise OutputError(
                f"the times of rank {expected} do not add up: the profile is damaged",
                index + 1,
            )
        yield Rank(words[2], wall_s, cpu_s, mpi_s, not_kept, tuple(calls), partners)
        index += 1 + rows
        expected += 1


def _rows(
    lines: list[str], numbers: Iterable[int]
) -> tuple[list[Calls], dict[int, tuple[int, int]]]:
    """Return the calls of a rank, and the messages and bytes to each of its partners."""
    calls: list[Calls] = []
    partners: dict[int, tuple[int, int]] = {}
    for at in numbers:
        if not lines[at].startswith("to "):
            calls.append(_calls(lines, at))
            continue
        to, count, moved = _words(lines, at, "to", 4)[1:]
        partner = -1 if to == "-1" else whole(to, at + 1, "a rank")
        partners[partner] = (
            whole(count, at + 1, "a count"),
            whole(moved, at + 1, "a number of bytes"),
        )
    return calls, partners


#: More threads than this are not believed to be in MPI at once.
_MOST_THREADS = 10_000


def _words(lines: list[str], index: int, first: str, count: int) -> list[str]:
    words = lines[index].split(" ")
    if len(words) != count or words[0] != first:
        raise OutputError(
            f"a row '{first} ...' was expected, found {quoted(lines[index])}", index + 1
        )
    return words


def _calls(lines: list[str], index: int) -> Calls:
    _, call, comm_size, group, *counts = _words(lines, index, "call", 9)
    line = index + 1
    if call not in KINDS:
        raise OutputError(f"{quoted(call)} is an unknown call", line)
    if group not in ("intra", "inter"):
        raise OutputError(
            f"'intra' or 'inter' was expected, found {quoted(group)}", line
        )
    power, count, moved = (whole(text, line, "a count") for text in counts[:3])
    time_s, longest_s = (_time(text, index) for text in counts[3:])
    if power > 63 or count == 0 or longest_s > time_s:
        raise OutputError(
            f"{quoted(lines[index])} is impossible: the profile is damaged", line
        )
    size = whole(comm_size, line, "a number of processes")
    return Calls(call, size, group == "inter", power, count, moved, time_s, longest_s)


def _time(text: str, index: int) -> float:
    value = number(text, index + 1)
    if value < 0:
        raise OutputError(f"a time of {value:g} s is impossible", index + 1)
    return value
