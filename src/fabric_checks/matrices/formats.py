# SPDX-License-Identifier: BSD-3-Clause
"""Recognize the format of a table of pairs by its content, and read it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from types import ModuleType

from fabric_checks.core.errors import OutputError
from fabric_checks.core.text import csv_text
from fabric_checks.matrices import (
    clusterkit,
    linktest,
    mpigraph,
    nccl_tests,
    perftest,
    plain,
    superbench,
    without_pairs,
)
from fabric_checks.matrices.model import End, PairTable
from fabric_checks.parsers import latency_map, rotate
from fabric_checks.parsers import plain as plain_text
from fabric_checks.parsers.latency_map import LatencyOutput
from fabric_checks.parsers.rotate import RotateOutput

#: A module each with ``NAME``; ``recognizes(text) -> bool``; ``parse(text) -> list[PairTable]``, which raises
#: :class:`OutputError`; and ``NEXT``, the command that measures pairs again: once for each, with ``{sender}`` and
#: ``{receiver}``, or once for the nodes of all, with ``{hostfile}`` and ``{count}``; ``{kind}`` and ``{size_B}`` are
#: those of the table, and ``{sender_device}`` is the option of perftest. Where it cannot choose the device, or the test
#: is not known, the pairs are given.
READERS: tuple[ModuleType, ...] = (
    clusterkit, nccl_tests, mpigraph, linktest, superbench, perftest, plain,
)  # fmt: skip
#: A line without the number of a task before it, as ``srun -l`` has it.
_UNLABELLED = re.compile(r"^(?!\s*\d+: |\s*$)", re.MULTILINE)


def parse(text: str) -> list[PairTable] | RotateOutput | LatencyOutput:
    """Read the pairs in the output of our own programs, or of any of the known ones.

    :raises OutputError: if no program, or more than one, prints such a text, or if it is not whole.
    """
    is_latency, is_own = "# fabric-checks latency_map " in text, "# fabric-checks " in text
    cleaned = plain_text.cleaned(text)
    if not _UNLABELLED.search(cleaned):
        cleaned = re.sub(r"(?m)^ *\d+: ?", "", cleaned)
    fitting = [each for each in READERS if each.recognizes(cleaned)]
    names = [*(each.NAME for each in fitting), *(["rotate or latency_map"] if is_own else [])]
    if len(names) > 1:
        raise OutputError(f"this is the output of {' and of '.join(names)} at once: give a file for each")
    if is_own:
        return latency_map.parse(text) if is_latency else rotate.parse(text)
    if not fitting:
        known = ", ".join(("rotate, latency_map", *(each.NAME for each in READERS)))
        raise OutputError(
            without_pairs.refusal(cleaned)
            or f"this is no matrix of pairs as these print it: {known}; docs/blame.md has an example of each"
        )
    tables: list[PairTable] = fitting[0].parse(cleaned)
    return tables


def again(table: PairTable, pairs: Sequence[tuple[End, End]], file: str) -> tuple[str, list[str]]:
    """Return what measures pairs again as a table has them: the content of a file, and the commands.

    :param file: the name of that file.
    """
    command = next((each.NEXT for each in READERS if table.format == each.NAME), "")
    if "{hostfile}" in command:
        hosts = list(dict.fromkeys(end.host for pair in pairs for end in pair))
        hosts = hosts[: len(hosts) // 2 * 2]  # some pair all nodes; the last is a healthy one
        text = "".join(f"{host}\n" for host in hosts)
        return text, [command.format(hostfile=file, count=len(hosts), size_B=table.size_B)]
    devices = {end.device for pair in pairs for end in pair} - {"", "gpu 0"}
    if command and table.kind and ("_device}" in command or not devices):
        lines = [
            command.format(
                sender=one.host,
                receiver=other.host,
                sender_device=f" -d {one.device}" if one.device else "",
                receiver_device=f" -d {other.device}" if other.device else "",
                kind=table.kind,
                size_B=table.size_B,
            )
            for one, other in pairs
        ]
        return "".join(f"{line}\n" for line in lines), lines
    return csv_text(("from", "to"), [(str(one), str(other)) for one, other in pairs]), []
