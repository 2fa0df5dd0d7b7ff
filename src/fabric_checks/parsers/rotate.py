# SPDX-License-Identifier: BSD-3-Clause
"""Output of our program ``rotate``: the bandwidth of every pair, and of suspect pairs measured again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fabric_checks.core.errors import quoted
from fabric_checks.parsers import fabric, rotate_patterns
from fabric_checks.parsers.table import number, require

#: The phases of a run, in order.
PHASES = ("scan", "leaf", "together", "control", "alone", "both", "both-alone")
#: Those in which two nodes send to each other at once, beside others and alone.
EXCHANGES = PHASES[-2:]

TABLE = fabric.Table(
    "rotate",
    {
        "round": fabric.COUNT,
        "sender": fabric.COUNT,
        "receiver": fabric.COUNT,
        "MBps": fabric.POSITIVE,
        "slowest_MBps": fabric.POSITIVE,
        "phase": fabric.one_of(*PHASES),
    },
    keys=("phase", "round", "sender", "receiver"),
)
#: Since the program prints the median of the tests, too.
WITH_MEDIAN = replace(TABLE, columns={**TABLE.columns, "median_MBps": fabric.POSITIVE})


@dataclass(frozen=True)
class Transfers:
    """Measured pairs, as arrays of the same length.

    :param round: the round that the pair was measured in; all pairs of a round ran at once.
    :param sender: the rank that sent.
    :param receiver: the rank that received.
    :param MBps: the bandwidth in MB/s (10^6 bytes a second), of the best test.
    :param slowest_MBps: of the slowest test; None for other programs. :param median_MBps: of the median one;
        None for these, and for older outputs.
    """

    round: NDArray[np.int32]
    sender: NDArray[np.int32]
    receiver: NDArray[np.int32]
    MBps: NDArray[np.float64]
    slowest_MBps: NDArray[np.float64] | None = None
    median_MBps: NDArray[np.float64] | None = None

    def __len__(self) -> int:
        """Return the number of measurements."""
        return len(self.round)


@dataclass(frozen=True)
class RotateOutput:
    """One run of ``rotate``, or the matrix of another program in this form.

    :param header: the header and footer lines by key.
    :param pattern: one of :data:`fabric_checks.parsers.rotate_patterns.PATTERNS`.
    :param hosts: the name of each rank's host, by rank.
    :param pairs: the number of pairs in a round.
    :param suspect_share: the loss from which a pair is measured again.
    :param confirmed: whether suspects were measured again.
    :param transfers_s: the time of the transfers alone: the sum over all tests of the slowest pair, in
        seconds.
    :param elapsed_s: the time of the whole run, in seconds.
    :param phases: the measurements by phase (:data:`PHASES`); all but ``scan`` may be empty.
    :param groups: the group of each rank in phase ``leaf``, -1 for none; empty without groups.
    :param program: that measured it; of another than ``rotate`` the numbers of pairs in a round and of
        seconds are unknown, and every pair is in ``control`` or ``alone``, as often as it was measured.
    :param nodes: the host of each rank if ``hosts`` has the names of single GPUs or adapters; empty
        otherwise.
    :param both_ways: whether a rate is that of both directions together, and stands for each.
    :param at_once: whether other pairs ran during ``control`` and ``alone``, too.
    :param memory: of the buffers: ``host``, ``cuda`` or ``rocm``. :param rails: the number of ranks of a
        node, each of which was paired with those of its number only; 1 if a rank is a node. :param share: of
        these the number that share an adapter, which took turns.
    """

    header: Mapping[str, str]
    pattern: str
    hosts: tuple[str, ...]
    pairs: int
    suspect_share: float
    confirmed: bool
    transfers_s: float
    elapsed_s: float
    phases: Mapping[str, Transfers]
    groups: tuple[int, ...] = ()
    program: str = "rotate"
    nodes: tuple[str, ...] = ()
    both_ways: bool = False
    at_once: bool = False
    memory: str = "host"
    rails: int = 1
    share: int = 1

    @property
    def is_table(self) -> bool:
        """Whether it is the matrix of another program."""
        return self.program != "rotate"

    @property
    def scan(self) -> Transfers:
        """The pairs of the pattern, each measured once."""
        return self.phases["scan"]

    @property
    def ordered_pairs(self) -> tuple[int, int]:
        """The number of ordered pairs that the scan measured, and of all."""
        ranks = len(self.hosts)
        pairs = self.scan.sender.astype(np.int64) * ranks + self.scan.receiver
        return pl.Series(pairs).n_unique(), ranks * (ranks // self.rails - 1)

    @property
    def one_way_ranks(self) -> set[int]:
        """The ranks that never sent, or never received, in the scan."""
        sent, received = (
            np.bincount(ends, minlength=len(self.hosts)) > 0
            for ends in (self.scan.sender, self.scan.receiver)
        )
        return set(np.flatnonzero(~(sent & received)).tolist())


def parse(text: str) -> RotateOutput:
    """Read the output of ``rotate``.

    :raises OutputError: if the output is not whole or its values are not believable.
    """
    has_median = " phase median_MBps" in text
    header, frame = fabric.read_frame(text, WITH_MEDIAN if has_median else TABLE)
    nodes, options = fabric.hosts(header), fabric.options(header)
    ranks, rails = len(nodes), fabric.number_of(options, "rails")
    pattern, confirm = options.get("pattern", ""), options.get("confirm", "")
    require(
        pattern in rotate_patterns.PATTERNS,
        f"the options name an unknown pattern: {quoted(pattern)}",
    )
    adapters = fabric.number_of(options, "adapters") or rails
    pairs = rotate_patterns.pairs_of_round(pattern, ranks // rails) * adapters
    measured = frame.select(pl.all().exclude("phase"))
    phases = {
        phase: Transfers(
            *map(pl.Series.to_numpy, measured.filter(frame["phase"] == phase))
        )
        for phase in PHASES
    }
    rounds = fabric.rounds(header)
    scanned = len(phases["scan"])
    require(
        scanned == rounds * pairs,
        f"the scan has {scanned} pairs; {rounds} rounds of {pairs} were asked for",
    )
    exchanged = options.get("both-ways", "no") == "yes"
    _require_exchanges(phases, 4 * rails * (ranks // rails // 2) * exchanged)
    memory = _memory(header, options, nodes)
    groups = header.get("groups", "none")
    # The numbers of GPUs are those of the processes of a node; which adapter one used is not printed.
    of_node = "GPU" if memory != "host" else "process" if rails > 1 else ""
    return RotateOutput(
        header,
        pattern,
        _numbered(nodes, of_node) if of_node else nodes,
        pairs,
        number(options.get("suspect-share", ""), None),
        confirm == "yes",
        fabric.seconds(header, "transfers"),
        fabric.seconds(header, "elapsed"),
        phases,
        tuple(map(int, groups.split(" "))) if groups != "none" else (),
        nodes=nodes if of_node else (),
        memory=memory,
        rails=rails,
        share=rails // adapters,
    )


def _require_exchanges(phases: Mapping[str, Transfers], rows: int) -> None:
    """Require so many rows of exchanges beside others, and of each pair both directions.

    Alone the second one follows the first: a node has three exchanges, and a pair one way and back.
    """
    beside, alone = (phases[name] for name in EXCHANGES)
    require(
        len(beside) == rows and (rows > 0 or not len(alone)),
        f"both has {len(beside)} rows and both-alone {len(alone)}; of both {rows} were asked for",
    )
    there, back = (
        sorted(zip(*(each.tolist() for each in columns), strict=True))
        for columns in (
            (beside.round, beside.sender, beside.receiver),
            (beside.round, beside.receiver, beside.sender),
        )
    )
    pairs = np.column_stack((alone.sender, alone.receiver))
    later = alone.round[1::2] - alone.round[: len(pairs) // 2 * 2 : 2]
    require(
        there == back
        and np.array_equal(pairs[::2], pairs[1::2, ::-1])
        and np.array_equal(later, [0, 0, 0, 1] * (len(pairs) // 8)),
        "both or both-alone has a pair of which a direction is missing",
    )


def _numbered(nodes: Sequence[str], of_node: str) -> tuple[str, ...]:
    """Return a name for each rank: its node, and its number among what it is of that node."""
    counted = Counter[str]()
    names = []
    for node in nodes:
        names.append(f"node {node}, {of_node} {counted[node]}")
        counted[node] += 1
    return tuple(names)


def _memory(
    header: Mapping[str, str], options: Mapping[str, str], nodes: tuple[str, ...]
) -> str:
    """Return the memory of the buffers.

    :raises OutputError: if it is not that of the options, or if two processes of a node share a GPU.
    """
    memory, asked = header.get("memory", "host"), options.get("memory", "host")
    require(
        memory == asked,
        f"buffers in {asked} memory were asked for, but these are in {quoted(memory)} memory",
    )
    if memory == "host":
        return memory
    listed = header.get("devices", "missing")
    devices = listed.split(" ")
    require(
        len(devices) == len(nodes),
        f"'devices' is {quoted(listed)}; one of each rank was expected",
    )
    first: dict[tuple[str, str], int] = {}
    for rank, at in enumerate(zip(nodes, devices, strict=True)):
        require(
            first.setdefault(at, rank) == rank,
            f"ranks {first[at]} and {rank} share the GPU {at[1]} of {at[0]}: start one process a GPU, and"
            " let each see all GPUs of its node or one of its own",
        )
    return memory
