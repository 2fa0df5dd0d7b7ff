# SPDX-License-Identifier: BSD-3-Clause
"""The evidence of a run on each pair: its rate alone, its highest rate in any phase, and when each was
measured.

A path is at least as fast as its pair was in any phase, and so is every part of it. While other pairs ran, a
low rate may be due to them. So only a measurement alone shows that a path is slow (a healthy path exonerates
all its parts: Tan and others, NetBouncer, NSDI 2019). A part that became slow during the run is exonerated by
nothing from before.

Time is in rounds of the run, by the order of the rows: a round of the scan, one of the phase ``together``,
and a measurement alone are a round each.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fabric_checks.diagnosis.cross_section import kinds, noise
from fabric_checks.diagnosis.cross_section.kinds import ALONE, Kind
from fabric_checks.diagnosis.cross_section.noise import Array, Noise
from fabric_checks.diagnosis.cross_section.settings import SETTINGS
from fabric_checks.parsers.rotate import RotateOutput, Transfers

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Series:
    """All measurements, ordered by pair and then by time.

    :param pair: positions of pairs; :param when: the round of the run; :param rate: logarithms like those of
        :class:`Evidence`; :param alone: whether no other pair ran; :param dip: the logarithm of the slowest
            test's rate over the best one's; NaN where it is not known. :param typical: of the median test's,
            likewise.
    :param first: the position of each pair's first measurement, and the number of all.
    """

    pair: Numbers
    when: Numbers
    rate: Array
    alone: NDArray[np.bool_]
    dip: Array
    typical: Array
    first: Numbers

    def of(self, pairs: Numbers) -> tuple[Numbers, Numbers]:
        """Return positions among the pairs, and positions of their measurements here."""
        counts = self.first[pairs + 1] - self.first[pairs]
        at = np.repeat(np.arange(len(pairs)), counts)
        before = np.cumsum(counts) - counts
        return at, np.arange(len(at)) - before[at] + self.first[pairs][at]

    def bound_since(self, pairs: Numbers, since: float) -> Array:
        """Return the highest rate of pairs while others ran, from a time on; NaN without any."""
        at, own = self.of(pairs)
        counts = (
            ~self.alone[own] & (self.when[own] >= since) & ~np.isnan(self.rate[own])
        )
        bound = np.full(len(pairs), -np.inf)
        np.maximum.at(bound, at[counts], self.rate[own[counts]])
        return np.where(np.isinf(bound), np.nan, bound)


@dataclass(frozen=True)
class Evidence:
    """All pairs that were measured, each once; rates are logarithms of the share of a healthy pair's rate
    alone.

    A healthy pair has the rate of the slower kind of its two nodes.

    :param sender: ranks; :param receiver: ranks.
    :param alone: the best rate alone; NaN where it was not measured alone.
    :param middle: the median rate alone; :param repeats: the number of these measurements.
    :param bound: the highest rate while others ran; NaN where it was measured alone only.
    :param scan: the rate in the scan, or NaN; :param round: its round, or -1; :param when: the time of that.
    :param series: all measurements; :param rounds: the number of rounds of the scan, and of the run.
    :param reference_MBps: the rate of healthy pairs alone, of the fastest kind of nodes.
    :param noise: the spread of all this.
    :param ranks: the number of ranks of the run.
    :param nodes: the number of nodes; that of ranks if all are on one.
    :param controls: the positions of controls, and a row of logarithms of its rates for each.
    :param kinds: of nodes, the fastest first; :param of_kind: of each rank the logarithm of its kind's rate,
        as a share of the fastest kind's.
    :param host: the number of each rank's host. :param both_ways: whether a rate stands for both directions.
    :param at_once: whether other pairs ran in ``alone``, too: then nodes can be blamed, but not what pairs
        share.
    :param rails: the number of ranks of a node, each of which was paired with those of its number only.
    :param share: of these the number that share an adapter.
    """

    sender: Numbers
    receiver: Numbers
    alone: Array
    middle: Array
    repeats: Numbers
    bound: Array
    scan: Array
    round: Numbers
    when: Numbers
    series: Series
    rounds: tuple[int, int]
    reference_MBps: float
    noise: Noise
    ranks: int
    nodes: int
    controls: tuple[Numbers, Array]
    kinds: tuple[Kind, ...]
    of_kind: Array
    host: Numbers
    both_ways: bool = False
    at_once: bool = False
    rails: int = 1
    share: int = 1

    @property
    def of_pair(self) -> Array:
        """The rate of healthy pairs by the kinds of their nodes, as logarithms of the fastest kind's."""
        return np.minimum(self.of_kind[self.sender], self.of_kind[self.receiver])

    @property
    def able(self) -> Array:
        """The best rate of each rank as sender and as receiver, as logarithms of the fastest kind's; 0 if it
        never was."""
        best = np.fmax(self.bound, self.alone) + self.of_pair
        level = np.full((2, self.ranks), -np.inf)
        for own, ranks in zip(level, (self.sender, self.receiver), strict=True):
            np.fmax.at(own, ranks, best)
        level[np.isinf(level)] = 0.0
        return level

    @property
    def near(self) -> NDArray[np.bool_]:
        """Whether the nodes of pairs are neighbours in the order of ranks."""
        apart = np.abs(self.sender - self.receiver)
        return np.asarray(apart <= SETTINGS.neighbours * self.rails)

    def is_repeated(self, pairs: Numbers) -> bool:
        """Return whether most of some pairs were measured more than once."""
        return len(pairs) > 0 and float(np.median(self.repeats[pairs])) >= 2

    def error(self, which: NDArray[np.bool_] | Numbers) -> Array:
        """Return the standard errors of ``alone`` of some pairs by repetition."""
        return (
            noise.OF_BEST
            * self.noise.repeat
            / np.sqrt(np.maximum(self.repeats[which], 1))
        )


