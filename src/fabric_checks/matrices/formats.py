# SPDX-License-Identifier: BSD-3-Clause
"""Recognize the format of a table of pairs by its content, and read it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from types import ModuleType

from fabric_checks.core.errors import OutputError
from fabric_checks.matrices import clusterkit, mpigraph, nccl_tests, perftest, plain
from fabric_checks.matrices.model import End, PairTable
from fabric_checks.parsers import latency_map, launch_errors, rotate
from fabric_checks.parsers import plain as plain_text
from fabric_checks.parsers.latency_map import LatencyOutput
from fabric_checks.parsers.rotate import RotateOutput
from fabric_checks.parsers.table import require

#: A module each with ``NAME``; ``SIGNATURE``, a pattern that no other format has; and ``parse(text) ->
#: list[PairTable]``, which raises :class:`OutputError` for a text that is cut or contradicts itself.
READERS: tuple[ModuleType, ...] = (clusterkit, nccl_tests, mpigraph, perftest, plain)
#: Commands of programs that measure all pairs of the nodes in a file, whose number they may need.
_OF_NODES = {
    clusterkit.NAME: "clusterkit.sh -f {file} --exe_opt '-d bw -d lat -x'",
    mpigraph.NAME: "mpirun -hostfile {file} -np {count} mpiGraph {size_B} 20 10",
}
_OF_ONE_HOST = "this is of the GPUs of one host, whose pairs are not judged: give pairs between hosts"
#: What begins a line of an output that has no pairs, and what it has and what to give instead.
_WITHOUT_PAIRS = {
    # OSU, Intel's, UCX; iperf 3, 2 and their JSON and CSV; libfabric, qperf, NetPIPE, nuttcp; netperf, ping,
    # verbs; HPCC, GPCNet, NIXL and NVSHMEM; Julia's, SKaMPI
    r"# OSU |# Size +[BL]|#\s+Intel\(R\) MPI Benchmarks|# Benchmarking |\|\s+(?:Stage|Test) |iterations,50"
    r"|\[ ID\] Interval|\{\s*\"start\":|\d{14},[\d.]+,\d|bytes +(?:#sent|iters) |[a-z]+_\w+:\n +\w+ += "
    r"|.*\d bytes +\d+ times|[ \t]*[\d.]+ MB / |sockperf: |(?:MIGRATED )?(?:TCP|UDP)\b.* TEST"
    r"|PING |---.* statistics ---|\d+ bytes in [\d.]+ seconds = |.*HPC Challenge|Latency-Bandwidth-Benchmark"
    r"|Begin of Summary section|MinPingPongBandwidth_GBytes=|Network ?Tests v|NIXLBench|#shmem_|\| size \(B\)"
    r"|START mpiBench|[ \t]*b_eff += |job size: +\d|#bytes +#repetitions|size \(bytes\),|begin result \"": (
        "this is of one pair, or one value of many, and names no hosts: write the value of each pair as CSV"
        " (`from,to,value`), or measure all with rotate"
    ),
    r".*P2P=(?:En|Dis)abled|nvbandwidth |[ \t]+GPU0[ \t]+GPU1|GPU \d+: .*\(UUID: "
    r"|.*\bp2p-bandwidth |TransferBench|.*RocmBandwidthTest": _OF_ONE_HOST,
    r"-+ ?LinkTest|.*\(SION\)": (
        "LinkTest prints no pairs, but writes them to its SION file: write the value of each pair as CSV"
        " (`from,to,value`)"
    ),
    r"\s*<(?:!DOCTYPE )?html": "this is a page of HTML: give the text or the table that it was made of",
    r"dgnettest has (?:PASSED|FAILED)|Per node bandwidth stats|nprocs=\d+ sets=\d+ maxbytes=": (
        "dgnettest prints values of nodes (loopback), of sets of nodes (bisect, all2all) and a histogram"
        " (latency), but no pairs, without which the slow end is not known: measure pairs, as with rotate or"
        " mpiGraph"
    ),
    r"PER-(?:PROCESS STRAGGLER|NODE) ANALYSIS|SPIKE ANALYSIS|PER-ITERATION STATS": (
        "the analysis of nccl-tests names the fastest and slowest process of a collective, but no pairs: give"
        " the outputs of sendrecv_perf between two hosts at a time"
    ),
    r"\A\s*\{(?s:.*)\"nccl_version\"|size,count,type,": (
        "nccl-tests wrote this JSON or CSV: give the text that the same run printed"
    ),
    r"\A\s*\{\s*\"?test_info": (
        "perftest wrote this JSON: give the text that it prints, and a line `# n1 -> n2` before each run"
    ),
    r"Switch\s+\d+ \"|Unicast lids|SwitchName=": "this is a map of the fabric: give it with --topology",
    r"\A\s*\{(?s:.*)\"Links\"\s*:": (
        "the layout of ClusterKit's JSON is not published: give bandwidth.txt and latency.txt from the same"
        " folder"
    ),
    r".*[\0-\x08\ufffd]": "this is no text: unpack it, or save its table as CSV",
    r"\A(?!(?:#.*\n|\s)*\Z)(?:[-+\d.e\[\],; \t]*\n|#.*\n)+\Z": (
        "these are numbers without names of hosts: give a matrix a row and a column of names, and begin it"
        " with its unit, as `# unit: GB/s`"
    ),
    r"[\w.:\"-]*[,\t](?:[\w.:\"-]*[,\t])+\"?[\d.]+\"?$": (
        "this is a table without a unit: begin it with a line such as `# unit: GB/s`"
    ),
    r"[ \t]+\w+(?:[ \t]+\w+)+\n\w[\w.:-]*(?:[ \t]+[-\d.]+){2,}$": (
        "this is a table with blanks between columns: use commas or tabs, and begin it with its unit, as"
        " `# unit: GB/s`"
    ),
    r"\A\s*(?:\{\s*\"|\[\s*[\[{\"])": (
        "this is JSON of an unknown layout: write the value of each pair as CSV (`from,to,value`)"
    ),
}

#: A line of a launcher that says no cause.
_FAREWELL = re.compile(r"(?m)^(?:srun: |\[(?:mpiexec|proxy)[@:]).*")


def parse(text: str) -> list[PairTable] | RotateOutput | LatencyOutput:
    """Read the pairs in the output of our own programs, or of any of the known ones.

    :raises OutputError: if no program, or more than one, prints such a text, or if it is not whole.
    """
    before, is_own, behind = text.partition("# fabric-checks ")
    # Within an output of our own, up to a million rows, another one would break its check sum.
    others = before + behind.rpartition("# complete: ")[2] if is_own else text
    others = plain_text.cleaned(others)
    fitting = {
        each.NAME: each.parse for each in READERS if each.SIGNATURE.search(others)
    }
    if is_own:  # read as it is, with its check sum
        own = latency_map if "# fabric-checks latency_map " in text else rotate
        fitting["rotate or latency_map"] = lambda _: own.parse(text)
    require(
        len(fitting) <= 1,
        f"this is the output of {' and of '.join(fitting)} at once: give a file for each",
    )
    if not fitting:
        raise OutputError(_why_unknown(others))
    (read,) = fitting.values()
    found: list[PairTable] | RotateOutput | LatencyOutput = read(others)
    return found


def _why_unknown(text: str) -> str:
    """Return what a text has instead of pairs, and what to give; or which formats are known."""
    for beginning, cause in _WITHOUT_PAIRS.items():
        if re.search(rf"(?m)^(?:{beginning})", text):
            return cause
    if not text.strip():
        return "the file is empty"
    said = launch_errors.known(text) or launch_errors.first_error(text)
    if not said and (farewell := _FAREWELL.search(text)):
        said = farewell[0]
    if said:
        return f"there are no pairs in it, and it reports: {said.strip()}"
    known = ", ".join(each.NAME for each in READERS if each is not plain)
    return (
        f"format not recognized; docs/blame.md has an example of each that is known (rotate, {known}); begin"
        " numbers of your own with `# unit: GB/s`"
    )


def measures_nodes(table: PairTable) -> bool:
    """Return whether the program of a table measures all pairs of the nodes that it is given."""
    return table.format in _OF_NODES


def again(
    table: PairTable, pairs: Sequence[tuple[End, End]], file: str
) -> tuple[str, list[str]]:
    """Return what measures pairs again as a table has them: the content of a file, and the commands.

    :param file: the name of that file.
    """
    if table.format == nccl_tests.NAME:
        lines = [nccl_tests.command(table, *pair) for pair in pairs]
        return "\n".join([*lines, ""]), [f"sh {file} > again.txt"]
    if not measures_nodes(table):
        return "\n".join(
            ["from,to", *(f"{one},{other}" for one, other in pairs), ""]
        ), []
    hosts = list(dict.fromkeys(end.host for pair in pairs for end in pair))
    hosts = hosts[
        : len(hosts) // 2 * 2
    ]  # some pair all nodes; the last is a healthy one
    command = _OF_NODES[table.format].format(
        file=file, count=len(hosts), size_B=table.size_B
    )
    return "\n".join([*hosts, ""]), [command]
