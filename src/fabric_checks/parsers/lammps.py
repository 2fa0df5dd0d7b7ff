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
from decimal import Decimal

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.parsers import plain
from fabric_checks.parsers.table import (
    half_digit,
    number,
    only,
    positive,
    require_mean,
    require_sum,
    two_decimals,
    whole,
)

_VERSION = re.compile(r"^LAMMPS \((?P<version>[^)]+)\)")
_LOOP = re.compile(
    r"^Loop time of (?P<time>\S+) on (?P<procs>[0-9]{1,9}) procs for (?P<steps>[0-9]{1,15}) steps with "
    r"(?P<atoms>[0-9]{1,15}) atoms\s*$"
)
_PERFORMANCE = re.compile(
    r"^Performance: (?:(?P<tau_day>\S+) tau/day|(?P<ns_day>\S+) [nf]s/day, (?P<hours>\S+) hours/[nf]s), "
    r"(?P<rate>\S+) timesteps/s(?:, (?P<scaled>\S+) (?P<unit>[kMGT]?)atom-step/s)?$"
)
#: The time units in a nanosecond, by LAMMPS's style of units; ``lj`` counts in its own unit, tau.
_IN_NS = {"real": 1e6, "metal": 1e3}
_SETUP = re.compile(r"^  (Unit style|Current step|Time step) *: (\S+)$", re.MULTILINE)
_GRID = re.compile(r"^ *([0-9]{1,9}) by ([0-9]{1,9}) by ([0-9]{1,9}) MPI processor grid$", re.MULTILINE)
#: The atoms that were created, or those of a file that was read or replicated.
_ATOMS = re.compile(r"^(?:Created | +)([0-9]{1,15}) atoms$", re.MULTILINE)
_LOCAL = re.compile(r"^Nlocal: +(\S+) ave +(\S+) max +(\S+) min$", re.MULTILINE)
_TASKS = re.compile(r"% CPU use with ([0-9]{1,9}) MPI tasks")
_UNITS = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_MULTI_STEP = re.compile(r"^-+ Step\s+(?P<step>[0-9]{1,15}) -+")
_MULTI_ITEM = re.compile(r"(?P<key>[A-Za-z_]\w*)\s*=\s*(?P<value>[^\s=]+)")
_YAML_TITLE = re.compile(r"^keywords: \['Step', .*\]\s*$")
_YAML_ROW = re.compile(r"^\s+- \[.*\]\s*$")
_SECTION = re.compile(r"^(?P<name>\w+) *\|(?P<cells>.*)\| *(?P<percent>\S+)$")
#: The sections in order.
_SECTIONS = re.compile(r"Pair (Bond )?(Kspace )?Neigh Comm Output Modify (Sync )?Other")
_BREAKDOWN = re.compile(r"^Section \| +min time +\| +avg time +\| +max time +\|%varavg\|( +%CPU \|)? +%total$")
_LAST_LINE = re.compile(r"^Total wall time: (?P<h>\d{1,9}):(?P<min>[0-5]\d):(?P<s>[0-5]\d)\s*$")
#: Energies that others add up to, by LAMMPS's column names.
_SUMS = {
    "TotEng": ("KinEng", "PotEng"),
    "PotEng": ("E_bond", "E_angle", "E_dihed", "E_impro", "E_vdwl", "E_coul", "E_long"),
}


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
        """10^6 atom-steps a second, from the loop time (the printed unit changes from kilo to mega with the speed)."""
        return self.atoms * self.steps / self.loop_time_s / 1e6


