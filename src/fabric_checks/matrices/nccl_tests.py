# SPDX-License-Identifier: BSD-3-Clause
"""nccl-tests and rccl-tests between two hosts, or two GPUs, at a time: text, and JSON (``-J``, 2.19 and later).

The cycles (``-N``) and iterations (``-I``) of a launch have its routes and its moment: they are one measurement.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from operator import index
from statistics import fmean, median
from typing import Any, NamedTuple

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.core.text import names_text
from fabric_checks.matrices.model import BANDWIDTH, LATENCY, LATENCY_B, End, PairTable, Row
from fabric_checks.matrices.reading import json_documents, of_sizes
from fabric_checks.parsers import nccl_tests
from fabric_checks.parsers.nccl_tests import BUS_FACTOR

NAME = "nccl-tests"
NEXT = "mpirun -np 2 -H {sender}:1,{receiver}:1 {kind} -b {size_B} -e {size_B}"

_TEXT = re.compile(r"^# Using devices|^# +size +count +type ", re.MULTILINE)
_SIZES = re.compile(
    r"^# nThread.* minBytes ([1-9]\d{0,17}) maxBytes (\d{1,18}) step: (\d{1,18})\((factor|bytes)\)", re.M
)
_PROGRAM = re.compile(r"^# Collective test concluded: (\w+)", re.MULTILINE)


class _Launch(NamedTuple):
    """One run: host and device of each rank; size in bytes, time in us and MB/s of each row, none if it did not end."""

    program: str
    ranks: Sequence[tuple[str, int]]
    rows: Sequence[tuple[int, float, float]]
    line: int | None = None


def recognizes(text: str) -> bool:
    """Return whether a text is of nccl-tests or rccl-tests."""
    return _TEXT.search(text) is not None or (_is_json(text) and '"nccl_version"' in text)


def _is_json(text: str) -> bool:
    return text.lstrip().startswith("{")


def parse(text: str) -> list[PairTable]:
    """Read one or more runs: the bus bandwidth of the largest size, and the time of the smallest up to 1 KiB.

    :raises OutputError: if a run is not whole, contradicts itself, moved wrong data, or had more than two ends.
    """
    measured = defaultdict[tuple[str, str, int], list[Row]](list)
    unended = []
    for program, ranks, rows, line in _of_json(text) if _is_json(text) else _of_text(text):
        pair = _pair(ranks, line)
        if not rows:
            unended.append(f"{pair[0]} and {pair[1]}")
        for size_B in dict.fromkeys(size_B for size_B, _, _ in rows):
            _, time_us, bus_MBps = map(median, zip(*(row for row in rows if row[0] == size_B), strict=True))
            measured[program, BANDWIDTH, size_B].append(Row(*pair, bus_MBps, line))
            if 0 < size_B <= LATENCY_B:
                measured[program, LATENCY, size_B].append(Row(*pair, time_us, line))
    failed = (
        f"{quoted(names_text(list(dict.fromkeys(unended))))}: the run has no '# Avg bus bandwidth', so it did not end"
    )
    if unended and not measured:
        raise OutputError(failed)
    return of_sizes(NAME, measured, both_ways=True, cannot_tell=[failed] if unended else ())


def _pair(ranks: Sequence[tuple[str, int]], line: int | None) -> tuple[End, End]:
    """Return the two ends of a run: two ranks, or two hosts with all their ranks."""
    hosts = list(dict.fromkeys(host for host, _ in ranks))
    if len(ranks) != 2 and len(hosts) != 2:
        took = f"{len(ranks)} ranks on {len(hosts)} hosts took part in one run"
        raise OutputError(f"{took}, which has one value for all: run sendrecv_perf between two hosts at a time", line)
    one, other = [End(host, f"gpu {gpu}") for host, gpu in ranks] if len(ranks) == 2 else map(End, hosts)
    return one, other


def _of_text(text: str) -> Iterator[_Launch]:
    """Yield the runs of a text."""
    first = "# nThread" if "# nThread" in text else "# Using devices"
    starts = [match.start() for match in re.finditer(f"^{first}", text, re.MULTILINE)]
    for start, end in pairwise([0, *starts[1:], len(text)]):
        part, line = text[start:end], text.count("\n", 0, start) + 1
        ranks = [(device.host, device.number) for device in nccl_tests.devices(part, line)]
        program = "".join(_PROGRAM.findall(part))
        factor = BUS_FACTOR.get(program.removesuffix("_perf"))
        rows = nccl_tests.rows(part, factor and factor(len(ranks)), line) if "# Avg bus bandwidth" in part else []
        _require_sizes(part, [row.size_B for row in rows], line)
        values = [(row.size_B, row.out_of_place.time_us, row.out_of_place.bus_MBps) for row in rows]
        yield _Launch(program, ranks, values, line)


def _require_sizes(part: str, sizes_B: Sequence[int], line: int) -> None:
    """Raise :class:`OutputError` unless the rows are those of the sizes in the header, once or in several cycles."""
    count = 0
    if (asked := _SIZES.search(part)) and "Reducing maxBytes" not in part:
        low, high, step = map(int, asked.groups()[:3])
        if asked[4] == "bytes":
            count = (high - low) // max(step, 1) + 1
        elif step > 1:
            count = int(math.log(max(high, low) / low, step) + 1e-9) + 1
    if count and len(sizes_B) % count:
        raise OutputError(f"{count} sizes were asked for, but {len(sizes_B)} rows are there", line)
    if len(sizes_B) == count and list(sizes_B) != sorted(sizes_B):
        raise OutputError("the sizes of a run do not grow from row to row", line)


def _of_json(text: str) -> Iterator[_Launch]:
    """Yield the runs of JSON documents."""
    for document in json_documents(text):
        try:
            yield _of_document(document)
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            raise OutputError(f"the JSON is not as nccl-tests writes it: {quoted(repr(error))}") from None


def _of_document(document: dict[str, Any]) -> _Launch:
    """Return one run; raise one of the errors above for what is missing or of another type."""
    config, results, program = document["config"], document["results"], (document.get("args") or [""])[0]
    gpus = index(config["nthreads"]) * index(config["ngpus"])
    if not 0 < gpus <= 64:
        raise OutputError(f"a process has {quoted(str(gpus))} GPUs")
    ranks = [  # of a process with several GPUs, the first is listed
        (index(each["rank"]) + gpu, each["hostname"], index(each["device"]) + gpu)
        for each in config["devices"]
        for gpu in range(gpus)
    ]
    if not all(re.fullmatch(r"[\w.-]+", host) for _, host, _ in ranks):
        raise OutputError("a host has no name")
    if [rank[0] for rank in ranks] != list(range(len(ranks))) or len({each["group"] for each in config["devices"]}) > 1:
        raise OutputError("the list of ranks has gaps, or several groups, which have one value")
    if document["out_of_bounds"]["count"]:
        raise OutputError("wrong data arrived, so that no time counts")
    bandwidths = [each[key]["bus_bw"] for each in results for key in ("out_of_place", "in_place") if each.get(key)]
    if not abs(fmean(bandwidths) - document["average_bus_bandwidth"]["bandwidth"]) <= 1e-4:
        raise OutputError(f"the average bus bandwidth is not that of the {len(bandwidths)} values")
    rows = []
    for result in results:
        size_B, out = index(result["size"]), result["out_of_place"]
        if not abs(out["alg_bw"] - size_B / out["time"] / 1e3) <= 1e-5 * out["alg_bw"] + 1e-6:
            raise OutputError(f"{size_B} B in {out['time']:g} us are not {out['alg_bw']:g} GB/s")
        rows.append((size_B, out["time"], 1e3 * out["bus_bw"]))
    program = program.rpartition("/")[2]
    return _Launch(program if re.fullmatch(r"\w+_perf", program) else "", [rank[1:] for rank in ranks], rows)
