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
from fabric_checks.diagnosis.cross_section.kinds import Kind
from fabric_checks.diagnosis.cross_section.noise import Array, Noise
from fabric_checks.diagnosis.cross_section.settings import SETTINGS
from fabric_checks.parsers.rotate import RotateOutput, Transfers

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Series:
    """All measurements, ordered by pair and then by time.

    :param pair: positions of pairs; :param when: the round of the run; :param rate: logarithms like those of
        :class:`Evidence`; :param alone: whether no other pair ran; :param dip: the logarithm of the slowest
            test's rate
        over the best one's; NaN where it is not known.
    :param first: the position of each pair's first measurement, and the number of all.
    """

    pair: Numbers
    when: Numbers
    rate: Array
    alone: NDArray[np.bool_]
    dip: Array
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
        counts = ~self.alone[own] & (self.when[own] >= since) & ~np.isnan(self.rate[own])
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
    :param controls: the position of each control and the logarithms of its rates.
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
    controls: tuple[tuple[int, Array], ...]
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

    def is_repeated(self, pairs: Numbers) -> bool:
        """Return whether most of some pairs were measured more than once."""
        return len(pairs) > 0 and float(np.median(self.repeats[pairs])) >= 2

    def error(self, which: NDArray[np.bool_] | Numbers) -> Array:
        """Return the standard errors of ``alone`` of some pairs by repetition."""
        return noise.OF_BEST * self.noise.repeat / np.sqrt(np.maximum(self.repeats[which], 1))


