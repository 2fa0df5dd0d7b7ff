# SPDX-License-Identifier: BSD-3-Clause
"""Join the tables of one machine, from several files or repeats, into a run as our own programs measure it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from fabric_checks.core.errors import OutputError
from fabric_checks.core.text import names_text
from fabric_checks.diagnosis.cross_section.findings import Finding
from fabric_checks.diagnosis.cross_section.matrix import MOST_PAIRS
from fabric_checks.diagnosis.cross_section.noise import LEAST_SPREAD, NODE_QUANTILE, OF_MAD, Array, levels_of_nodes
from fabric_checks.matrices.model import LATENCY, End, PairTable
from fabric_checks.parsers.latency_map import LatencyOutput
from fabric_checks.parsers.rotate import RotateOutput, Transfers

#: Devices of two names are compared with the same two on other hosts if so many pairs have them.
FEWEST_OF_CLASS = 6
#: A class of devices, or a file, is mentioned from this loss on; a node's loss in one file counts from it on, too.
NOTED = 0.10
#: Pairs within so many deviations of the usual rate show how healthy pairs differ.
HEALTHY = 4.0

Output = RotateOutput | LatencyOutput


@dataclass(frozen=True)
class Run:
    """The tables of one program, metric, test and size, joined.

    :param table: the first of them; :param files: their names.
    :param ends: of the pairs, by rank; :param output: the measurements as those of ``rotate`` or ``latency_map``.
    :param cannot_tell: what was not measured, a sentence each; :param findings: what only the joining shows.
    :param both_ways: whether a value is that of both directions of a pair.
    """

    table: PairTable
    files: tuple[str, ...]
    ends: tuple[End, ...]
    output: Output
    cannot_tell: tuple[str, ...]
    findings: tuple[Finding, ...]
    both_ways: bool


def join(tables: Iterable[tuple[str, PairTable]]) -> list[Run]:
    """Join tables of one program, metric, test and size; others are runs of their own.

    :param tables: the name of the file of each, in the order of time.
    :raises OutputError: if there are too many ends to be analysed.
    """
    groups: dict[tuple[str, str, str], list[tuple[str, PairTable]]] = {}
    for name, table in tables:
        groups.setdefault((table.format, table.metric, table.title), []).append((name, table))
    return [_run([name for name, _ in each], [table for _, table in each]) for each in groups.values()]


def _run(names: Sequence[str], tables: Sequence[PairTable]) -> Run:
    first, files = tables[0], tuple(dict.fromkeys(names))
    ends = tuple(dict.fromkeys(end for table in tables for end in table.ends))
    if len(ends) ** 2 > MOST_PAIRS:
        raise OutputError(f"{len(ends)} ends have too many pairs to be analysed; give a part of them")
    both_ways = any(table.both_ways for table in tables)
    frame = _rows(tables, [files.index(name) for name in names], ends)
    hosts, host = np.unique([end.host for end in ends], return_inverse=True)
    within = (host[frame["sender"].to_numpy()] == host[frame["receiver"].to_numpy()]) & (len(hosts) > 1)
    lines = _lines(tables, frame, ends, int(within.sum()))
    labels = tuple(map(str, ends))
    if first.metric == LATENCY:
        frame = frame.filter(pl.Series(~within))
        frame = frame.filter(pl.col("sender") < pl.col("receiver")) if both_ways else frame
        return Run(first, files, ends, _as_latency_map(frame, labels), lines, (), both_ways)
    frame, findings = _levelled(frame, ends, within) if len(hosts) > 1 else (frame, [])
    findings += _in_one_file(frame, files, labels)
    at_once = not any(table.alone for table in tables)
    frame = frame.with_columns(healthy=_healthy(frame, len(ends), at_once=not frame["alone"].all()))
    alone = frame if at_once else frame.filter("alone")
    phases = {
        "scan": frame.filter(pl.col("repeat") == 0),
        "together": frame.clear(),
        "control": alone.filter("healthy"),
        "alone": alone.filter(~pl.col("healthy")),
    }
    output = RotateOutput(
        header={},
        pattern=f"{first.format} {first.title}".strip(),
        hosts=labels,
        pairs=0,
        suspect_share=0.0,
        confirmed=bool((alone["repeat"] > 0).any()),
        transfers_s=np.nan,
        elapsed_s=np.nan,
        phases={phase: _transfers(rows) for phase, rows in phases.items()},
        program=first.format,
        nodes=tuple(end.host for end in ends),
        both_ways=both_ways,
        at_once=at_once,
    )
    return Run(first, files, ends, output, lines, tuple(findings), both_ways)


def _rows(tables: Sequence[PairTable], files: Sequence[int], ends: tuple[End, ...]) -> pl.DataFrame:
    """Return all measurements in the order of time: of both directions for each.

    :param files: the number of each table's file.
    """
    rank = {end: number for number, end in enumerate(ends)}
    rows = pl.DataFrame(
        [
            (*pair, np.log(value), number, file, bool(table.alone))
            for file, table in zip(files, tables, strict=True)
            for sender, receiver, value, _, number in table.rows
            for pair in ((rank[sender], rank[receiver]), (rank[receiver], rank[sender]))[: 1 + table.both_ways]
        ],
        schema=("sender", "receiver", "rate", "round", "file", "alone"),
        orient="row",
    )
    pair = pl.struct("sender", "receiver")
    rows = rows.with_columns(repeat=pl.int_range(pl.len()).over("sender", "receiver"), at=pl.int_range(pl.len()))
    shift = rows.filter(pl.len().over(pair) > 1).with_columns(off=pl.col("rate") - pl.col("rate").mean().over(pair))
    # Whole nights differ: with other versions, or other work on the machine.
    if len({table.alone for table in tables}) == 1 and len(shift):
        of_file = shift.group_by("file").agg(pl.col("off").median())
        rows = rows.join(of_file, on="file", how="left", maintain_order="left")
        rows = rows.with_columns(rate=pl.col("rate") - pl.col("off").fill_null(0.0)).drop("off")
    return rows


def _levelled(frame: pl.DataFrame, ends: tuple[End, ...], within: Array) -> tuple[pl.DataFrame, list[Finding]]:
    """Return rates with those of each two names of devices on the level of the fastest, and what these differ by.

    GPU 7 may be farther from its adapter on every host, and one rail slower as a whole: no host is to blame for it.
    """
    devices = sorted({end.device for end in ends})
    if len(devices) < 2:
        return frame, []
    number = np.array([devices.index(end.device) for end in ends])
    sender, receiver = (number[frame[side].to_numpy()] for side in ("sender", "receiver"))
    table = frame.with_columns(
        of=pl.Series(sender * len(devices) + receiver),
        within=pl.Series(within),
        host=pl.Series([end.host for end in ends]).gather(frame["sender"]),
    )
    # Compared on each host, whatever its kind, and by its best pairs: others may share cables, and a partner be slow.
    of_host = (
        table.filter(~pl.col("within"))
        .group_by("of", "host")
        .agg(pl.col("rate").quantile(NODE_QUANTILE, "linear"), count=pl.len())
    )
    of_host = of_host.with_columns(less=pl.col("rate") - pl.col("rate").median().over("host"))
    usual = of_host.group_by("of").agg(level=pl.col("less").median(), count=pl.col("count").sum())
    usual = usual.filter(pl.col("count") >= FEWEST_OF_CLASS).sort("of")
    if not len(usual):
        return frame, []
    # Devices of one name are one rail; between rails there is another way.
    rail = pl.col("of") // len(devices) == pl.col("of") % len(devices)
    usual = usual.with_columns(best=pl.col("level").quantile(0.75, "nearest").over(rail))
    table = table.join(usual, on="of", how="left", maintain_order="left")
    less = (pl.col("level") - usual["best"].max()).fill_null(0.0)
    findings = []
    for of, level, best in usual.select("of", "level", "best").iter_rows():
        share = float(np.exp(level - best))
        if share < 1 - NOTED:
            one, other = (devices[each] for each in divmod(of, len(devices)))
            text = (
                f"pairs of {one} and {other} reach {share:.2f} of what other devices do, on all hosts alike: no host "
                "is blamed for it"
            )
            look = "look at the switches of that rail, and at how far these devices are from their adapters"
            findings.append(Finding("kinds", (), (), share, False, f"{text}; {look}", look=look))
    return table.with_columns(rate=pl.col("rate") - less).select(frame.columns), findings


def _in_one_file(frame: pl.DataFrame, files: tuple[str, ...], names: tuple[str, ...]) -> list[Finding]:
    """Return the nodes that were slow in one file only: these are not slow any more, or the traffic of others was."""
    off = frame.with_columns(off=pl.col("rate") - pl.col("rate").max().over("sender", "receiver"))
    off = off.filter(pl.col("file").n_unique().over("sender", "receiver") > 1)
    ends = pl.concat([off.select("file", "off", rank=side) for side in ("sender", "receiver")])
    low = ends.group_by("rank", "file").agg(pl.col("off").median(), pl.len()).sort("rank", "file")
    spread = OF_MAD * float(np.median(np.abs(off["off"].to_numpy()))) if len(off) else 0.0
    found = []
    for rank, file, level, count in low.iter_rows():
        if count >= FEWEST_OF_CLASS and level < -max(HEALTHY * spread, NOTED):
            share = float(np.exp(level))
            text = f"{names[rank]} was slow in {files[file]} only, at {share:.2f} of its rate in the others: not blamed"
            found.append(Finding("past", (rank,), (names[rank],), share, False, text, names[rank]))
    return found


def _healthy(rows: pl.DataFrame, ranks: int, *, at_once: bool) -> pl.Series:
    """Return which rows are of pairs that show how healthy pairs differ: those near the usual rate.

    While others run most pairs may share cables; then the usual rate is that of the best pairs of a usual node.
    """
    rate = rows.select(pl.col("rate").median().over("sender", "receiver"))["rate"].to_numpy()
    usual = float(np.median(rate))
    if at_once:
        usual = float(np.nanmedian(levels_of_nodes(rate, rows["sender"].to_numpy(), ranks)[0]))
    off = np.abs(rate - usual)
    near = off[rate >= usual] if at_once else off
    spread = max(OF_MAD * float(np.median(near)), LEAST_SPREAD)
    return pl.Series(off <= HEALTHY * spread)


def _transfers(rows: pl.DataFrame) -> Transfers:
    """Return rows as those of ``rotate``; a pair alone is a round of its own."""
    numbered = rows.with_columns(round=pl.when("alone").then(pl.col("at")).otherwise(pl.col("round")))
    round_, sender, receiver = (numbered[name].cast(pl.Int32).to_numpy() for name in ("round", "sender", "receiver"))
    return Transfers(round_, sender, receiver, np.exp(rows["rate"].to_numpy()))


def _as_latency_map(rows: pl.DataFrame, names: tuple[str, ...]) -> LatencyOutput:
    """Return latencies as those of ``latency_map``."""
    starter, other, number = (rows[name].cast(pl.Int32).to_numpy() for name in ("sender", "receiver", "repeat"))
    latency = np.exp(rows["rate"].to_numpy())
    return LatencyOutput({}, names, int(number.max()) + 1, np.nan, starter, other, latency, latency, number)


def _lines(tables: Sequence[PairTable], rows: pl.DataFrame, ends: tuple[End, ...], within: int) -> tuple[str, ...]:
    """Return what the tables cannot tell, a sentence each."""
    lines = [line for table in tables for line in table.cannot_tell]
    if not (rows["repeat"] > 0).any():
        lines.append("anything twice: nothing is certain; give the outputs of further runs, too, or measure as below")
    if any(table.both_ways for table in tables):
        lines.append("the two directions of a pair by themselves: which of them is slow cannot be told")
    if not any(table.alone or table.metric == LATENCY for table in tables):  # latency hardly loads a cable
        known = all(table.alone is False for table in tables)
        ran = "pairs ran at once" if known else f"{tables[0].format} does not say that only one ran at a time (--alone)"
        lines.append(
            f"pairs alone: {ran}, and those that share a cable look slow: no pair, cable or switch is blamed unless "
            "the format tells what ran at once, and static routes are given"
        )
    if within:
        lines.append(f"the fabric by {within} values of pairs on one host, which are not judged")
    devices = [end for end in ends if end.device]
    if devices and len(devices) == len({end.host for end in ends}):
        lines.append(f"more than one GPU or adapter of a host: {names_text(sorted({end.device for end in devices}))}")
    return tuple(dict.fromkeys(lines))
