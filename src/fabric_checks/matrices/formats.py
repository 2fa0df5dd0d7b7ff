# SPDX-License-Identifier: BSD-3-Clause
"""Recognize the format of a table of pairs by its content, and read it."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from fabric_checks.core.errors import OutputError
from fabric_checks.core.text import csv_text
from fabric_checks.matrices import reading, without_pairs
from fabric_checks.matrices.model import End, PairTable
from fabric_checks.parsers import latency_map, rotate
from fabric_checks.parsers.latency_map import LatencyOutput
from fabric_checks.parsers.rotate import RotateOutput

#: A module each with ``NAME``; ``recognizes(text) -> bool``; ``parse(text) -> list[PairTable]``, which raises
#: :class:`OutputError`; and ``NEXT``, the command that measures pairs again: once for each, with ``{sender}`` and
#: ``{receiver}``, or once for the nodes of all, with ``{hostfile}`` and ``{count}``.
_MODULES = (
    "clusterkit", "nccl_json", "nccl_tests", "mpigraph", "linktest", "superbench", "perftest", "without_pairs", "plain",
)  # fmt: skip


def _readers() -> list[Any]:
    return [import_module(f"fabric_checks.matrices.{name}") for name in _MODULES]


def parse(text: str) -> list[PairTable] | RotateOutput | LatencyOutput:
    """Read the pairs in the output of our own programs, or of any of the known ones.

    :raises OutputError: if no program, or more than one, prints such a text, or if it is not whole.
    """
    if "# fabric-checks latency_map " in text:
        return latency_map.parse(text)
    if "# fabric-checks " in text:
        return rotate.parse(text)
    text = reading.cleaned(text)
    fitting = [each for each in _readers() if each.recognizes(text)]
    if not fitting:
        read = (each.NAME for each in _readers() if each is not without_pairs)
        known = ", ".join(("rotate, latency_map", *read))
        raise OutputError(
            f"this is no matrix of pairs as these print it: {known}; docs/blame.md has an example of each"
        )
    if len(fitting) > 1:
        names = " and of ".join(each.NAME for each in fitting)
        raise OutputError(f"this is the output of {names} at once: give a file for each")
    tables: list[PairTable] = fitting[0].parse(text)
    return tables


def again(program: str, pairs: Sequence[tuple[End, End]], file: str) -> tuple[str, list[str]]:
    """Return what measures pairs again with a program: the content of a file, and the commands.

    :param file: the name of that file.
    """
    command = next((each.NEXT for each in _readers() if program == each.NAME), "")
    if "{hostfile}" in command:
        hosts = list(dict.fromkeys(end.host for pair in pairs for end in pair))
        hosts = hosts[: len(hosts) // 2 * 2]  # some pair all nodes; the last is a healthy one
        return "".join(f"{host}\n" for host in hosts), [command.format(hostfile=file, count=len(hosts))]
    if command:
        lines = [
            command.format(sender=one.host, receiver=other.host, sender_device=one.device, receiver_device=other.device)
            for one, other in pairs
        ]
        return "".join(f"{line}\n" for line in lines), lines
    return csv_text(("from", "to"), [(str(one), str(other)) for one, other in pairs]), []