def of_output(output: RotateOutput, of_kind: Array | None = None) -> Evidence:
    """Return the evidence of a run; :param of_kind: the kinds of its nodes, if they are known, as
    `kinds.of_rates`."""
    ranks = len(output.hosts)
    # No network is between two ranks of one host, unless there is but one and it is what is measured.
    _, host = np.unique(output.nodes or output.hosts, return_inverse=True)
    hosts = int(host.max()) + 1
    table = _by_time(output, ranks)
    pair_of_row = table["pair"].to_numpy()
    row_within = (host[pair_of_row // ranks] == host[pair_of_row % ranks]) & (hosts > 1)
    measured = [_samples(table.filter(pl.col("phase") == phase))[1] for phase in ("control", "alone")]
    repeat = noise.of_repeats([*measured[0], *measured[1]])
    if of_kind is None:
        of_kind = kinds.of_rates(table.filter(~row_within), ranks, output.rails, repeat)
    by_kind = np.minimum(of_kind[pair_of_row // ranks], of_kind[pair_of_row % ranks])
    table = table.with_columns(rate=pl.col("rate") - by_kind)
    by_pair = (
        table.group_by("pair")
        .agg(
            _best(pl.col("rate").filter(pl.col("phase").is_in(("control", "alone")))).alias("alone"),
            pl.col("rate").filter(pl.col("phase").is_in(("control", "alone"))).median().alias("middle"),
            pl.col("phase").is_in(("control", "alone")).sum().cast(pl.Int64).alias("repeats"),
            # While others run, the best rate of a pair is that with the least sharing.
            _best(pl.col("rate").filter(pl.col("phase") == "together")).alias("together"),
            pl.col("rate").filter(pl.col("phase") == "scan").median().alias("scan"),
            pl.col("round").filter(pl.col("phase") == "scan").last().fill_null(-1).alias("round"),
            pl.col("when").filter(pl.col("phase") == "scan").last().fill_null(-1).alias("when"),
        )
        .sort("pair")
    )
    pairs, round_, when = (by_pair[name].to_numpy() for name in ("pair", "round", "when"))
    sender, receiver = pairs // ranks, pairs % ranks
    columns = {
        name: by_pair[name].fill_null(np.nan).to_numpy() for name in ("alone", "middle", "together", "scan")
    }
    scanned = columns["scan"][~np.isnan(columns["scan"])]
    top, fastest, seen = noise.top_of(scanned)
    control = table.filter(pl.col("phase") == "control")
    best_of_controls = control.group_by("pair").agg(_best(pl.col("rate")))["rate"].to_numpy()
    reference = float(np.median(best_of_controls)) if len(best_of_controls) else top
    within = (host[sender] == host[receiver]) & (hosts > 1)
    columns = {name: np.where(within, np.nan, values - reference) for name, values in columns.items()}

    controlled, samples = _samples(control)
    again_alone, again = _samples(table.filter(pl.col("phase") == "alone"))
    samples, again = noise.clipped(samples, repeat), noise.clipped(again, repeat)
    of_nodes = noise.node_spread(columns["scan"], sender, receiver, fastest)
    by_controls, by_all = (
        len(np.unique([each // ranks, each % ranks])) / ranks
        for each in (controlled, np.union1d(controlled, again_alone))
    )
    spread = noise.of_controls(samples, again, repeat, (fastest, seen), (of_nodes, by_controls, by_all))
    if output.is_table and not repeat:
        spread = replace(
            spread, repeat=spread.scan
        )  # measured once: pairs differ by no more than measurements do
    position = np.searchsorted(pairs, table["pair"].to_numpy())
    series = Series(
        position,
        table["when"].to_numpy(),
        np.where(within[position], np.nan, table["rate"].to_numpy() - reference),
        table["phase"].is_in(("control", "alone")).to_numpy(),
        table["dip"].to_numpy(),
        np.searchsorted(position, np.arange(len(pairs) + 1)),
    )
    return Evidence(
        sender,
        receiver,
        columns["alone"],
        columns["middle"],
        by_pair["repeats"].to_numpy(),
        np.fmax(columns["scan"], columns["together"]),
        columns["scan"],
        round_,
        when,
        series,
        (int(when.max()) + 1, int(series.when.max()) + 1),
        float(np.exp(reference)),
        spread,
        ranks,
        hosts if hosts > 1 else ranks,
        tuple(zip(np.searchsorted(pairs, controlled).tolist(), samples, strict=True)),
        kinds.of_shares(of_kind),
        of_kind,
        host.astype(np.int64),
        output.both_ways,
        output.at_once,
        output.rails,
        output.share,
    )


def _best(rate: pl.Expr) -> pl.Expr:
    """Return the mean of the best quarter of some rates: traffic of other jobs only makes a pair slower."""
    return rate.sort(descending=True).head((rate.len() + 3) // 4).mean()


def _by_time(output: RotateOutput, ranks: int) -> pl.DataFrame:
    """Return all rows of a run with the logarithms of their rates and their times, by pair and then by
    time."""
    tables, begin, ways = [], 0, output.phases.get("leaf")
    for phase in ("scan", "together"):
        part = output.phases[phase]
        _, when = np.unique(part.round, return_inverse=True)
        tables.append(_rows(part, ranks, phase, begin + when.astype(np.int64)))
        begin += len(np.unique(part.round))
        # The ways of switches are loaded between the two.
        begin += len(np.unique(ways.round)) if phase == "scan" and ways else 0
    # Controls and suspects take turns, once for each repeat.
    control, alone = output.phases["control"], output.phases["alone"]
    some = next((part for part in (alone, control) if len(part)), None)
    if some is not None:
        repeats = max(int(((some.sender == some.sender[0]) & (some.receiver == some.receiver[0])).sum()), 1)
        of_turn, first = (len(control) + len(alone)) // repeats, begin
        for phase, part in (("control", control), ("alone", alone)):
            turn, place = np.divmod(np.arange(len(part)), max(len(part) // repeats, 1))
            tables.append(_rows(part, ranks, phase, first + turn * of_turn + place))
            first += len(part) // repeats
    return pl.concat(tables).sort("pair", "when")


def _rows(part: Transfers, ranks: int, phase: str, when: Numbers) -> pl.DataFrame:
    pair = part.sender.astype(np.int64) * ranks + part.receiver
    dip = np.full(len(part), np.nan) if part.slowest_MBps is None else np.log(part.slowest_MBps / part.MBps)
    columns = {
        "pair": pair,
        "when": when,
        "rate": np.log(part.MBps),
        "dip": dip,
        "round": part.round.astype(np.int64),
    }
    return pl.DataFrame(columns).with_columns(phase=pl.lit(phase))


def _samples(table: pl.DataFrame) -> tuple[Numbers, list[Array]]:
    """Return the pairs of some rows, ascending, and the rates of each in the order of time.

    Of more than :attr:`SETTINGS.most_samples` pairs it is every second, third, and so on.
    """
    pair, rate = table["pair"].to_numpy(), table["rate"].to_numpy()
    pairs, first = np.unique(pair, return_index=True)
    samples = np.split(rate, first[1:]) if len(pairs) else []
    step = -(-len(pairs) // SETTINGS.most_samples) or 1
    return pairs[::step], samples[::step]