def parse(text: str, processes: int) -> LammpsOutput:
    """Read the output of one LAMMPS run.

    :param text: the standard output of the program.
    :param processes: the number of MPI processes that must have taken part.
    :raises OutputError: if the output is not whole or its values are not believable.
    """
    text = plain.cleaned(text)
    lines = text.splitlines()
    versions = [match["version"] for line in lines if (match := _VERSION.match(line))]
    started = "the program did not start, or this is another program" + plain.label_of(text, "LAMMPS (")
    version = only(versions, "line 'LAMMPS (version)'", started)
    for index, line in enumerate(lines):
        if re.search(r"^ERROR( on proc \d+)?:", line):
            raise OutputError(f"LAMMPS stopped with {quoted(line)}", index + 1)
    loops = []
    for index, line in enumerate(lines):
        if match := _LOOP.match(line):
            loops.append((index, match))
        elif line.startswith("Loop time of"):
            raise OutputError(f"the line of the loop time is damaged: {quoted(line)}", index + 1)
    index, loop = only(loops, "line 'Loop time of ...'", "the run did not end normally")
    if int(loop["procs"]) != processes:
        raise OutputError(
            f"LAMMPS ran on {loop['procs']} processes instead of the {processes} that were asked for", index + 1
        )
    loop_time = positive(loop["time"], "the loop time", index + 1)
    steps, atoms = int(loop["steps"]), int(loop["atoms"])
    if steps == 0 or atoms == 0:
        raise OutputError(f"{steps} steps with {atoms} atoms: nothing was computed", index + 1)
    found = _SETUP.findall("\n".join(lines[:index]))
    setup = dict(found)
    if len(setup) < len(found):
        raise OutputError("the lines 'Setting up ...' are there twice: several programs printed this")
    rate = _timesteps_per_s(lines, loop, index, setup)
    shares = _breakdown(lines, index, loop["time"], processes)
    begin = whole(setup.get("Current step", "0"), None, "the current step")
    at_start, thermo = _thermo(lines[:index], loop, begin)
    ends = [match for line in lines[index:] if (match := _LAST_LINE.match(line))]
    wall = only(ends, "last line 'Total wall time: ...'", "the program did not end normally")
    if 3600 * int(wall["h"]) + 60 * int(wall["min"]) + int(wall["s"]) + 1 < loop_time:
        raise OutputError(f"the loop took {loop_time:g} s, but {quoted(wall[0])}: the output is damaged")
    _require_ranks("\n".join(lines[:index]), "\n".join(lines[index:]), atoms, processes)
    return LammpsOutput(version, processes, steps, atoms, loop_time, rate, shares, thermo, at_start)


def _require_ranks(before: str, after: str, atoms: int, processes: int) -> None:
    """Raise :class:`OutputError` unless grid and atoms before the loop and tasks and atoms of each behind it fit it.

    Otherwise these are the beginning of one run and the end of another.
    """
    for grid in _GRID.finditer(before):
        if math.prod(map(int, grid.groups())) != processes:
            raise OutputError(f"{quoted(grid[0].strip())} is not one of {processes} processes: the output is damaged")
    made = _ATOMS.findall(before)
    if made and int(made[-1]) != atoms:
        raise OutputError(f"the loop was over {atoms} atoms, but {quoted(made[-1])} were made: the output is damaged")
    for local in _LOCAL.finditer(after):
        mean, most, least = _numbers(local.groups(), None)
        require_mean((least, mean, most), processes, "numbers of atoms", None)
        if abs(processes * float(mean) - atoms) > processes * half_digit(mean) * (1 + 1e-6):
            raise OutputError(f"{quoted(local[0])} does not fit {atoms} atoms on {processes} processes")
    for tasks in _TASKS.findall(after):
        if tasks != str(processes):
            raise OutputError(f"{tasks} MPI tasks used CPUs, but the loop ran on {processes}: the output is damaged")


def _timesteps_per_s(lines: Sequence[str], loop: re.Match[str], start: int, setup: Mapping[str, str]) -> float:
    """Return the printed rate; all rates of its line have to be those of the loop time."""
    rate = int(loop["steps"]) / float(loop["time"])
    for line_number, line in enumerate(lines[start:], start + 1):
        if match := _PERFORMANCE.match(line):
            rates = [("rate", rate, "timesteps/s")]
            if match["scaled"] is not None:
                rates.append(
                    ("scaled", rate * int(loop["atoms"]) / _UNITS[match["unit"]], f"{match['unit']}atom-step/s")
                )
            style, step = setup.get("Unit style"), setup.get("Time step")
            a_day = 86400 * rate * positive(step, "the time step", None) if step else 0.0
            if a_day and style == "lj":
                rates.append(("tau_day", a_day, "tau/day"))
            elif a_day and style in _IN_NS:
                ns_day = a_day / _IN_NS[style]
                rates += [("ns_day", ns_day, "ns/day"), ("hours", 24 / ns_day, "hours/ns")]
            for name, fitting, unit in rates:
                # Three decimals are printed, and six digits of the loop time.
                if abs((printed := number(match[name] or "0", line_number)) - fitting) > 0.00051 + 1e-5 * fitting:
                    raise OutputError(
                        f"{printed:g} {unit} do not fit the loop time, which gives {fitting:g}: the output is damaged",
                        line_number,
                    )
            return positive(match["rate"], "timesteps/s", line_number)
    raise OutputError("no line 'Performance: ... timesteps/s' after the loop time")


