# SPDX-License-Identifier: BSD-3-Clause
"""nccl-tests and rccl-tests between two hosts, or two GPUs, at a time: text, and JSON (``-J``, 2.19 and
later).

The cycles (``-N``) and iterations (``-I``) of a launch have its routes and its moment: they are one
measurement.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from operator import index
from statistics import fmean, median

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.core.text import names_text
from fabric_checks.matrices.model import BANDWIDTH, LATENCY, LATENCY_B, End, PairTable, Row
from fabric_checks.matrices.shared_readers import json_documents, of_sizes
from fabric_checks.parsers import nccl_tests

NAME = "nccl-tests"
NEXT = "mpirun -np 2 -H {sender.host}:1,{receiver.host}:1 {table.kind} -b {table.size_B} -e {table.size_B}"
SIGNATURE = re.compile(r'^# Using devices|^# +size +count +type |\A\s*\{(?s:.*)"nccl_version"', re.MULTILINE)
_SIZES = re.compile(
    r"^#.* minBytes ([1-9]\d{0,17}) maxBytes (\d{1,18}) step: (\d{1,9})\((factor|bytes)\)", re.M
)
_PROGRAM = re.compile(r"^# Collective test concluded: (\w+)", re.MULTILINE)

#: The program of a run; the GPU of each rank; size in bytes, time in us and bus bandwidth in MB/s of each
#: row, none if the run did not end; and its first line.
_Launch = tuple[str, Sequence[End], Sequence[tuple[int, float, float]], int | None]


def parse(text: str) -> list[PairTable]:
    """Read one or more runs: the bus bandwidth of the largest size, and the time of the smallest up to 1
    KiB."""
    measured = defaultdict[tuple[str, str, int], list[Row]](list)
    unended = []
    for program, ends, rows, line in _of_json(text) if text.lstrip().startswith("{") else _of_text(text):
        hosts = [End(host) for host in dict.fromkeys(end.host for end in ends)]
        pair = ends if len(ends) == 2 else hosts
        if len(pair) != 2:
            took = (
                f"{len(ends)} ranks on {len(hosts)} hosts took part in one run, which has one value for all"
            )
            raise OutputError(f"{took}: run sendrecv_perf between two hosts at a time", line)
        one, other = pair
        if not rows:
            unended.append(f"{one} and {other}")
        sizes_B = Counter(size_B for size_B, _, _ in rows)
        if len(set(sizes_B.values())) > 1:
            raise OutputError(
                "some message sizes have more rows than others: lines are missing or there twice", line
            )
        for size_B in sizes_B:
            _, time_us, bus_MBps = map(median, zip(*(row for row in rows if row[0] == size_B), strict=True))
            measured[program, BANDWIDTH, size_B].append(Row(one, other, bus_MBps, line))
            if 0 < size_B <= LATENCY_B:
                measured[program, LATENCY, size_B].append(Row(one, other, time_us, line))
    names = quoted(names_text(list(dict.fromkeys(unended))))
    failed = f"{names}: the run has no '# Avg bus bandwidth', so it did not end"
    if unended and not measured:
        raise OutputError(failed)
    return of_sizes(NAME, measured, [failed] if unended else [], both_ways=True)


def _of_text(text: str) -> Iterator[_Launch]:
    """Yield the runs of a text."""
    first = "# nThread" if "# nThread" in text else "# Using devices"
    starts = [match.start() for match in re.finditer(f"^{first}", text, re.MULTILINE)]
    for start, end in pairwise([0, *starts[1:], len(text)]):
        part, line = text[start:end], text.count("\n", 0, start) + 1
        ends = [End(device.host, f"gpu {device.number}") for device in nccl_tests.devices(part, line)]
        program = "".join(_PROGRAM.findall(part))
        factor = nccl_tests.BUS_FACTOR.get(program.removesuffix("_perf"))
        rows = (
            nccl_tests.rows(part, factor and factor(len(ends)), line) if "# Avg bus bandwidth" in part else []
        )
        if rows and (asked := _SIZES.search(part)) and "Reducing maxBytes" not in part:
            low, high, step = map(int, asked.groups()[:3])
            steps = (
                math.log(max(high / low, 1), max(step, 2))
                if asked[4] == "factor"
                else (high - low) // max(step, 1)
            )
            if len(rows) % (count := int(steps + 1e-9) + 1):
                raise OutputError(f"{count} sizes were asked for, but {len(rows)} rows are there", line)
        values = [(row.size_B, row.out_of_place.time_us, row.out_of_place.bus_MBps) for row in rows]
        yield program, ends, values, line


def _of_json(text: str) -> Iterator[_Launch]:
    """Yield the runs of JSON documents."""
    for document in json_documents(text):
        try:
            config, results = document["config"], document["results"]
            gpus = index(config["nthreads"]) * index(
                config["ngpus"]
            )  # of a process with several, the first is listed
            ranks = config["devices"]
            if [(each["rank"], each["group"]) for each in ranks] != [
                (gpus * at, 0) for at in range(len(ranks))
            ]:
                raise OutputError("the list of ranks has gaps, or several groups, which have one value")
            ends = [
                End(str(each["hostname"]), f"gpu {index(each['device'])}" if gpus == 1 else "")
                for each in ranks
            ]
            if not all(re.fullmatch(r"[\w.-]+", end.host) for end in ends):  # it becomes a part of a command
                raise OutputError("a host has no name")
            if document["out_of_bounds"]["count"]:
                raise OutputError("wrong data arrived, so that no time counts")
            busy = [
                each[key]["bus_bw"]
                for each in results
                for key in ("out_of_place", "in_place")
                if each.get(key)
            ]
            if not abs(fmean(busy) - document["average_bus_bandwidth"]["bandwidth"]) <= 1e-4:
                raise OutputError(f"the average bus bandwidth is not that of the {len(busy)} values")
            timed = [(index(each["size"]), each["out_of_place"]) for each in results]
            for size_B, out in timed:
                if not abs(out["alg_bw"] - size_B / out["time"] / 1e3) <= 1e-5 * out["alg_bw"] + 1e-6:
                    raise OutputError(f"{size_B} B in {out['time']:g} us are not {out['alg_bw']:g} GB/s")
            rows = [(size_B, out["time"], 1e3 * out["bus_bw"]) for size_B, out in timed]
            program = "".join(re.findall(r"(?:^|/)(\w+_perf)$", (document.get("args") or [""])[0]))
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            raise OutputError(f"the JSON is not as nccl-tests writes it: {quoted(repr(error))}") from None
        yield program, ends, rows, None
