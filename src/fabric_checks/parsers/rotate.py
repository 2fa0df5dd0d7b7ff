# SPDX-License-Identifier: BSD-3-Clause
"""Output of our program ``rotate``: the bandwidth of every pair, and of suspect pairs measured again."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.parsers import fabric, long_table, rotate_patterns
from fabric_checks.parsers.table import half_digit, number

#: The phases of a run, in order.
PHASES = ("scan", "leaf", "together", "control", "alone")

_COLUMNS = {
    "round": pl.Int32,
    "sender": pl.Int32,
    "receiver": pl.Int32,
    "MBps": pl.Float64,
    "slowest_MBps": pl.Float64,
    "phase": pl.String,
}
_SUSPECTS = re.compile(
    r"(?P<pairs>[1-9][0-9]{0,8}) pairs of (?P<of>[0-9]{1,9}), [0-9]{1,9} senders, [0-9]{1,9} receivers; "
    r"(?:(?P<again>[0-9]{1,9}) measured again, )?(?P<alone>[0-9]{1,9})(?: measured)? alone"
)
_BEST, _SLOWEST = pl.col("MBps"), pl.col("slowest_MBps")
_VALID = _BEST.is_finite() & (_BEST > 0) & (_SLOWEST.is_null() | ((_SLOWEST > 0) & (_SLOWEST <= _BEST)))


@dataclass(frozen=True)
class Transfers:
    """Measured pairs, as arrays of the same length.

    :param round: the round that the pair was measured in; all pairs of a round ran at once.
    :param sender: the rank that sent.
    :param receiver: the rank that received.
    :param MBps: the bandwidth in MB/s (10^6 bytes a second), of the best test.
    :param slowest_MBps: of the slowest test; None in older outputs.
    """

    round: NDArray[np.int32]
    sender: NDArray[np.int32]
    receiver: NDArray[np.int32]
    MBps: NDArray[np.float64]
    slowest_MBps: NDArray[np.float64] | None = None

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
    :param transfers_s: the time of the transfers alone: the sum over all tests of the slowest pair, in seconds.
    :param elapsed_s: the time of the whole run, in seconds.
    :param phases: the measurements by phase (:data:`PHASES`); all but ``scan`` may be empty.
    :param groups: the group of each rank in phase ``leaf``, -1 for none; empty without groups.
    :param program: that measured it; of another than ``rotate`` the numbers of pairs in a round and of seconds are
        unknown, and every pair is in ``control`` or ``alone``, as often as it was measured.
    :param nodes: the host of each rank if ``hosts`` has the names of single GPUs or adapters; empty otherwise.
    :param both_ways: whether a rate is that of both directions together, and stands for each.
    :param at_once: whether other pairs ran during ``control`` and ``alone``, too.
    :param memory: of the buffers: ``host``, ``cuda`` or ``rocm``. :param rails: the number of ranks of a node, each of
        which was paired with those of its number only; 1 if a rank is a node. :param share: of these the number that
        share an adapter, which took turns.
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
        measured = np.unique(self.scan.sender.astype(np.int64) * ranks + self.scan.receiver)
        return len(measured), ranks * (ranks // self.rails - 1)

    @property
    def never_senders(self) -> tuple[int, ...]:
        """The ranks that never sent in the scan."""
        return _missing(self.scan.sender, len(self.hosts))

    @property
    def never_receivers(self) -> tuple[int, ...]:
        """The ranks that never received in the scan."""
        return _missing(self.scan.receiver, len(self.hosts))


def _missing(present: NDArray[np.int32], ranks: int) -> tuple[int, ...]:
    return tuple(np.setdiff1d(np.arange(ranks), present).tolist())


def parse(text: str) -> RotateOutput:
    """Read the output of ``rotate``.

    The pairs of the scan are compared with the pattern: every pair of every measured round has to be there.

    :raises OutputError: if the output is not whole or its values are not believable.
    """
    rule = "rates above 0, of the slowest test none above the best, were expected"
    header, table = long_table.parse(text, "rotate", _COLUMNS, _VALID, rule, optional=("slowest_MBps",))
    ranks = fabric.number_of(header, "ranks", at_least=2)
    options = fabric.options(header)
    pattern = options.get("pattern", "")
    if pattern not in rotate_patterns.PATTERNS:
        raise OutputError(f"the options name an unknown pattern: {quoted(pattern)}")
    phases = {}
    for phase in PHASES:
        part = table.filter(pl.col("phase") == phase)
        slowest = None if part["slowest_MBps"].null_count() else part["slowest_MBps"].to_numpy()
        round_, sender, receiver, best = (part[name].to_numpy() for name in list(_COLUMNS)[:4])
        phases[phase] = Transfers(round_, sender, receiver, best, slowest)
    if sum(map(len, phases.values())) != table.height:
        raise OutputError(f"a row belongs to none of the phases {', '.join(PHASES)}")
    order = table["phase"].rle().struct.field("value").to_list()
    repeats = fabric.number_of(options, "confirm-repeats", at_least=1)
    rails = fabric.number_of({"rails": "1"} | options, "rails", at_least=1)
    if ranks % rails or ranks < 2 * rails:
        raise OutputError(f"{ranks} ranks are not {rails} on each of two nodes or more, as the option 'rails' says")
    for key, ran in {"pattern": pattern, "nodes": str(ranks // rails)}.items():
        if header.get(key, ran) != ran:
            raise OutputError(f"the header has {quoted(header[key])} as {key!r}, but {quoted(ran)} ran")
    adapters = fabric.number_of({"adapters": "0"} | options, "adapters", at_least=0) or rails
    if rails % adapters:
        raise OutputError(f"{adapters} adapters cannot be shared evenly by {rails} ranks of a node")
    share = rails // adapters
    pairs = rotate_patterns.pairs_of_round(pattern, ranks // rails) * adapters
    _require_scan(phases["scan"], pattern, ranks, (rails, share), header)
    groups = _groups(header, ranks)
    _require_leaf(phases["leaf"], groups)
    for phase in PHASES[2:]:
        _require_repeats(phases[phase], phase, ranks, rails, repeats)
    _require_order(order, [phase for phase in PHASES if len(phases[phase])], repeats)
    transfers_s = _transfers_s(header, table, options)
    elapsed_s = fabric.require_elapsed(header, "elapsed", transfers_s, "the transfers")
    if (confirm := options.get("confirm", "")) not in ("yes", "no"):
        raise OutputError(f"the option 'confirm' is {quoted(confirm)}, neither yes nor no")
    _require_suspects(header, phases, repeats, confirm == "yes", ranks * (ranks // rails - 1))
    ratio, text_of_it = elapsed_s / transfers_s, header.get("elapsed over transfers")
    rounding = ratio * sum(half_digit(f"{time_s:.6g}", 6) / time_s for time_s in (elapsed_s, transfers_s))
    if text_of_it is not None and abs(number(text_of_it, None) - ratio) > 0.0005 + 1.001 * rounding:
        raise OutputError(f"'elapsed over transfers' is {quoted(text_of_it)}, but the seconds give {ratio:.3f}")
    nodes = fabric.hosts(header, ranks)
    memory = _memory(header, options, nodes)
    names = nodes
    if memory != "host":  # the numbers of GPUs are those of the processes of a node
        names = tuple(f"node {node}, GPU {nodes[:rank].count(node)}" for rank, node in enumerate(nodes))
    return RotateOutput(
        header,
        pattern,
        names,
        pairs,
        number(options.get("suspect-share", ""), 1),
        confirm == "yes",
        transfers_s,
        elapsed_s,
        phases,
        groups,
        nodes=() if memory == "host" else nodes,
        memory=memory,
        rails=rails,
        share=share,
    )


def _memory(header: Mapping[str, str], options: Mapping[str, str], nodes: tuple[str, ...]) -> str:
    """Return the memory of the buffers, ``host`` in older outputs.

    :raises OutputError: if it is not that of the options, or if two processes of a node share a GPU.
    """
    memory, asked = header.get("memory", "host"), options.get("memory", "host")
    if memory != asked:
        raise OutputError(f"buffers in {asked} memory were asked for, but these are in {quoted(memory)} memory")
    if memory == "host":
        return memory
    devices = header.get("devices", "").split(" ")
    if len(devices) != len(nodes):
        raise OutputError(f"'devices' is {quoted(header.get('devices', 'missing'))}; one of each rank was expected")
    first: dict[tuple[str, str], int] = {}
    for rank, at in enumerate(zip(nodes, devices, strict=True)):
        if first.setdefault(at, rank) != rank:
            raise OutputError(
                f"ranks {first[at]} and {rank} share the GPU {at[1]} of {at[0]}: start one process a GPU, and let each "
                "see all GPUs of its node or one of its own"
            )
    return memory


def _require_order(order: list[str], phases: list[str], repeats: int) -> None:
    """Raise :class:`OutputError` unless the phases come in order; the last two take turns, once for each repeat.

    Older outputs have all repeats of one of these before the other.
    """
    in_turns = [*phases[:-2], *(phases[-2:] * repeats)] if phases[-2:] == ["control", "alone"] else phases
    if order not in (phases, in_turns):
        raise OutputError("the phases of the run are mixed up")


def _groups(header: Mapping[str, str], ranks: int) -> tuple[int, ...]:
    """Return the group of each rank by the header, which older outputs lack."""
    text = header.get("groups", "none")
    if text == "none":
        return ()
    words = text.split(" ")
    if len(words) != ranks or not all(re.fullmatch(r"-1|[0-9]{1,9}", word) for word in words):
        raise OutputError(f"'groups' is {quoted(text)}; a number for each of {ranks} ranks was expected")
    groups = tuple(map(int, words))
    if [each for each in dict.fromkeys(groups) if each >= 0] != list(range(max(groups) + 1)):
        raise OutputError(f"'groups' is {quoted(text)}; groups are numbered by their lowest ranks")
    return groups


def _require_leaf(leaf: Transfers, groups: tuple[int, ...]) -> None:
    """Raise :class:`OutputError` unless the phase ``leaf`` has the flows that follow from its groups, in order."""
    expected = rotate_patterns.leaf_flows(groups)
    if list(zip(leaf.round.tolist(), leaf.sender.tolist(), leaf.receiver.tolist(), strict=True)) != expected:
        raise OutputError(
            f"phase leaf has {len(leaf)} flows that are not those of its groups, which are {len(expected)}; if an "
            "earlier version of the program wrote it, measure again"
        )


def _require_scan(
    scan: Transfers, pattern: str, processes: int, rails: tuple[int, int], header: Mapping[str, str]
) -> None:
    """Raise :class:`OutputError` unless the scan has the pairs of its pattern, in their order, on each rail.

    :param rails: their number, and how many of them take turns.
    """
    number, share = rails
    ranks, at_once = processes // number, number // share
    pairs = rotate_patterns.pairs_of_round(pattern, ranks)
    rounds, of_rounds = fabric.shifts(header)
    if not 1 <= rounds <= of_rounds or len(scan) != rounds * pairs * at_once:
        raise OutputError(f"the scan has {len(scan)} pairs; {rounds} rounds of {pairs * at_once} pairs were asked for")
    if rounds % share or of_rounds % share:
        raise OutputError(f"{rounds} of {of_rounds} rounds are not {share} of each, one for each GPU of an adapter")
    grid = [array.reshape(-1, share, pairs, at_once) for array in (scan.round, scan.sender, scan.receiver)]
    # The rounds of the pattern, and the nodes of their pairs; each takes place once for each turn, on several rails.
    numbers, sender, receiver = grid[0][:, 0, 0, 0] // share, *(side[:, 0, :, 0] // number for side in grid[1:])
    turn = np.arange(share)[:, None, None]
    rail = turn + np.arange(at_once) * share
    whole_grid = (
        numbers[:, None, None, None] * share + turn,
        *(nodes[:, None, :, None] * number + rail for nodes in (sender, receiver)),
    )
    if not all((found == each).all() for found, each in zip(grid, whole_grid, strict=True)):
        raise OutputError(f"the rows of the scan are torn, out of order, or not those of {number} rails")
    of_rounds //= share
    if (np.diff(numbers) <= 0).any() or numbers[-1] >= of_rounds:
        raise OutputError(f"the rounds of the scan are repeated, out of order, or not below {of_rounds}")
    if pattern == "round-robin" and of_rounds != 2 * rotate_patterns.turns(ranks):
        raise OutputError(f"the header states {of_rounds} rounds of {pattern}; {ranks} ranks have a different number")
    if pattern == "bisection":
        ranks_of_round = np.sort(np.hstack((sender, receiver)), axis=1)
        right = (np.diff(sender, axis=1) > 0).all() and (ranks_of_round == np.arange(2 * pairs)).all()
    else:
        right = np.array_equal((sender, receiver), rotate_patterns.pairs(pattern, ranks, numbers))
    if not right:
        raise OutputError(f"the pairs of the scan are not those of the pattern {pattern}")


def _require_repeats(part: Transfers, phase: str, ranks: int, rails: int, repeats: int) -> None:
    """Raise :class:`OutputError` unless every pair is possible and was measured as often as asked.

    In phase ``together`` a pair that was fast once is not measured again, so that repeats differ from pair to pair.
    """
    if not len(part):
        return
    possible = (part.sender != part.receiver) & (np.maximum(part.sender, part.receiver) < ranks)
    if not (possible & (part.sender % rails == part.receiver % rails)).all():
        raise OutputError(f"phase {phase} has a pair that does not exist with {ranks} ranks")
    # Pairs of one repeat ran at once and are listed by sender; the next repeat has the next number.
    step, next_sender = np.diff(part.round), np.diff(part.sender)
    if ((step < 0) | (step > 1) | ((step == 0) & (next_sender <= 0))).any() or part.round[0] != 0:
        raise OutputError(f"the rows of phase {phase} are repeated, torn or out of order")
    _, counts = np.unique(part.sender.astype(np.int64) * ranks + part.receiver, return_counts=True)
    if phase != "together" and (counts % repeats).any():
        raise OutputError(f"phase {phase} has a pair that was not measured {repeats} times")


def _transfers_s(header: Mapping[str, str], table: pl.DataFrame, options: Mapping[str, str]) -> float:
    """Return the time of all tests in seconds; raise :class:`OutputError` if the rows leave no such time.

    Each test takes as long as its slowest pair, which has one test at its lowest rate and none above its best. In the
    phase ``leaf`` a rank has several partners at once, in messages that are as much smaller.
    """
    size_B, messages, tests = (fabric.number_of(options, name, at_least=1) for name in ("size", "messages", "tests"))
    is_older, slowest = table["slowest_MBps"].null_count() > 0, pl.coalesce(_SLOWEST, _BEST)
    rounds = table.group_by("phase", "round").agg(
        ((tests - 1) / _BEST + 1 / slowest).max().alias("least"),
        (tests / slowest).max().alias("most"),
        pl.len() // pl.col("sender").n_unique(),
    )
    partners = pl.when(pl.col("phase") == "leaf").then(pl.col("len")).otherwise(1)
    sums = rounds.select(pl.col("least", "most") * messages * pl.max_horizontal(1, size_B // partners)).sum()
    least_s, most_s = (1e-6 * sum_us for sum_us in sums.row(0))
    found_s = fabric.require_elapsed(header, "transfers", least_s, "the slowest pairs of the tests")
    if found_s > most_s * (1 + 1e-4) and not is_older:
        raise OutputError(f"'transfers' is {found_s:g} s, but the slowest pairs take {most_s:.6g} s at most")
    return found_s


def _require_suspects(
    header: Mapping[str, str], phases: Mapping[str, Transfers], repeats: int, confirm: bool, ordered_pairs: int
) -> None:
    """Raise :class:`OutputError` unless the line about suspects agrees with what was measured again.

    Older outputs, which have no slowest rates, may lack it, or count suspects among the pairs of the scan.

    :param ordered_pairs: how many there are.
    """
    text, scan = header.get("suspects"), phases["scan"]
    again = {phase: len(phases[phase]) for phase in PHASES[2:]}
    if text is None and scan.slowest_MBps is None and (confirm or not any(again.values())):
        return
    if found := _SUSPECTS.fullmatch(text or ""):
        pairs, of, measured, alone = (int(found[key] or 0) for key in ("pairs", "of", "again", "alone"))
        together = {*zip(phases["together"].sender.tolist(), phases["together"].receiver.tolist(), strict=True)}
        there = (
            ordered_pairs if found["again"] else len({*zip(scan.sender.tolist(), scan.receiver.tolist(), strict=True)})
        )
        fits = confirm and any(again.values()) and again["alone"] == alone * repeats
        fits &= measured <= min(pairs, len(together)) and pairs <= of == there
    else:
        fits = text == ("none" if confirm else "not measured again") and not any(again.values())
    if fits:
        return
    rows = ", ".join(f"{count} {phase}" for phase, count in again.items())
    raise OutputError(
        f"'suspects' is {quoted(text or 'missing')}, but measured again are {rows}, of {ordered_pairs} pairs of ranks"
    )