def _breakdown(lines: Sequence[str], start: int, loop_time: str, processes: int) -> dict[str, float]:
    """Return the shares of the sections; all have to be there, and their times to make the loop time."""
    found = [index for index in range(start, len(lines)) if _BREAKDOWN.match(lines[index])]
    titles = only(found, "line 'Section | min time | avg time | ...'", "the titles of the breakdown are damaged")
    shares: list[tuple[str, float]] = []
    averages: list[str] = []
    for line_number, line in enumerate(lines[titles + 1 :], titles + 2):
        if not line.strip("-"):
            if shares:
                break  # a blank line ends the table
            continue
        if (match := _SECTION.match(line)) is None:
            raise OutputError(f"a section of the breakdown was expected, found {quoted(line)}", line_number)
        name, share = quoted(match["name"]), two_decimals(match["percent"], line_number)
        cells = [cell.strip() for cell in f"{match['cells']}||".split("|")]
        # Of the section "Other" only the average is printed.
        least, average, most = _numbers([cell or cells[1] for cell in cells[:3]], line_number)
        require_mean((least, average, most), processes, f"times of {name}", line_number)
        allowed = 0.0051 + 100 * half_digit(average) / float(loop_time) + 1e-5 * share
        if abs(share - 100 * float(average) / float(loop_time)) > allowed:
            raise OutputError(f"{name} takes {average} s, not {share:g} % of the loop time", line_number)
        shares.append((match["name"], share))
        averages.append(average)
    if not _SECTIONS.fullmatch(names := " ".join(name for name, _ in shares)):
        raise OutputError(f"the sections of the breakdown are {quoted(names)}: the output is damaged", titles + 1)
    require_sum(loop_time, averages, "the sections of the breakdown make the loop time", start + 1)
    return dict(shares)


def _thermo(lines: Sequence[str], loop: re.Match[str], begin: int) -> tuple[dict[str, float], dict[str, float]]:
    """Read the first and the last thermo output, in lines of columns or in the styles "multi" and "yaml".

    :param begin: the step that the run began with.
    """
    steps, atoms = int(loop["steps"]), int(loop["atoms"])
    title = next((i for i in range(len(lines) - 1, -1, -1) if lines[i].split()[:1] == ["Step"]), None)
    keywords = next((i for i in range(len(lines) - 1, -1, -1) if _YAML_TITLE.match(lines[i])), None)
    if keywords is not None:
        # The words of the columns and of a row are the same lines without the marks of YAML.
        plain_lines = [re.sub(r"^\s*(?:keywords:|-) \[|', '|[',\]]", " ", line) for line in lines]
        rows = [i for i in range(keywords + 1, len(lines)) if _YAML_ROW.match(lines[i])] or [keywords]
        found = [_row(plain_lines, keywords, each) for each in rows]
    elif title is not None:
        rows = [i for i in range(title + 1, len(lines)) if not lines[i].startswith("WARNING")] or [title]
        found = [_row(lines, title, each) for each in rows]
    else:
        rows = [index for index, line in enumerate(lines) if _MULTI_STEP.match(line)]
        if not rows:
            raise OutputError("no thermodynamic output before the loop time")
        found = [_multi(lines, each) for each in rows]
    for index, row in zip(rows, found, strict=True):
        if list(row) != list(found[0]):
            raise OutputError(
                f"the items of the first thermodynamic output are not these: {quoted(' '.join(row))}", index + 1
            )
        _require_energies(row, found[0], index + 1)
        if float(row.get("Atoms", atoms)) != atoms:
            raise OutputError(f"{row['Atoms']} atoms were there, but the loop was over {atoms}", index + 1)
    order = [float(row["Step"]) for row in found]
    if order[0] != begin or any(later <= step for step, later in itertools.pairwise(order)):
        raise OutputError(f"the thermodynamic output is not of steps from {begin} on, in order", rows[0] + 1)
    first, last = ({name: float(text) for name, text in row.items()} for row in (found[0], found[-1]))
    del first["Step"]
    if (step := last.pop("Step")) != steps:
        raise OutputError(
            f"the last thermodynamic output is for step {step:g}, not for the last step {steps}", rows[-1] + 1
        )
    return first, last


