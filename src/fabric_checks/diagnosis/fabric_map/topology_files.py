# SPDX-License-Identifier: BSD-3-Clause
"""Maps of a fabric from the output of its tools and from Slurm's topology, recognized by their content."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from fabric_checks.core import files
from fabric_checks.core.errors import OutputError
from fabric_checks.core.routing import UNKNOWN_ROUTING
from fabric_checks.core.text import count_text
from fabric_checks.diagnosis.fabric_map import (
    cabling,
    forwarding,
    infiniband,
    slurm_topology,
)
from fabric_checks.diagnosis.fabric_map.model import FabricMap


def read(paths: Sequence[Path]) -> FabricMap:
    """Return the map that some files give together.

    :param paths: the output of ``ibnetdiscover``, ``dump_lfts.sh`` or ``scontrol show topology``, Slurm's
        ``topology.conf``, or the log of OpenSM; one at least.
    :raises FabricError: for a file that cannot be read or is not one of these; the file is named.
    """
    return of_texts([(str(path), files.read_text(path)) for path in paths])


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
    fabric: cabling.Fabric | None = None
    tables = forwarding.Tables()
    of_slurm: FabricMap | None = None
    routing = UNKNOWN_ROUTING
    warnings = []
    for name, printed in texts:
        text, warned = infiniband.WARNING.subn("", printed)  # each leaves an empty line
        if warned:
            lines = count_text(warned, "warning")
            warnings.append(
                f"{name}: {lines} of the InfiniBand tools skipped: a part of the fabric may be missing"
            )
        try:
            if forwarding.FORWARDING.search(text):
                found = forwarding.parse(text)
                tables.ports |= found.ports
                tables.guids |= found.guids
            elif cabling.IBNETDISCOVER.search(text) or cabling.SUBNET_LIST.search(text):
                fabric = _cables(text, fabric)
            elif slurm_topology.is_topology(text):
                of_slurm = slurm_topology.parse(text)
            elif forwarding.ENGINE.search(text):
                routing = forwarding.routing_of_log(text)
            else:
                raise OutputError(
                    "not a known form of topology; give the output of ibnetdiscover, without -p, or OpenSM's"
                    " opensm-subnet.lst, of dump_fts, dump_lfts.sh or ibroute, of scontrol show topology, or"
                    " the log of OpenSM"
                )
        except OutputError as error:
            raise OutputError(f"{name}: {error}") from None
    if fabric is not None:
        known = infiniband.of_fabric(fabric, tables if tables.ports else None)
        return replace(known, warnings=(*known.warnings, *warnings), routing=routing)
    if tables.ports:
        raise OutputError(
            f"{texts[0][0]}: forwarding tables do not show cables; give the output of ibnetdiscover as well"
        )
    if of_slurm is None:
        raise OutputError("there is no topology")
    return replace(of_slurm, routing=routing)


def _cables(text: str, before: cabling.Fabric | None) -> cabling.Fabric:
    """Return the cables of a text; :param before: those of another one, in whose place they would be."""
    if before is not None:
        raise OutputError(
            "a second file of cables; give those of one subnet, which MPI used"
        )
    is_list = not cabling.IBNETDISCOVER.search(text)
    return (
        cabling.parse_subnet_list(text)
        if is_list
        else cabling.parse_ibnetdiscover(text)
    )
