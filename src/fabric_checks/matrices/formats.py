# SPDX-License-Identifier: BSD-3-Clause
"""Recognize the format of a table of pairs by its content, and read it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from types import ModuleType

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.core.text import names_text
from fabric_checks.matrices import clusterkit, linktest, mpigraph, nccl_tests, perftest, plain, superbench
from fabric_checks.matrices.model import End, PairTable
from fabric_checks.parsers import latency_map, rotate
from fabric_checks.parsers import plain as plain_text
from fabric_checks.parsers.latency_map import LatencyOutput
from fabric_checks.parsers.rotate import RotateOutput

#: A module each with ``NAME``; ``SIGNATURE``, a pattern that no other format has; ``parse(text) ->
#: list[PairTable]``, which raises :class:`OutputError` for a text that is cut or contradicts itself; and
#: ``NEXT``, the command that measures pairs of a ``table`` again: once for each, from ``sender`` to
#: ``receiver``, or once for all nodes, with ``hostfile`` and ``count``. Where it cannot choose the device, or
#: the test is not known, the pairs are given.
READERS: tuple[ModuleType, ...] = (
    clusterkit, nccl_tests, mpigraph, linktest, superbench, perftest, plain,
)  # fmt: skip
#: What begins a line of an output that has no pairs, and what it has and what to give instead.
_WITHOUT_PAIRS = {
    r"dgnettest has (?:PASSED|FAILED)|Per node bandwidth stats|nprocs=\d+ sets=\d+ maxbytes=": (
        "dgnettest prints values of nodes (loopback), of sets of nodes (bisect, all2all) and a histogram"
        " (latency), but no pairs, without which the slow end is not known: measure pairs, as with rotate or"
        " mpiGraph"
    ),
    r"PER-(?:PROCESS STRAGGLER|NODE) ANALYSIS|SPIKE ANALYSIS|PER-ITERATION STATS": (
        "the analysis of nccl-tests names the fastest and slowest process of a collective, but no pairs: give"
        " the JSON that it was made from, of runs of sendrecv_perf between two hosts at a time"
    ),
    r"The prefix of cmd to run is: |command prefix: ": (
        "ib_validation of superbench has numbers instead of the names of hosts: give results-summary.jsonl of"
        " that run"
    ),
    r" ?(?:Parallel|Serial) +PingPong for step|Parallel Results for step|pingponganalysis: |\Asion": (
        "the log of LinkTest has the times of steps, and its SION file is no text: let pingponganalysis -g"
        " write gnuplotinput.dat, and give that with mapping.dat before it"
    ),
    r"\A\s*\{(?s:.*)\"Links\"\s*:": (
        "the layout of ClusterKit's JSON is not published: give bandwidth.txt and latency.txt from the same"
        " folder"
    ),
}
#: The nodes that dgnettest itself calls low.
_LOW = re.compile(r"^(\S+)(?:\s+[\d.]+%?){7}\s+result is low|bandwidth low\b.* nodes: (\S+)", re.MULTILINE)


def parse(text: str) -> list[PairTable] | RotateOutput | LatencyOutput:
    """Read the pairs in the output of our own programs, or of any of the known ones.

    :raises OutputError: if no program, or more than one, prints such a text, or if it is not whole.
    """
    is_latency, is_own = "# fabric-checks latency_map " in text, "# fabric-checks " in text
    cleaned = plain_text.cleaned(text)
    fitting = [each for each in READERS if each.SIGNATURE.search(cleaned)]
    names = [*(each.NAME for each in fitting), *(["rotate or latency_map"] if is_own else [])]
    if len(names) > 1:
        raise OutputError(f"this is the output of {' and of '.join(names)} at once: give a file for each")
    if is_own:
        return latency_map.parse(text) if is_latency else rotate.parse(text)
    if not fitting:
        raise OutputError(_why_unknown(cleaned))
    tables: list[PairTable] = fitting[0].parse(cleaned)
    return tables


def _why_unknown(text: str) -> str:
    """Return what a text has instead of pairs, and what to give; or which formats are known."""
    low = dict.fromkeys(found[1] or found[2] for found in _LOW.finditer(text))
    for beginning, cause in _WITHOUT_PAIRS.items():
        if re.search(rf"^(?:{beginning})", text, re.MULTILINE):
            return cause + (f" (it calls low itself: {quoted(names_text(list(low)))})" if low else "")
    known = ", ".join(("rotate, latency_map", *(each.NAME for each in READERS)))
    own = "for your own numbers begin the file with `# unit: GB/s, larger is better`"
    return f"format not recognized; known are {known} (examples in docs/blame.md); {own}"


def _command(table: PairTable) -> str:
    return next((each.NEXT for each in READERS if table.format == each.NAME), "")


def measures_nodes(table: PairTable) -> bool:
    """Return whether the program of a table measures all pairs of the nodes that it is given."""
    return "{hostfile}" in _command(table)


def again(table: PairTable, pairs: Sequence[tuple[End, End]], file: str) -> tuple[str, list[str]]:
    """Return what measures pairs again as a table has them: the content of a file, and the commands.

    :param file: the name of that file.
    """
    command = _command(table)
    if measures_nodes(table):
        hosts = list(dict.fromkeys(end.host for pair in pairs for end in pair))
        hosts = hosts[: len(hosts) // 2 * 2]  # some pair all nodes; the last is a healthy one
        text = "".join(f"{host}\n" for host in hosts)
        return text, [command.format(hostfile=file, count=len(hosts), table=table)]
    devices = {end.device for pair in pairs for end in pair}
    is_fit = "" not in devices if "device}" in command else devices <= {"", "gpu 0"}
    if command and table.kind and is_fit:
        lines = [command.format(sender=one, receiver=other, table=table) for one, other in pairs]
        return "".join(f"{line}\n" for line in lines), lines
    return "\n".join(["from,to", *(f"{one},{other}" for one, other in pairs), ""]), []
