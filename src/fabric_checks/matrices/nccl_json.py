# SPDX-License-Identifier: BSD-3-Clause
"""JSON of nccl-tests (option ``-J``) of runs between two hosts or GPUs; with ``-I 1`` each iteration is a repeat."""

from __future__ import annotations

import re
from collections.abc import Iterator
from operator import index
from statistics import fmean
from typing import Any

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.matrices import nccl_tests
from fabric_checks.matrices.model import PairTable
from fabric_checks.matrices.nccl_tests import Timing
from fabric_checks.matrices.reading import Measurement, json_documents, of_sizes

NAME = "nccl-tests (JSON)"
NEXT = "mpirun -np 2 -H {sender}:1,{receiver}:1 sendrecv_perf -b 1G -e 1G -I 1 -J {sender}-{receiver}.json"

_CANNOT_TELL = ("what changes in minutes or nights: the repeats are iterations of one run",)


def recognizes(text: str) -> bool:
    """Return whether a text is JSON of nccl-tests."""
    return text.lstrip("\ufeff \t\r\n").startswith("{") and '"nccl_version"' in text


def parse(text: str) -> list[PairTable]:
    """Read one or more runs, as :func:`nccl_tests.parse` does.

    :raises OutputError: as there, and if iterations contradict the values made of them.
    """
    measured: list[Measurement] = []
    for document in json_documents(text):
        try:
            measured += _run(document)
        except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            raise OutputError(f"the JSON is not as nccl-tests writes it: {quoted(repr(error))}") from None
    return of_sizes(NAME, measured, both_ways=True, cannot_tell=_CANNOT_TELL if '"times_us"' in text else ())


def _run(document: dict[str, Any]) -> Iterator[Measurement]:
    """Yield the measurements of one run; raise one of the errors above for what is missing or of another type."""
    config, results = document["config"], document["results"]
    gpus = config["nthreads"] * config["ngpus"]
    if not 0 < gpus <= 64:
        raise OutputError(f"a process has {quoted(str(gpus))} GPUs")
    ranks = [  # of a process with several GPUs, the first is listed
        (index(each["rank"]) + gpu, each["group"], each["hostname"], index(each["device"]) + gpu)
        for each in config["devices"]
        for gpu in range(gpus)
    ]
    if not all(re.fullmatch(r"[\w.-]+", host) for _, _, host, _ in ranks):
        raise OutputError("a host has no name")
    pair = nccl_tests.pair_of(ranks)
    bandwidths = [each[key]["bus_bw"] for each in results for key in ("out_of_place", "in_place") if each.get(key)]
    if document["out_of_bounds"]["count"]:
        raise OutputError(f"wrong data arrived between {pair[0]} and {pair[1]}, so that no time counts")
    if not abs(fmean(bandwidths) - document["average_bus_bandwidth"]["bandwidth"]) <= 1e-4:
        raise OutputError(f"the average bus bandwidth is not that of the {len(bandwidths)} values")
    for result in results:
        size, out = result["size"], result["out_of_place"]
        timings = [Timing(size, out["time"], out["alg_bw"], out["bus_bw"])]
        found = list(nccl_tests.measurements(result["experiment_name"], pair, timings))
        timed = result.get("out_of_place_per_iter")
        if (timed is not None) != {"true": True, "false": False}[config.get("per_iter_timing", "false")]:
            raise OutputError(f"the iterations of {size} B are missing, or were not to be timed")
        if timed:
            times, factor = (
                _iterations(timed, config["iterations"]),
                out["bus_bw"] / out["alg_bw"],
            )
            timings = [Timing(size, time, size / time / 1e3, size / time / 1e3 * factor) for time in times]
            found = list(nccl_tests.measurements(result["experiment_name"], pair, timings))
        yield from found


def _iterations(timed: dict[str, Any], count: int) -> list[float]:
    """Return the times of the iterations that count, in us, held to their summary and to those of the processes."""
    times, processes = timed["times_us"], timed.get("per_process_max_times_us") or [timed["times_us"]]
    kept: list[float] = times[timed["skipped_iterations"] :]
    printed = [abs(timed[key] - of(kept)) for key, of in (("min_us", min), ("max_us", max), ("avg_us", fmean))]
    slowest = [abs(max(each) - time) for each, time in zip(zip(*processes, strict=True), times, strict=True)]
    if len(times) != count or not max(*printed, *slowest) <= 2e-3:
        raise OutputError(f"the times of the {count} iterations contradict their number, summary or processes")
    return kept
