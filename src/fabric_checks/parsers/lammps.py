# SPDX-License-Identifier: BSD-3-Clause
"""Output of LAMMPS: loop time, performance line, task timing breakdown, first and last thermodynamic output.

Numbers that follow from each other have to, as far as the printed digits show. Units are ``lj``, ``metal`` or
``real``, and the thermodynamic output is in lines of columns or in the style ``multi``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.parsers import plain
from fabric_checks.parsers.table import (
    Span,
    number,
    only,
    positive,
    printed,
    require,
    require_intact,
    require_mean,
    require_sum,
    rounded,
    two_decimals,
    whole,
)

_VERSION = re.compile(r"(?m)^LAMMPS \(([^)\n]+)\)")
_ERROR = re.compile(r"(?m)^ERROR(?: on proc [0-9]+)?:.*")
_LOOP = re.compile(
    r"Loop time of (?P<time>\S+) on (?P<procs>[0-9]{1,9}) procs for (?P<steps>[0-9]{1,15}) steps with "
    r"(?P<atoms>[0-9]{1,15}) atoms"
)
_RATE = r"[0-9]{1,15}\.[0-9]{3} [\w/-]{1,20}"
_PERFORMANCE = re.compile(rf"(?m)^Performance: ({_RATE}(?:, {_RATE})*)$")
#: The time units in a nanosecond, by LAMMPS's style of units; ``lj`` counts in its own unit, tau.
_IN_NS = {"real": 1e6, "metal": 1e3}
_SETUP = re.compile(r"(?m)^  (Unit style|Current step|Time step) *: (\S+)$")
_GRID = re.compile(
    r"(?m)^ *([0-9]{1,9}) by ([0-9]{1,9}) by ([0-9]{1,9}) MPI processor grid$"
)
_TASKS = re.compile(r"% CPU use with ([0-9]{1,9}) MPI tasks")
_HISTOGRAM = re.compile(r"(?m)^Histogram: (.*)$")
#: The atoms that were created, or those of a file that was read or replicated.
_ATOMS = re.compile(r"(?m)^(?:Created | +)([0-9]{1,15}) atoms$")
_LOCAL = re.compile(r"(?m)^Nlocal: +(\S+) ave(?: +(\S+) max +(\S+) min)?")
_PREFIXES = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_ITEM = r" *([A-Za-z_]\w{0,30}) {0,30}= {0,30}([^\s=]+)(?=\s)"
_MULTI = re.compile(rf"(?m)^-+ Step +([0-9]{{1,15}}) -+.*\n((?:(?:{_ITEM})+\n)+)")
_STEP = re.compile("(?m)^-+ Step ")
_ROWS = re.compile(r"(?m)^ *Step .*\n(?:.+\n)+\Z")
_BREAKDOWN = re.compile(
    r"(?m)^Section \| +min time +\| +avg time +\| +max time +\|%varavg\|(?: +%CPU \|)? +%total\n-+\n"
    r"((?:.+\n)+)",
)
_SECTION = re.compile(r"(\w+) *\|[^|]*\|([^|]*)\|.*\| *(\S+)")
#: The sections in order.
_SECTIONS = re.compile(r"Pair (Bond )?(Kspace )?Neigh Comm Output Modify (Sync )?Other")
_LAST_LINE = re.compile(r"(?m)^Total wall time: (\d{1,9}):([0-5]\d):([0-5]\d)$")


@dataclass(frozen=True)
class LammpsOutput:
    """One run of LAMMPS.

    :param version: such as ``22 Jul 2025 - Update 4``.
    :param processes: MPI processes; :param steps: time steps; :param atoms: atoms.
    :param loop_time_s: wall time of the time-stepping loop in seconds.
    :param share_percent: share of the loop time by section of the breakdown (Pair, Comm, ...), in per cent.
    :param thermo: the thermodynamic output of the last step by LAMMPS's own column names (Temp, E_pair, ...).
    :param thermo_at_start: the same of the first one.
    """

    version: str
    processes: int
    steps: int
    atoms: int
    loop_time_s: float
    share_percent: Mapping[str, float]
    #: No metric is made of these: the check holds them to a reference log.
    thermo: Mapping[str, float] = field(compare=False)
    thermo_at_start: Mapping[str, float] = field(compare=False)

    @property
    def Matom_steps_per_s(self) -> float:
        """10^6 atom-steps a second, from the loop time (the printed unit changes from kilo to mega with the
        speed)."""
        return self.atoms * self.steps / self.loop_time_s / 1e6


def parse(text: str, processes: int, steps: int, atoms: int) -> LammpsOutput:
    """Read the output of one LAMMPS run.

    :param text: the standard output of the program.
    :param processes: the number of MPI processes that must have taken part, for ``steps`` time steps with
        ``atoms`` atoms.
    :raises OutputError: if the output is not whole or its values are not believable.
    """
    text = plain.cleaned(text)
    version = only(
        _VERSION.findall(text),
        "line 'LAMMPS (version)'",
        "the program did not start, or this is another program",
    )
    if error := _ERROR.search(text):
        line_number = text.count("\n", 0, error.start()) + 1
        raise OutputError(f"LAMMPS stopped with {quoted(error[0])}", line_number)
    line = only(
        re.findall(r"(?m)^Loop time of.*", text),
        "line 'Loop time of ...'",
        "the run did not end normally",
    )
    loop = _LOOP.fullmatch(line)
    if loop is None:
        raise OutputError(f"the line of the loop time is damaged: {quoted(line)}")
    asked = {"procs": processes, "steps": steps, "atoms": atoms}
    for name, wanted in asked.items():
        require(
            int(loop[name]) == wanted,
            f"LAMMPS ran with {loop[name]} {name} instead of the {wanted} that were asked for",
        )
    loop_time_s = positive(loop["time"], "the loop time", None)
    loop_s = printed(loop["time"], None, digits=6)
    before, _, behind = text.partition(line)
    found = _SETUP.findall(before)
    setup = dict(found)
    require_intact(
        len(setup) == len(found), "the lines 'Setting up ...' are there twice"
    )
    _require_rates(behind, Span(steps, steps) / loop_s, atoms, setup)
    shares = _breakdown(behind, loop_s)
    rows = _thermo(before)
    begin = whole(setup.get("Current step", "0"), None, "the current step")
    _require_steps(rows, begin, steps, atoms)
    hours, minutes, seconds = only(
        _LAST_LINE.findall(text),
        "last line 'Total wall time: ...'",
        "the program did not end normally",
    )
    wall_s = 3600 * int(hours) + 60 * int(minutes) + int(seconds)
    require_intact(
        loop_time_s <= wall_s + 1,
        f"the loop took {loop_time_s:g} s, but the total wall time is {wall_s} s",
    )
    _require_ranks(text, atoms, processes)
    first, last = (
        {name: number(text, None) for name, text in row.items()}
        for row in (rows[0], rows[-1])
    )
    return LammpsOutput(
        version, processes, steps, atoms, loop_time_s, shares, last, first
    )


def _require_ranks(text: str, atoms: int, processes: int) -> None:
    """Raise :class:`OutputError` unless what is printed of processes and their atoms is that of this run.

    Otherwise these are the beginning of one run and the end of another.
    """
    counts = [math.prod(map(int, grid)) for grid in _GRID.findall(text)]
    counts += map(int, _TASKS.findall(text))
    counts += [
        sum(whole(count, None) for count in line.split())
        for line in _HISTOGRAM.findall(text)
    ]
    for count in counts:
        require_intact(
            count == processes,
            f"grid, MPI tasks or histograms are those of {count} processes",
        )
    there = [Span(int(made), int(made)) for made in _ATOMS.findall(text)[-1:]]
    for mean, most, least in _LOCAL.findall(text):
        spans = [printed(each or mean, None, digits=6) for each in (least, mean, most)]
        require_mean(spans, processes, f"atoms of {processes} processes", None)
        there.append(spans[1] * processes)
    for span in there:
        require_intact(
            span.meets(Span(atoms, atoms)),
            f"the loop was over {atoms} atoms, but {span.low:.0f} to {span.high:.0f} are there",
        )


def _require_rates(text: str, rate: Span, atoms: int, setup: Mapping[str, str]) -> None:
    """Raise :class:`OutputError` unless all rates of the line 'Performance: ...' are those of the loop
    time."""
    style = setup.get("Unit style", "none")
    a_day = rate * (
        86400 * positive(setup.get("Time step", "1"), "the time step", None)
    )
    if style in _IN_NS:
        in_ns = a_day * (1 / _IN_NS[style])
        expected = {"ns/day": in_ns, "hours/ns": Span(24, 24) / in_ns}
    else:
        expected = {"tau/day": a_day}
    found = only(
        _PERFORMANCE.findall(text),
        "whole line 'Performance: ...'",
        "the output is cut off or damaged",
    )
    *rates, (of_atoms, unit) = (part.split(" ") for part in found.split(", "))
    expected["timesteps/s"] = rate
    require_intact(
        [unit for _, unit in rates] == [*expected]
        and unit.removesuffix("atom-step/s") in _PREFIXES,
        f"{quoted(found)} are not the rates with units {quoted(style)}",
    )
    expected[unit] = rate * (atoms / _PREFIXES[unit.removesuffix("atom-step/s")])
    for value, name in (*rates, (of_atoms, unit)):
        require_intact(
            printed(value, None).meets(expected[name]),
            f"{float(value):g} {name} do not fit the loop time",
        )


def _breakdown(text: str, loop_s: Span) -> dict[str, float]:
    """Return the shares of the sections; all have to be there, and their times to make the loop time."""
    found = only(
        _BREAKDOWN.findall(text),
        "breakdown 'Section | min time | avg time | ...'",
        "it is damaged",
    )
    lines = [_SECTION.fullmatch(line) for line in found.splitlines()]
    sections = [line.groups() for line in lines if line]
    names = " ".join(name for name, *_ in sections)
    require_intact(
        len(sections) == len(lines) and _SECTIONS.fullmatch(names) is not None,
        f"the sections of the breakdown are {quoted(names)}",
    )
    averages = [printed(average.strip(), None) for _, average, _ in sections]
    shares = {name: two_decimals(share, None) for name, _, share in sections}
    for (name, share), average in zip(shares.items(), averages, strict=True):
        require_intact(
            (average * 100 / loop_s).meets(rounded(share)),
            f"the time of {name} is not {share:g} % of the loop time",
        )
    require_sum(
        loop_s, averages, "the sections of the breakdown do not make the loop time"
    )
    return shares


def _thermo(text: str) -> list[dict[str, str]]:
    """Return the thermodynamic outputs before the loop time, of which there is at least one."""
    if blocks := _MULTI.findall(text):
        require_intact(
            len(blocks) == len(_STEP.findall(text)), "a thermodynamic output is damaged"
        )
        rows = [
            {"Step": step, **dict(re.findall(_ITEM, items))}
            for step, items, *_ in blocks
        ]
    elif table := _ROWS.search(text):
        names, *lines = (line.split() for line in table[0].splitlines())
        for cells in lines:
            require_intact(
                len(cells) == len(names),
                f"a thermo row of {len(names)} columns was expected: {quoted(' '.join(cells))}",
            )
        rows = [dict(zip(names, cells, strict=True)) for cells in lines]
    else:
        raise OutputError("no whole thermodynamic output before the loop time")
    return rows


def _require_steps(
    rows: Sequence[Mapping[str, str]], begin: int, steps: int, atoms: int
) -> None:
    """Raise :class:`OutputError` unless outputs are of the same items, from the first to the last step."""
    order = [whole(row["Step"], None, "a step") for row in rows]
    require_intact(
        order[0] == begin
        and order[-1] == begin + steps
        and all(map(int.__lt__, order, order[1:])),
        f"the thermodynamic output is not of steps from {begin} to {begin + steps}, in order",
    )
    for row in rows:
        require_intact(
            list(row) == list(rows[0]),
            "thermodynamic outputs are of other items than the first",
        )
        there = row.get("Atoms", str(atoms))
        require_intact(
            there == str(atoms),
            f"{quoted(there)} atoms were there, but the loop was over {atoms}",
        )


def require_thermo(
    output: LammpsOutput,
    expected: Mapping[str, float],
    relative_tolerance: float,
    of: str = "in the reference log",
    *,
    drift: bool = False,
) -> None:
    """Raise :class:`OutputError` unless the last thermo output agrees with ``expected``.

    :param expected: values by LAMMPS's column names, as in the reference log that comes with the input.
    :param relative_tolerance: largest allowed deviation as a share of the expected value.
    :param of: the source of the expected values, in words.
    :param drift: whether each is the last value less the first one.
    """
    verb, when = (
        ("changes by", "over the run and by")
        if drift
        else ("is", "at the last step and")
    )
    for name, value in expected.items():
        if name not in output.thermo:
            raise OutputError(f"the thermodynamic output has no column {name!r}")
        found = output.thermo[name] - (output.thermo_at_start[name] if drift else 0)
        if abs(found - value) > relative_tolerance * abs(value):
            raise OutputError(
                f"wrong physics: {name} {verb} {found:.8g} {when} {value:.8g} {of} "
                f"(allowed: {100 * relative_tolerance:g} %)"
            )