def _require_energies(row: Mapping[str, str], first: Mapping[str, str], line: int) -> None:
    """Raise :class:`OutputError` unless energies add up, and the kinetic one is in proportion to the temperature."""
    for total, parts in _SUMS.items():
        if row.keys() >= {total, *parts}:
            require_sum(row[total], [row[part] for part in parts], f"{' + '.join(parts)} make {total}", line)
    for name in {"KinEng", "Temp"} & row.keys():
        if float(row[name]) < 0:
            raise OutputError(f"{name} is {row[name]}, below zero: the output is damaged", line)
    if not row.keys() >= {"Temp", "KinEng"} and not row.keys() >= {"Temp", "TotEng", "E_pair", "E_mol"}:
        return
    names = ["KinEng"] if "KinEng" in row else ["TotEng", "E_pair", "E_mol"]
    kinetic, error, temperature, rounding = zip(*_kinetic(names, row, first), strict=True)
    # K / T = K0 / T0, with the largest errors of all four.
    allowed = sum(error[i] * temperature[1 - i] + abs(kinetic[i]) * rounding[1 - i] for i in (0, 1))
    if abs(kinetic[0] * temperature[1] - kinetic[1] * temperature[0]) > allowed * (1 + 1e-4):
        raise OutputError("the kinetic energy is not in proportion to Temp: the output is damaged", line)


def _kinetic(names: Sequence[str], *rows: Mapping[str, str]) -> list[tuple[float, float, float, float]]:
    """Return the kinetic energy of rows and how far it was rounded, and the same of their temperature.

    :param names: ``KinEng``, or the energies of the style "one", the first less the others. Its columns have as many
        digits, and no zeros at the end, so that the longest number shows how many there were.
    """
    cells = [Decimal(row[name]) for row in rows for name in (*names, "Temp")]
    digits = max(len(cell.as_tuple().digits) for cell in cells)

    def error(text: str) -> float:
        value = Decimal(text)
        return half_digit(text) if len(names) == 1 or not value else 0.5 * 10.0 ** (value.adjusted() + 1 - digits)

    found = []
    for row in rows:
        energies = [row[name] for name in names]
        kinetic = float(energies[0]) - sum(map(float, energies[1:]))
        found.append((kinetic, sum(map(error, energies)), float(row["Temp"]), error(row["Temp"])))
    return found


def _row(lines: Sequence[str], title: int, index: int) -> dict[str, str]:
    """Read a row of the columns that the title names."""
    names, fields = lines[title].split(), lines[index].split()
    if index == title or len(fields) != len(names):
        raise OutputError(f"a thermo row of {len(names)} columns was expected, found {quoted(lines[index])}", index + 1)
    return dict(zip(names, _numbers(fields, index + 1), strict=True))


def _numbers(fields: Iterable[str], line: int | None) -> list[str]:
    """Return the texts of numbers; raise :class:`OutputError` if one is none."""
    return [field for field in fields if number(field, line) is not None]


def _multi(lines: Sequence[str], start: int) -> dict[str, str]:
    """Read one block of the style "multi": its step, and lines of ``name = value`` up to the first line without one."""
    values = {"Step": lines[start].split()[2]}
    for index in range(start + 1, len(lines)):
        items = list(_MULTI_ITEM.finditer(lines[index]))
        if not items or _MULTI_STEP.match(lines[index]):
            break
        if _MULTI_ITEM.sub("", lines[index]).strip():
            raise OutputError(f"items 'name = value' were expected, found {quoted(lines[index])}", index + 1)
        values.update(
            zip((item["key"] for item in items), _numbers((i["value"] for i in items), index + 1), strict=True)
        )
    return values


def require_thermo(
    output: LammpsOutput, expected: Mapping[str, float], relative_tolerance: float, of: str = "in the reference log"
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


def require_drift(output: LammpsOutput, name: str, expected: float, relative_tolerance: float, of: str) -> None:
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