def of_output(output: RotateOutput) -> Evidence:
    """Return the evidence of a run."""
    ranks = len(output.hosts)
    # No network is between two ranks of one host, unless there is but one and it is what is measured.
    _, host = np.unique(output.nodes or output.hosts, return_inverse=True)
    hosts = int(host.max()) + 1
    table = _by_time(output, ranks)
    by_pair = _by_pair(table)
    pairs, repeats, round_, when = (
        by_pair[name].to_numpy() for name in ("pair", "repeats", "round", "when")
    )
    sender, receiver = pairs // ranks, pairs % ranks
    within = (host[sender] == host[receiver]) & (hosts > 1)
    again, samples = _samples(
        table.filter(pl.col("phase").is_in(ALONE)).sort(
            "phase", descending=True, maintain_order=True
        )
    )
    is_control = by_pair["control"].to_numpy()[np.searchsorted(pairs, again)]
    repeat = noise.of_repeats(samples)
    of_kind = kinds.of_rates(by_pair.filter(~within), ranks, output.rails, repeat)
    of_pair = np.minimum(of_kind[sender], of_kind[receiver])
    alone, middle, together, scan = (
        by_pair[name].fill_null(np.nan).to_numpy() - of_pair
        for name in ("top", "alone", "together", "scan")
    )
    top, fastest, seen = noise.top_of(scan[~np.isnan(scan)])
    reference = float(np.median(alone[by_pair["control"]])) if is_control.any() else top
    alone, middle, together, scan = (
        np.where(within, np.nan, values - reference)
        for values in (alone, middle, together, scan)
    )
    samples = noise.clipped(
        samples - of_pair[np.searchsorted(pairs, again)][:, None], repeat
    )
    by_controls, by_all = (
        len(np.unique(np.divmod(each, ranks))) / ranks
        for each in (again[is_control], again)
    )
    of_nodes = noise.node_spread(scan, sender, receiver, fastest), by_controls, by_all
    spread = noise.of_controls(samples, is_control, repeat, (fastest, seen), of_nodes)
    if (
        output.is_table and not repeat
    ):  # measured once: pairs differ by no more than measurements do
        spread = replace(spread, repeat=spread.scan)
    position = np.searchsorted(pairs, table["pair"].to_numpy())
    series = Series(
        position,
        table["when"].to_numpy(),
        np.where(within, np.nan, -of_pair - reference)[position]
        + table["rate"].to_numpy(),
        table["phase"].is_in(ALONE).to_numpy(),
        table["dip"].to_numpy(),
        table["typical"].to_numpy(),
        np.searchsorted(position, np.arange(len(pairs) + 1)),
    )
    return Evidence(
        sender,
        receiver,
        alone,
        middle,
        repeats,
        np.fmax(scan, together),
        scan,
        round_,
        when,
        series,
        (int(when.max()) + 1, int(series.when.max()) + 1),
        float(np.exp(reference)),
        spread,
        ranks,
        hosts if hosts > 1 else ranks,
        (np.searchsorted(pairs, again[is_control]), samples[is_control]),
        kinds.of_shares(of_kind),
        of_kind,
        host.astype(np.int64),
        output.both_ways,
        output.at_once,
        output.rails,
        output.share,
    )


