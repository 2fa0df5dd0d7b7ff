# SPDX-License-Identifier: BSD-3-Clause
"""Output of the NAS Parallel Benchmarks 3.x, MPI version: the report that every benchmark ends with."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import log, prod

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.parsers import plain
from fabric_checks.parsers.table import (
    Span,
    only,
    positive,
    require,
    require_intact,
    rounded,
    two_decimals,
    whole,
)

_FIRST_LINE = re.compile(
    r"(?m)^ *NAS Parallel Benchmarks (?P<version>\S+) -- (?P<name>\w+) Benchmark *$",
)
_FIELD = r" *([A-Za-z][A-Za-z/ ]{0,20}[A-Za-z]) *= *(\S.*)\n"
#: The report, whose last field is the version; the flags of the compiler follow.
_REPORT = re.compile(
    rf"(?m)^ *(?P<name>\w+) Benchmark Completed\.?\n(?P<fields>(?:\n|{_FIELD})*? *Version *= *\S.*\n)",
)
#: Lines of the head, as patterns, and the fields of the report that have the same.
_AGAIN = {
    "Iterations": "Iterations",
    "(?:Total n|N)umber of processes": "Total processes",
    "Size": "Size",
}
#: The number of operations that NPB counts, by that of keys or points and of iterations (``is.c``,
#: ``ft.f90``).
_OPERATIONS: Mapping[str, Callable[[int, int], float]] = {
    "is": lambda keys, iterations: keys * iterations,
    "ft": lambda points, iterations: (
        points
        * (
            14.8157
            + 7.19641 * log(points)
            + (5.23518 + 7.21113 * log(points)) * iterations
        )
    ),
}


@dataclass(frozen=True)
class NpbOutput:
    """One run of an NPB benchmark.

    :param version: of NPB, such as ``3.4``; :param processes: MPI processes, all of which took part.
    :param time_s: time of the timed part in seconds.
    :param Mop_per_s: 10^6 operations a second of all processes, as NPB counts them for each benchmark.
    """

    version: str
    processes: int
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
    first = only(
        found,
        "line 'NAS Parallel Benchmarks ... Benchmark'",
        "the program did not start",
    )
    require(
        first["name"] == name,
        f"expected the output of {name}, found that of {quoted(first['name'])}",
    )
    reports = list(_REPORT.finditer(text, first.end()))
    report = only(
        reports,
        f"whole report '{name} Benchmark Completed'",
        "the program did not finish",
    )
    of_report = re.findall(_FIELD, report["fields"])
    # Releases before 3.4 have no processes that are not active.
    fields = {"Active procs": str(processes), **dict(of_report)}
    require_intact(
        report["name"] == name and len(dict(of_report)) == len(of_report),
        "the report is none of one run",
    )
    asked = {
        "Class": problem_class,
        "Total processes": str(processes),
        "Active procs": str(processes),
    }
    for key, value in {**asked, "Verification": "SUCCESSFUL"}.items():
        if fields.get(key) != value:
            raise OutputError(
                f"{key} is {quoted(fields.get(key, 'missing'))}, expected {quoted(value)}"
            )
    iterations = whole(fields.get("Iterations", ""), None, "a number of Iterations")
    time_s, total, each = (
        _positive(fields, key)
        for key in ("Time in seconds", "Mop/s total", "Mop/s/process")
    )
    require_intact(
        (rounded(each) * processes).meets(rounded(total)),
        f"{total:g} Mop/s do not fit {each:g} on each of {processes} processes",
    )
    _require_head(text[first.end() : report.start()], fields, iterations)
    if benchmark in _OPERATIONS:
        size = fields.get("Size", "")
        sides = [
            whole(side.strip(), None, "a Size of keys or points")
            for side in size.split("x")
        ]
        Mop = _OPERATIONS[benchmark](prod(sides), iterations) / 1e6
        require_intact(
            (Span(Mop, Mop) / rounded(time_s)).meets(rounded(total)),
            f"{total:g} Mop/s do not fit {iterations} iterations of size {quoted(size)} in {time_s:g} s",
        )
    # The banner of 3.4.3 has 3.4.
    begun, ended = first["version"], fields["Version"]
    require_intact(
        f"{ended}.".startswith(f"{begun}."),
        f"version {quoted(begun)} began it and {quoted(ended)} ended it",
    )
    return NpbOutput(ended, processes, time_s, total)


def _positive(fields: Mapping[str, str], key: str) -> float:
    """Return a number with two decimals, of which below 1 the first digit is missing."""
    text = fields.get(key, "missing")
    return positive(str(two_decimals(re.sub(r"^\.", "0.", text), None)), key, None)


def _require_head(head: str, fields: Mapping[str, str], iterations: int) -> None:
    """Raise :class:`OutputError` unless the lines before the report have the same, as far as they do.

    IS and FT print a line for each iteration.
    """
    counted = [
        a or b for a, b in re.findall(r"(?m)^ T = +([0-9]+) |^ +([0-9]+)$", head)
    ]
    require_intact(
        len(counted) in (0, iterations)
        and counted == [str(at) for at, _ in enumerate(counted, 1)],
        f"the {len(counted)} lines of iterations are not those of {iterations}, in order",
    )
    for line, key in _AGAIN.items():
        for found in re.findall(
            rf"(?m)^ *{line} *: *(.*?) *(?:\(class \w\) *)?$", head
        ):
            there = fields.get(key, "nothing")
            require_intact(
                found.replace(" ", "") == there.replace(" ", ""),
                f"the output begins with {quoted(found)} where its report has {quoted(there)}",
            )
