# SPDX-License-Identifier: BSD-3-Clause
"""Output of the NAS Parallel Benchmarks 3.x, MPI version: the report that every benchmark ends with."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import log, prod

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.parsers import plain
from fabric_checks.parsers.table import HALF_DIGIT, only, positive, whole

_FIRST_LINE = re.compile(
    r"^ *NAS Parallel Benchmarks (?P<version>\S+) -- (?P<name>\w+) Benchmark *$", re.MULTILINE
)
_REPORT = re.compile(r"^ *(?P<name>\w+) Benchmark Completed\.? *$", re.MULTILINE)
_FIELD = re.compile(r"^ *(?P<key>[A-Za-z][A-Za-z/ ]*?) *= *(?P<value>\S.*?) *$")
#: The last field of the report; the flags of the compiler follow.
_LAST_FIELD = "Version"
#: Lines of the head, as patterns, and the fields of the report that have the same.
_AGAIN = {"Iterations": "Iterations", "(?:Total n|N)umber of processes": "Total processes", "Size": "Size"}
#: The number of operations that NPB counts, by that of keys or points and of iterations (``is.c``,
#: ``ft.f90``).
_OPERATIONS: Mapping[str, Callable[[int, int], float]] = {
    "is": lambda keys, iterations: keys * iterations,
    "ft": lambda points, iterations: (
        points * (14.8157 + 7.19641 * log(points) + (5.23518 + 7.21113 * log(points)) * iterations)
    ),
}


@dataclass(frozen=True)
class NpbOutput:
    """One run of an NPB benchmark.

    :param version: of NPB, such as ``3.4``; :param processes: MPI processes, all of which took part.
    :param time_s: time of the timed part in seconds; :param iterations: how many iterations it had.
    :param Mop_per_s: 10^6 operations a second of all processes, as NPB counts them for each benchmark.
    """

    version: str
    processes: int
    iterations: int
    time_s: float
    Mop_per_s: float


def parse(text: str, benchmark: str, problem_class: str, processes: int) -> NpbOutput:
    """Read the output of one NPB run.

    :param benchmark: in small letters, such as ``is``; :param problem_class: such as ``A``.
    :param processes: the number of MPI processes that must have taken part.
    :raises OutputError: if the output is not whole, another problem was solved or by another number of
        processes, its own verification failed, or its values are not believable.
    """
    name = benchmark.upper()
    text = plain.cleaned(text)
    found = list(_FIRST_LINE.finditer(text))
    first = only(found, "line 'NAS Parallel Benchmarks ... Benchmark'", "the program did not start")
    if first["name"] != name:
        raise OutputError(f"expected the output of {name}, found that of {quoted(first['name'])}")
    fields = _report(text, name, first.end())
    _require(fields, "Class", problem_class)
    _require(fields, "Total processes", str(processes))
    _require(fields, "Active procs", str(processes), optional=True)
    if fields.get("Verification") != "SUCCESSFUL":
        raise OutputError(
            f"the program's own verification says {quoted(fields.get('Verification', 'nothing'))}"
        )
    time_s, total, per_process = (
        _positive(fields, key) for key in ("Time in seconds", "Mop/s total", "Mop/s/process")
    )
    iterations = whole(fields.get("Iterations", ""), None, "a number of Iterations")
    if abs(total - per_process * processes) > HALF_DIGIT * (processes + 1):
        raise OutputError(f"{total:g} Mop/s do not fit {per_process:g} on each of {processes} processes")
    _require_head(text[first.end() : text.index(" Benchmark Completed")], fields, iterations)
    _require_rate(fields, benchmark, iterations, time_s, total)
    # The banner of 3.4.3 has 3.4.
    if not f"{fields['Version']}.".startswith(f"{first['version']}."):
        begun, ended = quoted(first["version"]), quoted(fields["Version"])
        raise OutputError(f"version {begun} began this output and {ended} ended it")
    return NpbOutput(fields["Version"], processes, iterations, time_s, total)


def _require_head(head: str, fields: Mapping[str, str], iterations: int) -> None:
    """Raise :class:`OutputError` unless the lines before the report have the same, as far as they do.

    IS and FT print a line for each iteration.
    """
    counted = [a or b for a, b in re.findall(r"^ T = +([0-9]+) |^ +([0-9]+)$", head, re.MULTILINE)]
    if counted and counted != [str(number) for number in range(1, iterations + 1)]:
        raise OutputError(f"the {len(counted)} lines of iterations are not those of {iterations}, in order")
    for line, key in _AGAIN.items():
        for found in re.findall(rf"^ *{line} *: *(.*?) *(?:\(class \w\) *)?$", head, re.MULTILINE):
            if found.replace(" ", "") != (there := fields.get(key, found)).replace(" ", ""):
                raise OutputError(
                    f"the output begins with {quoted(found)} where its report has {quoted(there)}"
                )


def _report(text: str, name: str, begin: int) -> Mapping[str, str]:
    """Return the fields of the only report, which must follow the beginning of the output."""
    starts = list(_REPORT.finditer(text))
    if len(starts) != 1 or starts[0]["name"] != name or starts[0].start() < begin:
        raise OutputError(f"no line '{name} Benchmark Completed', or several: the program did not finish")
    fields: dict[str, str] = {}
    for line in text[starts[0].end() :].splitlines():
        match = _FIELD.match(line)
        if match is None:
            if line.strip() and fields:
                break
            continue
        if match["key"] in fields:
            raise OutputError(f"the report has {match['key']!r} twice")
        fields[match["key"]] = match["value"]
        if match["key"] == _LAST_FIELD:
            return fields
    raise OutputError(f"the report has no line {_LAST_FIELD!r}: the output is cut off")


def _require(fields: Mapping[str, str], key: str, value: str, *, optional: bool = False) -> None:
    found = fields.get(key)
    if found != value and not (optional and found is None):
        raise OutputError(f"{key} is {quoted(found or 'missing')}, but {quoted(value)} was asked for")


def _positive(fields: Mapping[str, str], key: str) -> float:
    if key not in fields:
        raise OutputError(f"the report has no line {key!r}")
    if not re.fullmatch(r"-?[0-9]*\.[0-9]{2}", fields[key]):
        raise OutputError(f"{key} is {quoted(fields[key])}, not a number with two decimals")
    return positive(fields[key], key, None)


def _require_rate(
    fields: Mapping[str, str], benchmark: str, iterations: int, time_s: float, Mop_per_s: float
) -> None:
    """Raise :class:`OutputError` unless the rate is that of the operations in the time, where they are
    known."""
    size = fields.get("Size", "")
    if benchmark not in _OPERATIONS or not size:
        return
    if not re.fullmatch(r"[1-9][0-9]{0,14}( *x *[1-9][0-9]{0,14}){0,2}", size):
        raise OutputError(f"Size is {quoted(size)}, not a number of keys or points")
    Mop = _OPERATIONS[benchmark](prod(map(int, size.split("x"))), iterations) / 1e6
    if (
        not Mop / (time_s + HALF_DIGIT) - HALF_DIGIT
        <= Mop_per_s
        <= Mop / max(time_s - HALF_DIGIT, 1e-3) + HALF_DIGIT
    ):
        raise OutputError(
            f"{Mop_per_s:g} Mop/s do not fit {iterations} iterations of size {quoted(size)} in {time_s:g} s"
        )
