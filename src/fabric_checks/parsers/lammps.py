# SPDX-License-Identifier: BSD-3-Clause
"""Output of LAMMPS: loop time, performance line, task timing breakdown, first and last thermodynamic output."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fabric_checks.core.errors import OutputError, quoted
from fabric_checks.parsers import plain
from fabric_checks.parsers.table import number, only, positive

_VERSION = re.compile(r"^LAMMPS \((?P<version>[^)]+)\)")
_LOOP = re.compile(
    r"^Loop time of (?P<time>\S+) on (?P<procs>[0-9]{1,9}) procs for (?P<steps>[0-9]{1,15}) steps with "
    r"(?P<atoms>[0-9]{1,15}) atoms\s*$"
)
_PERFORMANCE = re.compile(
    r"^Performance: .*?(?P<rate>[-+.\deE]+|\S*nan\S*) timesteps/s"
    r"(?:, (?P<scaled>\S+) (?P<unit>[kMGT]?)atom-step/s)?\s*$"
)
_UNITS = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_MULTI_STEP = re.compile(r"^-+ Step\s+(?P<step>[0-9]{1,15}) -+")
_MULTI_ITEM = re.compile(r"(?P<key>[A-Za-z_]\w*)\s*=\s*(?P<value>\S+)")
_YAML_TITLE = re.compile(r"^keywords: \['Step', .*\]\s*$")
_YAML_ROW = re.compile(r"^\s+- \[.*\]\s*$")
_SECTION = re.compile(r"^(?P<name>\w+)\s*\|(?P<cells>.*)\|\s*(?P<percent>\S+)\s*$")
_LAST_LINE = re.compile(r"^Total wall time: \d+:\d\d:\d\d\s*$")


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
        if re.search(r"(^|\s)ERROR( on proc \d+)?:", line):
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
    rate = _timesteps_per_s(lines, index, steps, atoms, loop_time)
    shares = _breakdown(lines, index, loop_time)
    at_start, thermo = _thermo(lines[:index], steps)
    ends = [line for line in lines[index:] if _LAST_LINE.match(line)]
    only(ends, "last line 'Total wall time: ...'", "the program did not end normally")
    return LammpsOutput(version, processes, steps, atoms, loop_time, rate, shares, thermo, at_start)


def _timesteps_per_s(lines: Sequence[str], start: int, steps: int, atoms: int, loop_time: float) -> float:
    """Return the printed rate; it, and that of atom-steps on the same line, have to be those of the loop time."""
    for line_number, line in enumerate(lines[start:], start + 1):
        if match := _PERFORMANCE.match(line):
            rate = positive(match["rate"], "timesteps/s", line_number)
            _require_rate(rate, steps / loop_time, "timesteps/s", line_number)
            if match["scaled"] is not None:
                unit = f"{match['unit']}atom-step/s"
                scaled = positive(match["scaled"], unit, line_number)
                _require_rate(scaled, steps * atoms / loop_time / _UNITS[match["unit"]], unit, line_number)
            return rate
    raise OutputError("no line 'Performance: ... timesteps/s' after the loop time")


def _require_rate(printed: float, fitting: float, unit: str, line: int) -> None:
    """Raise :class:`OutputError` unless a rate, which has three decimals, follows from a time with six digits."""
    if abs(printed - fitting) > 0.00051 + 1e-5 * fitting:
        raise OutputError(
            f"{printed:g} {unit} do not fit the loop time, which gives {fitting:g}: the output is damaged", line
        )


def _breakdown(lines: Sequence[str], start: int, loop_time: float) -> dict[str, float]:
    shares: dict[str, float] = {}
    for index in range(start, len(lines)):
        match = _SECTION.match(lines[index])
        if match and match["name"] != "Section":
            share = number(match["percent"], index + 1)
            if not 0 <= share <= 100:
                raise OutputError(f"{match['name']} takes {share:g} % of the loop time", index + 1)
            if match["name"] in shares:
                raise OutputError(f"the section {match['name']} appears twice in the breakdown", index + 1)
            shares[match["name"]] = share
            _require_times(match, share, loop_time, index + 1)
    for name in ("Comm", "Other"):
        if name not in shares:
            raise OutputError(f"the MPI task timing breakdown has no section {name!r}")
    if not 95 <= sum(shares.values()) <= 105:
        raise OutputError(f"the sections of the breakdown add up to {sum(shares.values()):.1f} %, not to 100 %")
    return shares


def _require_times(section: re.Match[str], share: float, loop_time: float, line: int) -> None:
    """Raise :class:`OutputError` unless the times of a section are in order and their average is its share."""
    least, average, most = (cell.strip() for cell in f"{section['cells']}||".split("|")[:3])
    if not average:
        return
    time = number(average, line)
    if (least and number(least, line) > time) or (most and number(most, line) < time):
        raise OutputError(f"the times of {section['name']} are not in order: the output is damaged", line)
    if abs(share - 100 * time / loop_time) > 0.0051 + 5e-4 * share:
        raise OutputError(f"{section['name']} takes {time:g} s, which is not {share:g} % of the loop time", line)


def _thermo(lines: Sequence[str], steps: int) -> tuple[dict[str, float], dict[str, float]]:
    """Read the first and the last thermo output, in lines of columns or in the styles "multi" and "yaml"."""
    title = next((i for i in range(len(lines) - 1, -1, -1) if lines[i].split()[:1] == ["Step"]), None)
    keywords = next((i for i in range(len(lines) - 1, -1, -1) if _YAML_TITLE.match(lines[i])), None)
    if keywords is not None:
        # The words of the columns and of a row are the same lines without the marks of YAML.
        plain_lines = [re.sub(r"^\s*(?:keywords:|-) \[|', '|[',\]]", " ", line) for line in lines]
        rows = [i for i in range(keywords + 1, len(lines)) if _YAML_ROW.match(lines[i])] or [keywords]
        first, last = (_row(plain_lines, keywords, each) for each in (rows[0], rows[-1]))
    elif title is not None:
        rows = [i for i in range(title + 1, len(lines)) if not lines[i].startswith("WARNING")] or [title]
        first, last = (_row(lines, title, each) for each in (rows[0], rows[-1]))
    else:
        rows = [index for index, line in enumerate(lines) if _MULTI_STEP.match(line)]
        if not rows:
            raise OutputError("no thermodynamic output before the loop time")
        first, last = (_multi(lines, each) for each in (rows[0], rows[-1]))
    if first.keys() != last.keys():
        lost = ", ".join(sorted(first.keys() ^ last.keys()))
        raise OutputError(
            f"the last thermodynamic output does not have the same items as the first: {lost}", rows[-1] + 1
        )
    del first["Step"]
    if (step := last.pop("Step")) != steps:
        raise OutputError(
            f"the last thermodynamic output is for step {step:g}, not for the last step {steps}", rows[-1] + 1
        )
    return first, last


def _row(lines: Sequence[str], title: int, index: int) -> dict[str, float]:
    """Read a row of the columns that the title names."""
    names, fields = lines[title].split(), lines[index].split()
    if index == title or len(fields) != len(names):
        raise OutputError(f"a thermo row of {len(names)} columns was expected, found {quoted(lines[index])}", index + 1)
    return dict(zip(names, (number(field, index + 1) for field in fields), strict=True))


def _multi(lines: Sequence[str], start: int) -> dict[str, float]:
    """Read one block of the style "multi": its step, and lines of ``name = value`` up to the first line without one."""
    values = {"Step": float(lines[start].split()[2])}
    for index in range(start + 1, len(lines)):
        items = list(_MULTI_ITEM.finditer(lines[index]))
        if not items or _MULTI_STEP.match(lines[index]):
            break
        values.update((item["key"], number(item["value"], index + 1)) for item in items)
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
