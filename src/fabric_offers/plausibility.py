# SPDX-License-Identifier: BSD-3-Clause
"""Check the plausibility of records: rates above the line rate, one output for two runs.

A raw output can be forged, and a careful forgery passes here. A careless one does not.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from fabric_checks.core import files
from fabric_checks.core.text import value_text
from fabric_checks.records.record import SIMULATED
from fabric_offers.bundle_file import Data, Fault
from fabric_offers.runs import OUTPUT, Run

KIND = "physics"
#: Link rates are rounded in data sheets.
_ROUNDED = 1.02
#: An output of fewer bytes, or a run with fewer values, may come out twice.
_FEW_B, _FEW = 300, 3


def implausible(
    folder: Path, runs: Sequence[Run], system: Data, link_MBps: float | None
) -> list[Fault]:
    """Return what cannot be true of runs.

    :param link_MBps: the rate of a link as the buyer knows it; None: that of the vendor.
    """
    return [*_copies(folder, runs), *_rates(runs, system, link_MBps)]


def _copies(folder: Path, runs: Sequence[Run]) -> Iterator[Fault]:
    """Find outputs of two runs that are the same to the byte."""
    first: dict[bytes, Run] = {}
    for run in runs:
        path = folder / run.folder / OUTPUT
        if (
            not path.is_file()
            or path.stat().st_size < _FEW_B
            or len(run.records) < _FEW
        ):
            continue
        digest = hashlib.sha256(files.read_bytes(path, folder)).digest()
        other = first.setdefault(digest, run)
        if other is not run:
            yield Fault(
                KIND,
                run.name,
                f"its output is byte for byte that of {other.name}: one of them is a copy",
            )


def _rates(
    runs: Sequence[Run], system: Data, link_MBps: float | None
) -> Iterator[Fault]:
    """Find rates above that of all links of the nodes, or of one node's links in a job of two nodes.

    A rate that its check does not declare ``one_way`` may count both directions. The line rate of a node is
    ``nics`` (1 if it is not given) times the rate of a link, as for references; nothing is simulated there.
    """
    rates = {}
    for partition in system["partitions"]:
        extras = partition["extras"]
        link = link_MBps or extras.get("link_MBps")
        if link and SIMULATED not in partition.get("features", ()):
            rates[partition["name"]] = link * extras.get("nics", 1)
    for run in runs:
        nodes = run.first["nodes"] or 1
        if nodes > 1 and run.case[1] in rates:
            links = 1 if nodes == 2 else nodes
            yield from _too_fast(run, links * rates[run.case[1]])


def _too_fast(run: Run, links_MBps: float) -> Iterator[Fault]:
    """Find rates of a run that are above what its links carry in one direction."""
    for record in run.records:
        ways = 1 if record["one_way"] else 2
        most, is_rate = ways * links_MBps, record["metric"] and record["unit"] == "MB/s"
        if is_rate and record["value"] > most * _ROUNDED:
            text = f"{record['metric']} is {value_text(record['value'])} MB/s, but the links carry"
            detail = (
                f"{value_text(most)} MB/s ({run.first['nodes']} nodes, {ways} ways)"
            )
            yield Fault(KIND, run.name, f"{text} {detail}")
