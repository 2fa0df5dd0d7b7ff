# SPDX-License-Identifier: BSD-3-Clause
"""Join the tables of one machine, from several files or repeats, into a run as our own programs measure
it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from fabric_checks.analysis.pair_matrix import MOST_PAIRS, natural
from fabric_checks.core.text import names_text
from fabric_checks.diagnosis.cross_section import kinds
from fabric_checks.diagnosis.cross_section.noise import OF_MAD, levels_of_nodes
from fabric_checks.diagnosis.cross_section.settings import SETTINGS
from fabric_checks.diagnosis.finding import RankFinding as Finding
from fabric_checks.diagnosis.finding import note
from fabric_checks.matrices.model import LATENCY, End, PairTable
from fabric_checks.parsers.latency_map import LatencyOutput
from fabric_checks.parsers.rotate import RotateOutput, Transfers
from fabric_checks.parsers.table import require

#: Devices of two names are compared with the same two on other hosts if so many pairs have them.
FEWEST_OF_CLASS = 6
#: A class of devices is mentioned from this loss on.
NOTED = 0.10
#: A file whose values are so many times those of another is mentioned: its unit may be another.
UNLIKE = 1.5
#: Pairs within so many deviations of the usual rate show how healthy pairs differ.
HEALTHY = 4.0

#: Why only nodes can be blamed.
_SHARED = (
    "only nodes can be blamed, because pairs that share a cable slow each other, unless the format tells what"
    " ran at once, and static routes are given"
)
_AT_ONCE = f"others ran at the same time; {_SHARED}"
_PERHAPS_AT_ONCE = f"{{}} does not say whether pairs ran so; if they did, add --alone; if not, {_SHARED}"

Output = RotateOutput | LatencyOutput


@dataclass(frozen=True)
class Run:
    """The output of one of our own programs, or the tables of another's metric, test and size, joined.

    :param files: their names; :param output: the measurements, of tables as those of ``rotate`` or
        ``latency_map``.
    :param table: the first of the tables, None without any; :param ends: of their pairs, by rank.
    :param cannot_tell: what was not measured, a sentence each; :param findings: what only the joining shows.
    """

    files: tuple[str, ...]
    output: Output
    table: PairTable | None = None
    ends: tuple[End, ...] = ()
    cannot_tell: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()


def join(tables: Iterable[tuple[str, PairTable]]) -> list[Run]:
    """Join tables of one program, metric, test and size; others are runs of their own.

    :param tables: the name of the file of each, in the order of time.
    :raises OutputError: if there are too many ends to be analysed.
    """
    groups = defaultdict[tuple[object, ...], list[tuple[str, PairTable]]](list)
    for name, table in tables:
        groups[table.format, table.metric, table.title, table.both_ways].append(
            (name, table)
        )
    return [_run(*zip(*each, strict=True)) for each in groups.values()]


def _run(names: Sequence[str], tables: Sequence[PairTable]) -> Run:
    first, files = tables[0], tuple(dict.fromkeys(names))
    found = {end for table in tables for end in table.ends}
    ends = tuple(
        sorted(found, key=lambda end: (natural(end.host), natural(end.device)))
    )
    shown = names_text(files)
    require(
        len(ends) ** 2 <= MOST_PAIRS,
        f"{shown}: {len(ends)} ends have too many pairs to be analysed; give a part",
    )
    frame = _rows(tables, [files.index(name) for name in names], ends)
    require(
        not frame["within"].all(),
        f"{shown}: there are several hosts, but no pair of two of them: give such pairs",
    )
    lines = _lines(tables, files, frame)
    if first.metric == LATENCY:
        return Run(
            files,
            _latencies(frame, ends, both_ways=first.both_ways),
            first,
            ends,
            lines,
        )
    frame, findings = _levelled(frame)
    return Run(
        files, _bandwidths(frame, first, ends), first, ends, lines, tuple(findings)
    )


def _latencies(
    frame: pl.DataFrame, ends: tuple[End, ...], *, both_ways: bool
) -> LatencyOutput:
    """Return measurements between hosts as those of ``latency_map``; those of both ways are there twice."""
    once = pl.lit(not both_ways) | (pl.col("sender") < pl.col("receiver"))
    rows = frame.filter(~pl.col("within") & once).select(
        "sender", "receiver", pl.col("rate").exp(), "repeat"
    )
    starter, other, latency_us, number = (column.to_numpy() for column in rows)
    passes = int(number.max()) + 1
    labels = tuple(map(str, ends))
    return LatencyOutput({}, labels, passes, np.nan, starter, other, latency_us, number)


def _bandwidths(
    frame: pl.DataFrame, first: PairTable, ends: tuple[End, ...]
) -> RotateOutput:
    """Return measurements as those of ``rotate``; :param first: the first of the tables."""
    at_once = not frame["alone"].any()
    healthy = _healthy(frame, len(ends), at_once=not frame["alone"].all())
    is_alone = pl.lit(at_once) | pl.col("alone")
    phases = {
        "scan": pl.col("repeat") == 0,
        "together": pl.lit(False),
        "control": is_alone & healthy,
        "alone": is_alone & ~healthy,
    }
    columns = ("round", "sender", "receiver", pl.col("rate").exp())
    transfers = {
        phase: Transfers(
            *(column.to_numpy() for column in frame.filter(which).select(columns))
        )
        for phase, which in phases.items()
    }
    repeated = bool((frame.filter(is_alone)["repeat"] > 0).any())
    # It has no header, no number of pairs in a round, no share of suspects and no times.
    return RotateOutput(
        {},
        f"{first.format} {first.title}".strip(),
        tuple(map(str, ends)),
        0,
        0.0,
        repeated,
        np.nan,
        np.nan,
        transfers,
        program=first.format,
        nodes=tuple(end.host for end in ends),
        both_ways=first.both_ways,
        at_once=at_once,
    )


def _rows(
    tables: Sequence[PairTable], files: Sequence[int], ends: tuple[End, ...]
) -> pl.DataFrame:
    """Return all measurements, those of both directions for each; a pair alone is a round of its own.

    Tables are in the order of time, but not the rows of one: which of several values of a pair comes first is
    drawn by lot, from the values, so that a file whose rows were sorted has the same verdict.

    :param files: the number of each table's file.
    """
    rank, several = (
        {end: number for number, end in enumerate(ends)},
        len({end.host for end in ends}) > 1,
    )
    values = [
        {
            "sender": rank[one],
            "receiver": rank[other],
            "rate": np.log(value),
            "round": number,
            "file": file,
            "table": at,
            "alone": bool(table.alone),
            "host": one.host,
            "within": several and one.host == other.host,
            "devices": [one.device, other.device],
        }
        for at, (file, table) in enumerate(zip(files, tables, strict=True))
        for sender, receiver, value, _, number in table.rows
        for one, other in ((sender, receiver), (receiver, sender))[
            : 1 + table.both_ways
        ]
    ]
    pair, count = (
        pl.struct("sender", "receiver"),
        pl.int_range(pl.len(), dtype=pl.Int32),
    )
    rows = pl.DataFrame(values).cast({pl.Int64: pl.Int32})
    lot = (pl.col("rate") * 1e6) % 1
    rows = rows.sort("table", "round", "sender", "receiver", lot)
    rows = rows.with_columns(
        repeat=count.over(pair), round=pl.when("alone").then(count).otherwise("round")
    )
    off = pl.when(pl.len().over(pair) > 1).then(
        pl.col("rate") - pl.col("rate").mean().over(pair)
    )
    rows = rows.with_columns(off=off).with_columns(
        off=pl.col("off").median().over("file").fill_null(0.0)
    )
    if len({table.alone for table in tables}) > 1:
        return rows
    # Whole nights differ: with other versions, or other work on the machine.
    return rows.with_columns(rate=pl.col("rate") - pl.col("off"))


def _levelled(rows: pl.DataFrame) -> tuple[pl.DataFrame, list[Finding]]:
    """Return rates with those of each two names of devices on the level of the fastest, and what these differ
    by.

    GPU 7 may be farther from its adapter on every host, and one rail slower as a whole: no host is to blame
    for it.
    """
    # Compared on each host, whatever its kind, and by its best pairs: others may share cables, and a partner
    # be slow.
    between = rows.filter(~pl.col("within"))
    of_host = between.group_by("devices", "host").agg(
        pl.col("rate").quantile(SETTINGS.node_quantile, "linear"), count=pl.len()
    )
    less = pl.col("rate") - pl.col("rate").max().over("host")
    # Devices that are slow on half of the hosts are at fault there.
    of_most = pl.col("level").quantile(0.75, "nearest")
    levels = (
        of_host.with_columns(level=less)
        .group_by("devices")
        .agg(of_most, pl.col("count").sum())
    )
    # A rail is slow as a whole only if its fastest pairs are, too.
    fastest = pl.col("rate").quantile(0.9, "nearest").alias("fastest")
    levels = levels.join(between.group_by("devices").agg(fastest), on="devices")
    usual = levels.filter(pl.col("count") >= FEWEST_OF_CLASS).sort("devices")
    # Devices of one name are one rail; between rails there is another way.
    rail = pl.col("devices").list.first() == pl.col("devices").list.last()
    both = ("level", "fastest")
    best = [pl.col(name).quantile(0.75, "nearest").over(rail) for name in both]
    off = [top - pl.col(name) for name, top in zip(both, best, strict=True)]
    of_best = [top.max() - pl.col(name) for name, top in zip(both, best, strict=True)]
    shares = usual.select("devices", share=(-pl.min_horizontal(off)).exp()).filter(
        pl.col("share") < 1 - NOTED
    )
    look = "look at the switches of that rail, and at how far these devices are from their adapters"
    findings = []
    for (one, other), share in shares.iter_rows():
        text = (
            f"pairs of {one} and {other} reach {share:.2f} of what other devices do, on all hosts alike:"
            f" no host is blamed for it; {look}"
        )
        findings.append(
            replace(note("node classes", text), size=1 - share, advice=look)
        )
    least = usual.select("devices", slower=pl.min_horizontal(of_best))
    rows = rows.join(least, on="devices", how="left", maintain_order="left")
    return rows.with_columns(
        rate=pl.col("rate") + pl.col("slower").fill_null(0.0)
    ), findings


def _healthy(rows: pl.DataFrame, ranks: int, *, at_once: bool) -> pl.Series:
    """Return which rows are of pairs that show how healthy pairs differ: those near the usual rate of their
    kind.

    While others run most pairs may share cables; then the usual rate is that of the best pairs of a usual
    node.
    """
    rate = rows.select(pl.col("rate").median().over("sender", "receiver"))[
        "rate"
    ].to_numpy()
    ends = [rows[side].to_numpy().astype(np.int64) for side in ("sender", "receiver")]
    if at_once:
        usual = float(np.nanmedian(levels_of_nodes(rate, ends[0], ranks)[0]))
    else:
        pair = ends[0] * ranks + ends[1]
        between = rows.with_columns(pair=pair, phase=pl.lit("alone")).filter(
            ~pl.col("within")
        )
        scan = between.filter(pl.col("repeat") == 0).with_columns(phase=pl.lit("scan"))
        of_kind = kinds.of_rates(
            kinds.by_pair(pl.concat((scan, between)).select("pair", "rate", "phase")),
            ranks,
        )
        rate = rate - np.minimum(*(of_kind[side] for side in ends))
        usual = float(np.median(rate))
    off = np.abs(rate - usual)
    near = off[rate >= usual] if at_once else off
    spread = max(OF_MAD * float(np.median(near)), SETTINGS.least_spread)
    return pl.Series(off <= HEALTHY * spread)


def _lines(
    tables: Sequence[PairTable], files: Sequence[str], rows: pl.DataFrame
) -> tuple[str, ...]:
    """Return what the tables cannot tell, a sentence each."""
    first, within = tables[0], int(rows["within"].sum())
    known = all(table.alone is False for table in tables)
    others = _AT_ONCE if known else _PERHAPS_AT_ONCE.format(first.format)
    levels = rows.select("off", "file").unique().sort("off")
    ratio = float(np.exp(levels["off"][-1] - levels["off"][0]))
    low, high = files[levels["file"][0]], files[levels["file"][-1]]
    sentences = {
        f"one level: {high} has {ratio:.3g} times the values of {low}; see that both have the same unit": (
            ratio > UNLIKE
        ),
        "any pair twice, so nobody is blamed; add a second run": (
            rows["repeat"].max() == 0
        ),
        "the two directions of a pair by themselves: which of them is slow cannot be told": first.both_ways,
        # Latency hardly loads a cable.
        f"pairs one at a time: {others}": first.metric != LATENCY
        and not rows["alone"].any(),
        f"the fabric by {within} values of pairs on one host, which are not judged": within
        > 0,
    }
    found = [sentence for sentence, applies in sentences.items() if applies]
    return tuple(
        dict.fromkeys(
            [*found, *(line for table in tables for line in table.cannot_tell)]
        )
    )
