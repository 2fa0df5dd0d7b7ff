# SPDX-License-Identifier: BSD-3-Clause
"""Join the tables of one machine, from several files or repeats, into a run as our own programs measure
it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from fabric_checks.analysis.pair_matrix import MOST_PAIRS
from fabric_checks.core.errors import OutputError
from fabric_checks.core.finding import Severity
from fabric_checks.core.text import names_text
from fabric_checks.diagnosis.cross_section import kinds
from fabric_checks.diagnosis.cross_section.noise import OF_MAD, levels_of_nodes
from fabric_checks.diagnosis.cross_section.settings import SETTINGS
from fabric_checks.diagnosis.finding import RankFinding as Finding
from fabric_checks.diagnosis.finding import note
from fabric_checks.matrices.model import LATENCY, End, PairTable
from fabric_checks.parsers.latency_map import LatencyOutput
from fabric_checks.parsers.rotate import RotateOutput, Transfers

#: Devices of two names are compared with the same two on other hosts if so many pairs have them.
FEWEST_OF_CLASS = 6
#: A class of devices, or a file, is mentioned from this loss on; a node's loss in one file counts from it on,
#: too.
NOTED = 0.10
#: A file whose values are so many times those of another is mentioned: its unit may be another.
UNLIKE = 1.5
#: Pairs within so many deviations of the usual rate show how healthy pairs differ.
HEALTHY = 4.0

#: Why only nodes can be blamed.
_SHARED = (
    "only nodes can be blamed, because pairs that share a cable slow each other, unless the format tells what"
    " ran "
)
_SHARED += "at once, and static routes are given"
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
    groups: dict[tuple[object, ...], list[tuple[str, PairTable]]] = {}
    for name, table in tables:
        groups.setdefault((table.format, table.metric, table.title, table.both_ways), []).append(
            (name, table)
        )
    return [_run([name for name, _ in each], [table for _, table in each]) for each in groups.values()]


def _run(names: Sequence[str], tables: Sequence[PairTable]) -> Run:
    first, files = tables[0], tuple(dict.fromkeys(names))
    ends = tuple(dict.fromkeys(end for table in tables for end in table.ends))
    if len(ends) ** 2 > MOST_PAIRS:
        raise OutputError(
            f"{names_text(files)}: {len(ends)} ends have too many pairs to be analysed; give a part"
        )
    frame = _rows(tables, [files.index(name) for name in names], ends)
    if frame["within"].all():
        raise OutputError(
            f"{names_text(files)}: there are several hosts, but no pair of two of them: give such pairs"
        )
    lines, labels = (*_unlike(tables, files, frame), *_lines(tables, frame, ends)), tuple(map(str, ends))
    if first.metric == LATENCY:
        once = pl.lit(not first.both_ways) | (pl.col("sender") < pl.col("receiver"))
        frame = frame.filter(~pl.col("within") & once).select(
            "sender", "receiver", pl.col("rate").exp(), "repeat"
        )
        starter, other, latency_us, number = (column.to_numpy() for column in frame)
        passes = int(number.max()) + 1
        latencies = LatencyOutput({}, labels, passes, np.nan, starter, other, latency_us, latency_us, number)
        return Run(files, latencies, first, ends, lines)
    frame, findings = _levelled(frame) if len({end.host for end in ends}) > 1 else (frame, [])
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
    columns = ("round", "sender", "receiver", pl.col("rate").exp())
    transfers = {
        phase: Transfers(*(column.to_numpy() for column in rows.select(columns)))
        for phase, rows in phases.items()
    }
    title, repeated = f"{first.format} {first.title}".strip(), bool((alone["repeat"] > 0).any())
    # It has no header, no number of pairs in a round, no share of suspects and no times.
    output = RotateOutput({}, title, labels, 0, 0.0, repeated, np.nan, np.nan, transfers)
    nodes = tuple(end.host for end in ends)
    output = replace(output, program=first.format, nodes=nodes, both_ways=first.both_ways, at_once=at_once)
    return Run(files, output, first, ends, lines, tuple(findings))


def _rows(tables: Sequence[PairTable], files: Sequence[int], ends: tuple[End, ...]) -> pl.DataFrame:
    """Return all measurements in the order of time: of both directions for each; a pair alone is a round of
    its own.

    :param files: the number of each table's file.
    """
    rank = {end: number for number, end in enumerate(ends)}
    rows = pl.DataFrame(
        [
            (rank[one], rank[other], np.log(value), number, file, bool(table.alone))
            for file, table in zip(files, tables, strict=True)
            for sender, receiver, value, _, number in table.rows
            for one, other in ((sender, receiver), (receiver, sender))[: 1 + table.both_ways]
        ],
        schema={
            "sender": pl.Int32,
            "receiver": pl.Int32,
            "rate": None,
            "round": pl.Int32,
            "file": None,
            "alone": None,
        },
        orient="row",
    )
    host, device = (pl.Series(names) for names in zip(*ends, strict=True))
    sides = rows["sender"], rows["receiver"]
    pair = pl.struct("sender", "receiver")
    rows = rows.with_columns(
        repeat=pl.int_range(pl.len(), dtype=pl.Int32).over(pair),
        round=pl.when("alone").then(pl.int_range(pl.len(), dtype=pl.Int32)).otherwise("round"),
        host=host.gather(sides[0]),
        within=(host.gather(sides[0]) == host.gather(sides[1])) & (host.n_unique() > 1),
        devices=pl.concat_list(*map(device.gather, sides)),
    )
    off = pl.when(pl.len().over(pair) > 1).then(pl.col("rate") - pl.col("rate").mean().over(pair))
    rows = rows.with_columns(off=off).with_columns(off=pl.col("off").median().over("file").fill_null(0.0))
    if len({table.alone for table in tables}) == 1:
        # Whole nights differ: with other versions, or other work on the machine.
        rows = rows.with_columns(rate=pl.col("rate") - pl.col("off"))
    return rows


def _levelled(rows: pl.DataFrame) -> tuple[pl.DataFrame, list[Finding]]:
    """Return rates with those of each two names of devices on the level of the fastest, and what these differ
    by.

    GPU 7 may be farther from its adapter on every host, and one rail slower as a whole: no host is to blame
    for it.
    """
    # Compared on each host, whatever its kind, and by its best pairs: others may share cables, and a partner
    # be slow.
    across = rows.filter(~pl.col("within")).group_by("devices", "host")
    of_host = across.agg(pl.col("rate").quantile(SETTINGS.node_quantile, "linear"), count=pl.len())
    less = pl.col("rate") - pl.col("rate").median().over("host")
    usual = (
        of_host.with_columns(less=less)
        .group_by("devices")
        .agg(level=pl.col("less").median(), count=pl.col("count").sum())
    )
    usual = usual.filter(pl.col("count") >= FEWEST_OF_CLASS).sort("devices")
    # Devices of one name are one rail; between rails there is another way.
    rail = pl.col("devices").list.first() == pl.col("devices").list.last()
    usual = usual.with_columns(best=pl.col("level").quantile(0.75, "nearest").over(rail))
    findings = []
    for (one, other), share in usual.select("devices", (pl.col("level") - pl.col("best")).exp()).iter_rows():
        if share < 1 - NOTED:
            text = (
                f"pairs of {one} and {other} reach {share:.2f} of what other devices do, on all hosts alike:"
                " no host is blamed for it"
            )
            look = "look at the switches of that rail, and at how far these devices are from their adapters"
            findings.append(replace(note("node classes", f"{text}; {look}"), size=1 - share, advice=look))
    slower = usual.select("devices", slower=pl.col("best").max() - pl.col("level"))
    rows = rows.join(slower, on="devices", how="left", maintain_order="left")
    return rows.with_columns(rate=pl.col("rate") + pl.col("slower").fill_null(0.0)).drop("slower"), findings


def _in_one_file(frame: pl.DataFrame, files: tuple[str, ...], names: tuple[str, ...]) -> list[Finding]:
    """Return the nodes that were slow in one file only: these are not slow any more, or the traffic of others
    was."""
    off = frame.with_columns(off=pl.col("rate") - pl.col("rate").max().over("sender", "receiver"))
    off = off.filter(pl.col("file").n_unique().over("sender", "receiver") > 1)
    ends = pl.concat([off.select("file", "off", rank=side) for side in ("sender", "receiver")])
    low = ends.group_by("rank", "file").agg(pl.col("off").median(), pl.len()).sort("rank", "file")
    spread = OF_MAD * float(np.median(np.abs(off["off"].to_numpy()))) if len(off) else 0.0
    found = []
    for rank, file, level, count in low.iter_rows():
        if count >= FEWEST_OF_CLASS and level < -max(HEALTHY * spread, NOTED):
            share = float(np.exp(level))
            text = (
                f"{names[rank]} was slow in {files[file]} only, at {share:.2f} of its rate in the others: not"
                " blamed"
            )
            found.append(
                Finding(
                    kind="past",
                    severity=Severity.SUSPECT,
                    text=text,
                    part=names[rank],
                    hosts=(names[rank],),
                    size=1 - share,
                    data={"ranks": [rank]},
                )
            )
    return found


def _healthy(rows: pl.DataFrame, ranks: int, *, at_once: bool) -> pl.Series:
    """Return which rows are of pairs that show how healthy pairs differ: those near the usual rate of their
    kind.

    While others run most pairs may share cables; then the usual rate is that of the best pairs of a usual
    node.
    """
    rate = rows.select(pl.col("rate").median().over("sender", "receiver"))["rate"].to_numpy()
    ends = [rows[side].to_numpy().astype(np.int64) for side in ("sender", "receiver")]
    if at_once:
        usual = float(np.nanmedian(levels_of_nodes(rate, ends[0], ranks)[0]))
    else:
        between = rows.with_columns(pair=ends[0] * ranks + ends[1], phase=pl.lit("alone")).filter(
            ~pl.col("within")
        )
        scan = between.filter(pl.col("repeat") == 0).with_columns(phase=pl.lit("scan"))
        of_kind = kinds.of_rates(
            kinds.by_pair(pl.concat((scan, between)).select("pair", "rate", "phase")), ranks
        )
        rate = rate - np.minimum(*(of_kind[side] for side in ends))
        usual = float(np.median(rate))
    off = np.abs(rate - usual)
    near = off[rate >= usual] if at_once else off
    spread = max(OF_MAD * float(np.median(near)), SETTINGS.least_spread)
    return pl.Series(off <= HEALTHY * spread)


def _unlike(tables: Sequence[PairTable], files: Sequence[str], rows: pl.DataFrame) -> list[str]:
    """Return what speaks against files of one machine in one unit, a sentence each."""
    machines: list[set[str]] = []
    for hosts in ({end.host for end in table.ends} for table in tables):
        known = [each for each in machines if each & hosts]
        machines = [each for each in machines if each not in known] + [hosts.union(*known)]
    lines = []
    if len(machines) > 1:
        lines.append(
            f"one machine: the files are of {len(machines)} groups without a host in common; give each alone"
        )
    levels = sorted(rows.select("off", "file").unique().iter_rows())
    if (ratio := float(np.exp(levels[-1][0] - levels[0][0]))) > UNLIKE:
        high, low = files[levels[-1][1]], files[levels[0][1]]
        lines.append(
            f"one level: {high} has {ratio:.3g} times the values of {low}; see that both have the same unit"
        )
    return lines


def _lines(tables: Sequence[PairTable], rows: pl.DataFrame, ends: tuple[End, ...]) -> tuple[str, ...]:
    """Return what the tables cannot tell, a sentence each."""
    lines = [line for table in tables for line in table.cannot_tell]
    if not (rows["repeat"] > 0).any():
        lines.append(
            "any pair twice, so nobody is blamed; add a second run, or repeat the pairs listed below"
        )
    if tables[0].both_ways:
        lines.append("the two directions of a pair by themselves: which of them is slow cannot be told")
    hardly_shares = any(
        table.alone or table.metric == LATENCY for table in tables
    )  # latency hardly loads a cable
    if not hardly_shares:
        known = all(table.alone is False for table in tables)
        lines.append(
            f"pairs one at a time: {_AT_ONCE if known else _PERHAPS_AT_ONCE.format(tables[0].format)}"
        )
    if within := int(rows["within"].sum()):
        lines.append(f"the fabric by {within} values of pairs on one host, which are not judged")
    devices = [end for end in ends if end.device]
    if devices and len(devices) == len({end.host for end in ends}):
        lines.append(
            f"more than one GPU or adapter of a host: {names_text(sorted({end.device for end in devices}))}"
        )
    return tuple(dict.fromkeys(lines))
