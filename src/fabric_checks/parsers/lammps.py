# SPDX-License-Identifier: BSD-3-Clause
"""Output of LAMMPS: loop time, performance line, task timing breakdown, first and last thermodynamic output.

Numbers that follow from each other have to, as far as the printed digits show.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.parsers import plain, table

_VERSION = re.compile(r"^LAMMPS \(([^)\n]+)\)", re.MULTILINE)
_ERROR = re.compile(r"^ERROR(?: on proc [0-9]+)?:.*", re.MULTILINE)
_LOOP = re.compile(
    r"^Loop time of (?P<time>\S+) on (?P<procs>[0-9]{1,9}) procs for (?P<steps>[0-9]{1,15}) steps with "
    r"(?P<atoms>[0-9]{1,15}) atoms\s*$"
)
_PERFORMANCE = re.compile(r"^Performance: ([0-9].*)$", re.MULTILINE)
_RATE = re.compile(r"([0-9]{1,15}\.[0-9]{3}) ([nf]s/day|hours/[nf]s|tau/day|timesteps/s|[kMGT]?atom-step/s)")
#: The time units in a nanosecond, by LAMMPS's style of units; ``lj`` counts in its own unit, tau.
_IN_NS = {"real": 1e6, "metal": 1e3}
_SETUP = re.compile(r"^  (Unit style|Current step|Time step) *: (\S+)$", re.MULTILINE)
_GRID = re.compile(r"^ *([0-9]{1,9}) by ([0-9]{1,9}) by ([0-9]{1,9}) MPI processor grid$", re.MULTILINE)
_TASKS = re.compile(r"% CPU use with ([0-9]{1,9}) MPI tasks")
_HISTOGRAM = re.compile(r"^Histogram: (.*)$", re.MULTILINE)
#: The atoms that were created, or those of a file that was read or replicated.
_ATOMS = re.compile(r"^(?:Created | +)([0-9]{1,15}) atoms$", re.MULTILINE)
_LOCAL = re.compile(r"^(\w+): +(\S+) ave +(\S+) max +(\S+) min$", re.MULTILINE)
_PREFIXES = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_MULTI_STEP = re.compile(r"^-+ Step\s+(?P<step>[0-9]{1,15}) -+")
_MULTI_ITEM = re.compile(r"(?P<key>[A-Za-z_]\w*)\s*=\s*(?P<value>[^\s=]+)")
_YAML_TITLE = re.compile(r"^keywords: \['Step', .*\]$")
_YAML = re.compile(rf"{_YAML_TITLE.pattern}|^ +- \[.*\]$")
_YAML_MARKS = re.compile(r"^ *(?:keywords:|-) \[|', '|[',\]]")
_SECTION = re.compile(r"^(?P<name>\w+) *\|(?P<cells>.*)\| *(?P<percent>\S+)$")
#: The sections in order.
_SECTIONS = re.compile(r"Pair (Bond )?(Kspace )?Neigh Comm Output Modify (Sync )?Other")
_BREAKDOWN = re.compile(
    r"^Section \| +min time +\| +avg time +\| +max time +\|%varavg\|( +%CPU \|)? +%total$"
)
_LAST_LINE = re.compile(r"^Total wall time: (?P<h>\d{1,9}):(?P<min>[0-5]\d):(?P<s>[0-5]\d)$", re.MULTILINE)
#: Energies that others add up to, by LAMMPS's column names.
_SUMS = {
    "TotEng": ("KinEng", "PotEng"),
    "PotEng": ("E_bond", "E_angle", "E_dihed", "E_impro", "E_vdwl", "E_coul", "E_long"),
}
#: What the kinetic energy is made of in the styles of thermo output, the first less the others.
_KINETIC = (("KinEng",), ("TotEng", "E_pair", "E_mol"))
#: The significant digits of thermo output in columns.
_DIGITS = 8


@dataclass(frozen=True)
class LammpsOutput:
    """One run of LAMMPS.

    :param version: such as ``22 Jul 2025 - Update 4``.
    :param processes: MPI processes; :param steps: time steps; :param atoms: atoms.
    :param loop_time_s: wall time of the time-stepping loop in seconds.
    :param timesteps_per_s: as printed; equal to steps / loop time but for rounding.
    :param share_percent: share of the loop time by section of the breakdown (Pair, Comm, ...), in per cent.
    :param thermo: the thermodynamic output of the last step by LAMMPS's own column names (Temp, E_pair, ...).
    :param thermo_at_start: the same of the first one.
    """

    version: str
    processes: int
    steps: int
    atoms: int
    loop_time_s: float
    timesteps_per_s: float
    share_percent: Mapping[str, float]
    thermo: Mapping[str, float]
    thermo_at_start: Mapping[str, float]

    @property
    def Matom_steps_per_s(self) -> float:
        """10^6 atom-steps a second, from the loop time (the printed unit changes from kilo to mega with the
        speed)."""
        return self.atoms * self.steps / self.loop_time_s / 1e6


def parse(text: str, processes: int) -> LammpsOutput:
    """Read the output of one LAMMPS run.

    :param text: the standard output of the program.
    :param processes: the number of MPI processes that must have taken part.
    :raises OutputError: if the output is not whole or its values are not believable.
    """
    text = plain.cleaned(text)
    lines = text.splitlines()
    why = "the program did not start, or this is another program"
    version = table.only(_VERSION.findall(text), "line 'LAMMPS (version)'", why)
    if error := _ERROR.search(text):
        raise OutputError(f"LAMMPS stopped with {quoted(error[0])}", text.count("\n", 0, error.start()) + 1)
    loops = [(index, line) for index, line in enumerate(lines) if line.startswith("Loop time of")]
    index, line = table.only(loops, "line 'Loop time of ...'", "the run did not end normally")
    if (loop := _LOOP.match(line)) is None:
        raise OutputError(f"the line of the loop time is damaged: {quoted(line)}", index + 1)
    if int(loop["procs"]) != processes:
        raise OutputError(
            f"LAMMPS ran on {loop['procs']} processes instead of the {processes} that were asked for",
            index + 1,
        )
    loop_time = table.positive(loop["time"], "the loop time", index + 1)
    steps, atoms = int(loop["steps"]), int(loop["atoms"])
    if steps == 0 or atoms == 0:
        raise OutputError(f"{steps} steps with {atoms} atoms: nothing was computed", index + 1)
    found = _SETUP.findall("\n".join(lines[:index]))
    setup = dict(found)
    if len(setup) < len(found):
        raise OutputError("the lines 'Setting up ...' are there twice: several programs printed this")
    rate = _timesteps_per_s(text, loop, setup)
    shares = _breakdown(lines, index, loop["time"])
    begin = table.whole(setup.get("Current step", "0"), None, "the current step")
    at_start, thermo = _thermo(lines[:index], loop, begin, setup.get("Unit style", ""))
    wall = table.only(
        list(_LAST_LINE.finditer(text)),
        "last line 'Total wall time: ...'",
        "the program did not end normally",
    )
    if 3600 * int(wall["h"]) + 60 * int(wall["min"]) + int(wall["s"]) + 1 < loop_time:
        raise OutputError(f"the loop took {loop_time:g} s, but {quoted(wall[0])}: the output is damaged")
    _require_ranks(text, atoms, processes)
    return LammpsOutput(version, processes, steps, atoms, loop_time, rate, shares, thermo, at_start)


def _require_ranks(text: str, atoms: int, processes: int) -> None:
    """Raise :class:`OutputError` unless what is printed of processes and their atoms is that of this run.

    Otherwise these are the beginning of one run and the end of another.
    """
    counts = {math.prod(map(int, grid)) for grid in _GRID.findall(text)} | {*map(int, _TASKS.findall(text))}
    counts |= {
        sum(table.whole(n, None, "a number") for n in line.split()) for line in _HISTOGRAM.findall(text)
    }
    if others := counts - {processes}:
        raise OutputError(
            f"grid, MPI tasks or histograms are those of {min(others)} processes: the output is damaged"
        )
    made = [int(count) for count in _ATOMS.findall(text)][-1:] or [atoms]
    for name, *numbers in _LOCAL.findall(text):
        mean, *_ = _numbers(numbers, None)
        if name == "Nlocal" and abs(processes * float(mean) - atoms) > processes * table.half_digit(mean) * (
            1 + 1e-6
        ):
            made.append(round(processes * float(mean)))
    if others := set(made) - {atoms}:
        raise OutputError(
            f"the loop was over {atoms} atoms, but {min(others)} are there: the output is damaged"
        )


def _timesteps_per_s(text: str, loop: re.Match[str], setup: Mapping[str, str]) -> float:
    """Return the printed rate; all rates of its line have to be those of the loop time."""
    rate = int(loop["steps"]) / float(loop["time"])
    fitting = {"timesteps/s": rate}
    fitting |= {
        f"{prefix}atom-step/s": rate * int(loop["atoms"]) / each for prefix, each in _PREFIXES.items()
    }
    style = setup.get("Unit style")
    a_day = 86400 * rate * table.positive(setup.get("Time step", "1"), "the time step", None)
    if style in _IN_NS:
        fitting |= {"ns/day": a_day / _IN_NS[style], "hours/ns": 24 * _IN_NS[style] / a_day}
    elif style == "lj":
        fitting["tau/day"] = a_day
    why = "the output is cut off or damaged"
    found = table.only(_PERFORMANCE.findall(text), "line 'Performance: ... timesteps/s'", why)
    rates = {unit: float(value) for value, unit in _RATE.findall(found)}
    if (
        ", ".join(f"{value:.3f} {unit}" for unit, value in rates.items()) != found
        or "timesteps/s" not in rates
    ):
        raise OutputError(f"the line of the performance is damaged: {quoted(found)}")
    for unit, value in rates.items():
        if unit not in fitting and style in (*_IN_NS, "lj"):
            raise OutputError(f"{unit} is no rate with units {style}: the output is damaged")
        # Three decimals are printed, and six digits of the loop time.
        expected = fitting.get(unit, value)
        if abs(value - expected) > 0.00051 + 1e-5 * expected:
            raise OutputError(
                f"{value:g} {unit} do not fit the loop time, which gives {expected:g}: it is damaged"
            )
    return table.positive(str(rates["timesteps/s"]), "timesteps/s", None)


def _breakdown(lines: Sequence[str], start: int, loop_time: str) -> dict[str, float]:
    """Return the shares of the sections; all have to be there, and their times to make the loop time."""
    found = [index for index in range(start, len(lines)) if _BREAKDOWN.match(lines[index])]
    titles = table.only(
        found, "line 'Section | min time | avg time | ...'", "the titles of the breakdown are damaged"
    )
    shares: dict[str, float] = {}
    averages: list[str] = []
    # A rule is between titles and sections, and a blank line ends the table.
    for line_number, line in enumerate(itertools.takewhile(len, lines[titles + 2 :]), titles + 3):
        if (match := _SECTION.match(line)) is None:
            raise OutputError(f"a section of the breakdown was expected, found {quoted(line)}", line_number)
        name, share = quoted(match["name"]), table.two_decimals(match["percent"], line_number)
        cells = [cell.strip() for cell in f"{match['cells']}||".split("|")]
        # Of the section "Other" only the average is printed.
        _, average, _ = _numbers([cell or cells[1] for cell in cells[:3]], line_number)
        allowed = 0.0051 + 100 * table.half_digit(average) / float(loop_time) + 1e-5 * share
        if abs(share - 100 * float(average) / float(loop_time)) > allowed:
            raise OutputError(f"{name} takes {average} s, not {share:g} % of the loop time", line_number)
        shares[match["name"]] = share
        averages.append(average)
    if not _SECTIONS.fullmatch(names := " ".join(shares)) or len(averages) > len(shares):
        raise OutputError(
            f"the sections of the breakdown are {quoted(names)}: the output is damaged", titles + 1
        )
    table.require_sum(loop_time, averages, "the sections of the breakdown make the loop time", start + 1)
    return shares


def _thermo(
    lines: Sequence[str], loop: re.Match[str], begin: int, style: str
) -> tuple[dict[str, float], dict[str, float]]:
    """Read the first and the last thermo output, in lines of columns or in the styles "multi" and "yaml".

    :param begin: the step that the run began with. :param style: of the units.
    """
    steps, atoms = int(loop["steps"]), int(loop["atoms"])
    rows = _thermo_rows(lines)
    (first_at, first), *_, (last_at, last) = rows[:1] + rows
    for index, row in rows:
        if list(row) != list(first):
            raise OutputError(
                f"the items of the first thermodynamic output are not these: {quoted(' '.join(row))}",
                index + 1,
            )
        if float(row.get("Atoms", atoms)) != atoms:
            raise OutputError(f"{row['Atoms']} atoms were there, but the loop was over {atoms}", index + 1)
    _require_energies(dict(rows), style, atoms)
    order = [float(row["Step"]) for _, row in rows]
    if order[0] != begin or any(later <= step for step, later in itertools.pairwise(order)):
        raise OutputError(f"the thermodynamic output is not of steps from {begin} on, in order", first_at + 1)
    if order[-1] != steps:
        raise OutputError(
            f"the last thermodynamic output is for step {order[-1]:g}, not for the last step {steps}",
            last_at + 1,
        )
    at_start, at_end = (
        {name: float(text) for name, text in row.items() if name != "Step"} for row in (first, last)
    )
    return at_start, at_end


def _thermo_rows(lines: Sequence[str]) -> list[tuple[int, dict[str, str]]]:
    """Return the thermo outputs, each with the index of its first line."""
    lines = _without_yaml(lines)
    title = next((i for i, line in enumerate(lines) if line.split()[:1] == ["Step"]), None)
    if title is not None:
        rows = [i for i in range(title + 1, len(lines)) if lines[i]] or [title]
        return [(each, _row(lines, title, each)) for each in rows]
    rows = [index for index, line in enumerate(lines) if _MULTI_STEP.match(line)]
    if not rows:
        raise OutputError("no thermodynamic output before the loop time")
    return [(each, _multi(lines, each)) for each in rows]


def _without_yaml(lines: Sequence[str]) -> Sequence[str]:
    """Return the lines of columns that those of the style "yaml" are without its marks; others as they
    are."""
    if not any(map(_YAML_TITLE.match, lines)):
        return lines
    return [_YAML_MARKS.sub(" ", line) if _YAML.match(line) else "" for line in lines]


def _require_energies(rows: Mapping[int, Mapping[str, str]], style: str, atoms: int) -> None:
    """Raise :class:`OutputError` unless energies add up, and the kinetic one has one proportion to the
    temperature.

    With ``lj`` it is 1.5 (N - 1) / N an atom.

    :param rows: the thermo output by the index of its line. :param style: of the units.
    """
    low, high = (1.5 - 1.5 / atoms,) * 2 if style == "lj" else (0.0, math.inf)
    for index, row in rows.items():
        _require_sums(row, index + 1)
        names = next((names for names in _KINETIC if row.keys() >= {"Temp", *names}), None)
        if names is None:
            continue
        energy, error, temperature, rounding = _kinetic(row, names)
        if temperature:
            low = max(low, (energy - error) / (temperature + rounding))
            high = min(high, (energy + error) / (temperature - rounding))
        if low > high * (1 + 1e-12) or (not temperature and abs(energy) > error):
            raise OutputError(
                "the kinetic energy is not in proportion to Temp: the output is damaged", index + 1
            )


def _kinetic(row: Mapping[str, str], names: Sequence[str]) -> tuple[float, float, float, float]:
    """Return kinetic energy and temperature, each followed by its error of rounding."""
    # The style "multi" prints zeros at the end, too.
    digits = _DIGITS if len(names) > 1 else 0
    energy = float(row[names[0]]) - sum(float(row[name]) for name in names[1:])
    error = 1.0001 * sum(table.half_digit(row[name], digits) for name in names)
    return energy, error, float(row["Temp"]), 1.0001 * table.half_digit(row["Temp"], digits)


def _require_sums(row: Mapping[str, str], line: int) -> None:
    """Raise :class:`OutputError` unless the energies of a row add up, and none that cannot be is below
    zero."""
    for total, parts in _SUMS.items():
        if row.keys() >= {total, *parts}:
            table.require_sum(
                row[total], [row[part] for part in parts], f"{' + '.join(parts)} make {total}", line
            )
    for name in {"KinEng", "Temp", "Volume"} & row.keys():
        if float(row[name]) < 0:
            raise OutputError(f"{name} is {row[name]}, below zero: the output is damaged", line)


def _row(lines: Sequence[str], title: int, index: int) -> dict[str, str]:
    """Read a row of the columns that the title names."""
    names, fields = lines[title].split(), lines[index].split()
    if index == title or len(fields) != len(names):
        raise OutputError(
            f"a thermo row of {len(names)} columns was expected, found {quoted(lines[index])}", index + 1
        )
    return dict(zip(names, _numbers(fields, index + 1), strict=True))


def _numbers(fields: Iterable[str], line: int | None) -> list[str]:
    """Return the texts of numbers; raise :class:`OutputError` if one is none."""
    return [field for field in fields if table.number(field, line) is not None]


def _multi(lines: Sequence[str], start: int) -> dict[str, str]:
    """Read one block of the style "multi": its step, and lines of ``name = value`` up to the first line
    without one."""
    values = {"Step": lines[start].split()[2]}
    for index in range(start + 1, len(lines)):
        items = list(_MULTI_ITEM.finditer(lines[index]))
        if not items or _MULTI_STEP.match(lines[index]):
            break
        if _MULTI_ITEM.sub("", lines[index]).strip():
            raise OutputError(f"items 'name = value' were expected, found {quoted(lines[index])}", index + 1)
        values.update(
            zip(
                (item["key"] for item in items), _numbers((i["value"] for i in items), index + 1), strict=True
            )
        )
    return values


def require_thermo(
    output: LammpsOutput,
    expected: Mapping[str, float],
    relative_tolerance: float,
    of: str = "in the reference log",
) -> None:
    """Raise :class:`OutputError` unless the last thermo output agrees with ``expected``.

    :param expected: values by LAMMPS's column names, as in the reference log that comes with the input.
    :param relative_tolerance: largest allowed deviation as a share of the expected value.
    :param of: the source of the expected values, in words.
    """
    for name, value in expected.items():
        found = _item(output.thermo, name)
        if abs(found - value) > relative_tolerance * abs(value):
            raise OutputError(
                f"wrong physics: {name} is {found:.8g} at the last step and {value:.8g} {of} "
                f"(allowed: {100 * relative_tolerance:g} %)"
            )


def require_drift(
    output: LammpsOutput, name: str, expected: float, relative_tolerance: float, of: str
) -> None:
    """Raise :class:`OutputError` unless an item changes over the run as expected.

    :param name: LAMMPS's name of the column; :param expected: its last value less its first.
    :param relative_tolerance: largest allowed deviation as a share of that; :param of: its source, in words.
    """
    drift = _item(output.thermo, name) - _item(output.thermo_at_start, name)
    if abs(drift - expected) > relative_tolerance * abs(expected):
        raise OutputError(
            f"wrong physics: {name} changes by {drift:.5g} over the run and by {expected:.5g} {of} "
            f"(allowed: {100 * relative_tolerance:g} %)"
        )


def _item(thermo: Mapping[str, float], name: str) -> float:
    if name not in thermo:
        raise OutputError(f"the thermodynamic output has no column {name!r}")
    return thermo[name]