def _by_pair(table: pl.DataFrame) -> pl.DataFrame:
    """Return a row for each pair, see :func:`.kinds.by_pair`, with what was measured again.

    The best rate of a pair is the mean of the best quarter: traffic of other jobs only makes it slower. While
    others run, that is the one with the least sharing.
    """
    rate, phase = pl.col("rate"), pl.col("phase")
    by_pair = kinds.by_pair(
        table,
        phase.is_in(ALONE).sum().cast(pl.Int64).alias("repeats"),
        pl.col("round", "when").filter(phase == "scan").last().fill_null(-1),
    )
    best = rate.sort(descending=True).head((pl.len() + 3) // 4).mean()
    for name, phases in (("top", ALONE), ("together", ["together"])):
        rows = table.filter(phase.is_in(phases))
        again = rows.group_by("pair").agg(best.alias(name))
        by_pair = by_pair.join(again, on="pair", how="left", maintain_order="left")
    return by_pair


def _by_time(output: RotateOutput, ranks: int) -> pl.DataFrame:
    """Return all rows of a run with the logarithms of their rates and their times, by pair and then by
    time."""
    tables, begin = [], 0
    # The ways of switches are loaded between the scan and what runs together.
    for phase in ("scan", "leaf", "together"):
        if part := output.phases.get(phase):
            rounds, when = np.unique(part.round, return_inverse=True)
            tables += (
                [_rows(part, ranks, phase, begin + when)] if phase != "leaf" else []
            )
            begin += len(rounds)
    # Controls and suspects take turns, once for each repeat.
    turns = [(phase, output.phases[phase]) for phase in ALONE]
    some = turns[1][1] or turns[0][1]
    repeats = int(
        ((some.sender == some.sender[:1]) & (some.receiver == some.receiver[:1])).sum()
    )
    of_turn = sum(len(part) for _, part in turns) // max(repeats, 1)
    for phase, part in turns if repeats else ():
        turn, place = np.divmod(np.arange(len(part)), max(len(part) // repeats, 1))
        tables.append(_rows(part, ranks, phase, begin + turn * of_turn + place))
        begin += len(part) // repeats
    return pl.concat(tables).sort("pair", "when")


def _rows(part: Transfers, ranks: int, phase: str, when: Numbers) -> pl.DataFrame:
    columns = {
        "pair": part.sender.astype(np.int64) * ranks + part.receiver,
        "when": when.astype(np.int64),
        "rate": np.log(part.MBps),
        "dip": _below_best(part.slowest_MBps, part),
        "typical": _below_best(part.median_MBps, part),
        "round": part.round.astype(np.int64),
    }
    return pl.DataFrame(columns).with_columns(phase=pl.lit(phase))


def _below_best(tests: Array | None, part: Transfers) -> Array:
    """Return the rates of some tests over those of the best ones, as logarithms; NaN where not known."""
    return np.full(len(part), np.nan) if tests is None else np.log(tests / part.MBps)


def _samples(table: pl.DataFrame) -> tuple[Numbers, Array]:
    """Return the pairs of some rows, ascending, and the rates of each in the order of time, filled with NaN.

    Of more than :attr:`SETTINGS.most_samples` pairs it is every second, third, and so on.
    """
    turns = table.with_columns(turn=pl.int_range(pl.len()).over("pair"))
    rows = turns.pivot("turn", index="pair", values="rate").fill_null(np.nan)
    rows = rows.gather_every(-(-len(rows) // SETTINGS.most_samples) or 1)
    return rows["pair"].to_numpy(), rows.drop("pair").to_numpy()
