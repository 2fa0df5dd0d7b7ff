# SPDX-License-Identifier: BSD-3-Clause
"""Maps of a fabric from the output of its tools and from Slurm's topology, recognized by their content."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

from fabric_checks.core import files
from fabric_checks.core.errors import OutputError
from fabric_checks.core.routing import UNKNOWN_ROUTING
from fabric_checks.core.text import count_text
from fabric_checks.fabric_map import (
    cabling,
    forwarding,
    infiniband,
    slurm_topology,
)
from fabric_checks.fabric_map.model import FabricMap
from fabric_checks.parsers.table import require

#: What occurs in outputs that are not read, and why.
_NOT_READ = {
    r"(?m)^\s+GUID 0x\S+ port |^## Summary: ": (
        "the output of ibqueryerrors is not read; give that of ibnetdiscover, which has all cables"
    ),
    r"\)==> ": "the output of iblinkinfo is not read; give that of ibnetdiscover, which has the same cables",
    r"(?m)^(?:CA|SW|RT) +\d+ +\d+ 0x": "the output of ibnetdiscover -p is not read; give it without -p",
    r"(?m)^(?:Ca|Switch|Router)\t : 0x": "the output of ibnetdiscover -l has no cables; give it without -l",
    r"(?m)^(?:\w+Record dump:|# Port info: )": (
        "the output of saquery and ibportstate is not read; give that of ibnetdiscover"
    ),
    r"(?m)^-[IWE]- |^START_NODES$": (
        "the files of ibdiagnet are not read; give the output of ibnetdiscover"
    ),
    r"(?m)^\s+GPU0\s+GPU1|^GPU \d+: ": (
        "this is of the GPUs of one host, which are on no map of a fabric"
    ),
    r"\[[0-9A-F]+\] 0x\d\d -> ": (
        "a log of OpenSM in which no tables were set up, so it does not tell the routing; give the one before"
        " it, too, or extras['routing'] or --routing"
    ),
}
#: The most pieces of a text that is read as a whole.
MOST_PIECES = files.LARGEST_B // files.PIECE_B


def read(paths: Sequence[Path]) -> FabricMap:
    """Return the map that some files give together.

    :param paths: the output of ``ibnetdiscover``, ``dump_lfts.sh`` or ``scontrol show topology``, Slurm's
        ``topology.conf``, or the log of OpenSM; one at least.
    :raises FabricError: for a file that cannot be read or is not one of these; the file is named.
    """
    return _of_pieces([(str(path), files.text_pieces(path)) for path in paths])


def age_text(paths: Sequence[Path], run_s: float) -> str:
    """Return the age of the oldest of some files against a run, in words.

    :param run_s: the time of the run, in seconds since 1970.
    """
    oldest = min(paths, key=lambda path: path.stat().st_mtime)
    written = oldest.stat().st_mtime
    days = round(abs(run_s - written) / 86400)
    side = "before" if written < run_s else "after"
    ago = (
        f"{count_text(days, 'day')} {side} the run" if days else "on the day of the run"
    )
    return f"the topology ({oldest.name}) was written {ago}"


def of_texts(texts: Sequence[tuple[str, str]]) -> FabricMap:
    """Return the map that some texts give together.

    :param texts: the name and the content of each: the output of ``ibnetdiscover``, forwarding tables with
        it, or Slurm's topology, and the log of OpenSM with either.
    :raises OutputError: if one is not one of these, is incomplete, or does not belong to the others; it is
        named.
    """
    return _of_pieces([(name, iter([text])) for name, text in texts])


def _of_pieces(texts: Sequence[tuple[str, Iterator[str]]]) -> FabricMap:
    """Return the map of texts that come in pieces, each to the end of a line; see :func:`of_texts`."""
    found: dict[str, Any] = {"tables": forwarding.Tables(), "routing": UNKNOWN_ROUTING}
    warnings = []
    for name, pieces in texts:
        try:
            warned = _read(pieces, found)
        except OutputError as error:
            raise OutputError(f"{name}: {error}") from None
        if warned:
            lines = count_text(warned, "warning")
            warnings.append(
                f"{name}: {lines} of the InfiniBand tools skipped: a part of the fabric may be missing"
            )
    tables: forwarding.Tables = found["tables"]
    if "cables" in found:
        known = infiniband.of_fabric(found["cables"], tables if tables.ports else None)
        warnings = [*known.warnings, *warnings]
        return replace(known, warnings=tuple(warnings), routing=found["routing"])
    require(
        not tables.ports,
        f"{texts[0][0]}: forwarding tables do not show cables; give the output of ibnetdiscover as well",
    )
    require("slurm" in found, "there is no topology")
    of_slurm: FabricMap = found["slurm"]
    return replace(of_slurm, routing=found["routing"])


def _read(pieces: Iterator[str], found: dict[str, Any]) -> int:
    """Add what a text has, by its form; return how many warnings of the tools were skipped."""
    first = next(pieces, "")
    if forwarding.FORWARDING.search(first):
        tables = forwarding.parse(chain([first], pieces))
        found["tables"].ports.update(tables.ports)
        found["tables"].guids.update(tables.guids)
        return tables.warnings
    text, warned = forwarding.WARNING.subn(
        "", "".join(chain([first], islice(pieces, MOST_PIECES)))
    )
    require(
        next(pieces, None) is None, "too large for a topology without forwarding tables"
    )
    if (tool := cabling.IBNETDISCOVER.search(text)) or cabling.SUBNET_LIST.search(text):
        require(
            "cables" not in found,
            "a second file of cables; give those of one subnet, which MPI used",
        )
        read = cabling.parse_ibnetdiscover if tool else cabling.parse_subnet_list
        found["cables"] = read(text)
    elif slurm_topology.is_topology(text):
        found["slurm"] = slurm_topology.parse(text)
    elif forwarding.ENGINE.search(text):
        found["routing"] = forwarding.routing_of_log(text)
    else:
        raise OutputError(_why_not_read(text))
    return warned


def _why_not_read(text: str) -> str:
    """Return why a text is none of the forms that are read, and what to do."""
    for form, why in _NOT_READ.items():
        if re.search(form, text):
            return why
    return (
        "not a known form of topology; give the output of ibnetdiscover or OpenSM's opensm-subnet.lst, of"
        " dump_fts, dump_lfts.sh or ibroute, of scontrol show topology, or the log of OpenSM"
    )
