# SPDX-License-Identifier: BSD-3-Clause
"""How an output contradicts itself: sums, counts, orders and rates that its format gives twice.

Written from the sources of the programs and from what they print, without a look at the parsers: the two have
only the programs in common. A relation is held to the digits that are printed; one that a busy machine may
break is left out, and so is which pairs a round has. `layout` begins a sentence on how a number is printed,
not on its value.
"""

import math
import re
from itertools import pairwise
from typing import NamedTuple

NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?\Z", re.ASCII)


class Span(NamedTuple):
    """The values that a printed number stands for."""

    low: float
    high: float

    def plus(self, *others):
        return Span(
            self.low + sum(s.low for s in others),
            self.high + sum(s.high for s in others),
        )

    def times(self, other):
        ends = [
            a * b
            for a in self
            for b in (other if isinstance(other, tuple) else (other,))
        ]
        return Span(min(ends), max(ends))

    def over(self, other):
        """Return the quotient; of a divisor that may be zero, anything."""
        return (
            self.times(Span(1 / other.high, 1 / other.low))
            if other.low > 0
            else Span(-math.inf, math.inf)
        )

    def within(self, low, high):
        return Span(min(max(self.low, low), high), min(max(self.high, low), high))

    def differs(self, other):
        low, high = other if isinstance(other, tuple) else (other, other)
        return self.low > high or low > self.high


ZERO, HUNDRED = Span(0.0, 0.0), Span(100.0, 100.0)


def number(text):
    if not NUMBER.match(text):
        raise ValueError(text)
    return float(text)


def span(text, digits=0):
    """Return the span of a number with all its decimals, or with so many significant digits, as %.6g has
    them."""
    value = number(text)
    mantissa, _, exponent = text.lower().partition("e")
    half = 0.5 * 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
    if digits:
        half = (
            min(half, 0.5 * 10.0 ** (math.floor(math.log10(abs(value))) + 1 - digits))
            if value
            else 0.0
        )
    half = half * (1 + 1e-9) + abs(value) * 1e-14
    return Span(value - half, value + half)


def is_mean(least, mean, most, count):
    """Whether so many values can have this least, mean and most: one is the least and one is the most."""
    low = (least.low * (count - 1) + most.low) / count
    high = (least.high + most.high * (count - 1)) / count
    return least.low <= most.high and low <= mean.high and mean.low <= high


def grows(numbers):
    return all(a < b for a, b in pairwise(numbers))


def those(*claims):
    """Return the sentences of the claims that hold."""
    return [sentence for holds, sentence in claims if holds]


class TwiceError(ValueError):
    """A line is there twice, and differs."""


def only(pattern, text):
    """Return the groups of a line that a text has once."""
    found = {match.groups() for match in re.finditer(pattern, text, re.MULTILINE)}
    if len(found) > 1:
        raise TwiceError(pattern)
    if not found:
        raise LookupError(f"no line {pattern}")
    return found.pop()


# ------------------------------------------------------------------------------------------ programs of ours


def own(text):
    """Hold an output of a program of ours to its last line: the number of rows, and the sum of all bytes
    above."""
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    first = next(
        at for at, line in enumerate(lines) if line.startswith("# fabric-checks ")
    )
    last = next(at for at, line in enumerate(lines) if line.startswith("# complete: "))
    rows = sum(not line.startswith("#") for line in lines[first:last])
    count, crc = only(r"^# complete: (\d+) rows, crc32 (\w{8})$", lines[last])
    return those(
        (int(count) != rows, f"count: {rows} rows"),
        (
            int(crc, 16) != crc32("".join(f"{line}\n" for line in lines[first:last])),
            "sum: of another text",
        ),
    )


def crc32(text):
    """Return the CRC-32 of IEEE 802.3 by its definition, bit by bit."""
    rest = 0xFFFFFFFF
    for byte in text.encode(errors="replace"):
        rest ^= byte
        for _ in range(8):
            rest = (rest >> 1) ^ (0xEDB88320 if rest & 1 else 0)
    return rest ^ 0xFFFFFFFF


# ---------------------------------------------------------------------------------------- programs of others


def table_lines(text):
    return [
        line.rstrip()
        for line in text.splitlines()
        if line.split() and NUMBER.match(line.split()[0])
    ]


def osu(text):
    heads = re.findall(
        r"^[# ] *(?=.*(?:\([a-zA-Z%]+\)|MB/s|\[us\]))((?!Overall =|Uni-dir).*?) *$",
        text,
        re.MULTILINE,
    )
    several = (
        text.count("Datatype") > 1 or "Message Rate Test v5.6" in text
    )  # lines of titles
    columns = [
        re.sub(r"\s*[\[(].*", "", part)
        for part in re.split(r"(?<=[)\]s])\s+|\s{2,}", heads[-1])
    ]
    lines = table_lines(text)
    sizes_B = []
    for line in lines:
        cells = dict(zip(columns, line.split(), strict=False))
        values = {
            name: span(cell)
            for name, cell in cells.items()
            if cell not in ("Pass", "Fail", "-")
        }
        sizes_B += [number(cells["Size"])] if "Size" in cells else []
        kinds = (
            ("Min Latency", "Avg Latency", "Max Latency"),
            ("Min Comm.", "Pure Comm.", "Max Comm."),
        )
        ends = [
            [values[name] for name in names] for names in kinds if names[0] in values
        ]
        ends.append([value for name, value in values.items() if "Tail" in name])
        rate = values.get("Messages/s", ZERO).times(
            sizes_B[-1] / 1e6 if sizes_B else 1.0
        )
        yield from those(
            (len(line.split()) != len(columns), "row: fields and titles"),
            (
                any(a.low > b.high for in_order in ends for a, b in pairwise(in_order)),
                "order: least, mean, most",
            ),
            (
                "Messages/s" in values and rate.differs(values["MB/s"]),
                f"rate: MB/s is not {rate.low:.6g}",
            ),
        )
        if "Overall" in values:
            yield from _osu_overlap(values)
    yield from those(
        (
            len(set(re.findall(r"^# (.* Test)(?: v\S+)?$", text, re.MULTILINE))) > 1,
            "head: two programs",
        ),
        (
            not several and (len(set(heads)) != 1 or not grows(sizes_B)),
            "head: titles, or sizes that do not grow",
        ),
        (len({len(line) for line in lines}) > 1, "layout: lines of different length"),
    )


def _osu_overlap(values):
    parts = [
        values[name]
        for name in ("Coll. Init", "Compute", "MPI_Test", "MPI_Wait")
        if name in values
    ]
    overall = values["Overall"]
    share = (
        overall.plus(values["Compute"].times(-1)).times(100).over(values["Pure Comm."])
    )  # printed without the tests
    left = HUNDRED.plus(share.times(-1)).within(0, 100)
    return those(
        (ZERO.plus(*parts).low > overall.high, "sum: the parts are more than all"),
        (
            len(parts) == 4 and overall.low > 2 * ZERO.plus(*parts).high + 10,
            "sum: the parts are much less than all",
        ),
        (left.differs(values["Overlap"]), f"overlap: is {left.low:.2f}"),
    )


def start_up(text):
    for count, *times in re.findall(
        r"nprocs: (\d+), min: (\S+) ms, max: (\S+) ms, avg: (\S+) ms", text
    ):
        least, most, mean = map(span, times)
        cut = Span(mean.low - 1, mean.high + 1)  # whole milliseconds, not rounded
        yield from those(
            (not is_mean(least, cut, most, int(count)), "order: min, avg, max")
        )


def imb(text):
    called = re.search(
        r"^# \S*IMB-\S+ .*?(?:-iter (\d+)(?:,(\d+))?.*)?$", text, re.MULTILINE
    )
    default = (1000, 40)  # repetitions, MiB
    most, volume_MiB = (
        float(n) if n else default[i]
        for i, n in enumerate(called.groups() if called else ("", ""))
    )
    for part in re.split(r"^(?=# Benchmarking )", text, flags=re.MULTILINE)[1:]:
        processes = re.search(r"#processes = (\d+)", part)
        for table in re.split(r"^(?=#\s+MODE)", part, flags=re.MULTILINE):
            rows = table_lines(table)
            titles = (
                only(r"^\s+(#(?:bytes|repetitions).*?)\s*$", table)[0].split()
                if rows
                else []
            )
            cells = [dict(zip(titles, row.split(), strict=True)) for row in rows]
            n = [number(row["#repetitions"]) for row in cells]
            sizes = [number(row.get("#bytes", "0")) for row in cells]
            allowed = [
                min(most, max(1, volume_MiB * 2**20 // size) if size else most)
                for size in sizes
            ]
            yield from those(
                (any(a < b for a, b in pairwise(n)), "repetitions: grow with the size"),
                (
                    any(not 1 <= a <= b for a, b in zip(n, allowed, strict=True)),
                    "repetitions: more than the call's",
                ),
                ("#bytes" in titles and not grows(sizes), "sizes: do not grow"),
                (
                    len({len(row) for row in rows}) > 1,
                    "layout: lines of different length",
                ),
            )
            for row in cells:
                yield from _imb_row(
                    {k: span(v) for k, v in row.items()},
                    int(processes[1]) if processes else 10**6,
                )
            by = [
                name for name in ("Msg/sec", "t_max[usec]", "t[usec]") if name in titles
            ]
            if "Mbytes/sec" in titles and by:
                yield from _imb_rate(cells, sizes, by[0])


def _imb_row(cells, ranks):
    yield from those((min(cell.high for cell in cells.values()) < 0, "range: negative"))
    if "t_min[usec]" in cells:
        least, mean, most = (cells[f"t_{end}[usec]"] for end in ("min", "avg", "max"))
        yield from those(
            (
                not is_mean(least, mean, most, ranks),
                f"order: {least.low:.2f} {mean.low:.2f} {most.low:.2f}",
            )
        )
    if "overlap[%]" in cells:
        pure, cpu, overall = (
            cells[f"t_{part}[usec]"] for part in ("pure", "CPU", "ovrl")
        )
        longer = Span(max(pure.low, cpu.low), max(pure.high, cpu.high))
        share = pure.plus(cpu, overall.times(-1)).times(100).over(longer).within(0, 100)
        yield from those(
            (share.differs(cells["overlap[%]"]), f"overlap: is {share.low:.2f}")
        )


def _imb_rate(cells, sizes, by):
    """Hold the bandwidth to a time or a message rate: between them is a small factor, in nearly all rows the
    same."""
    factors = []
    for row, size in zip(cells, sizes, strict=True):
        if size > 0 and number(row[by]) > 0:
            time_us = (
                span(row[by])
                if by.startswith("t")
                else Span(1e6, 1e6).over(span(row[by]))
            )
            factors.append(span(row["Mbytes/sec"]).times(time_us).times(1 / size))
    agree = max(
        sum(not found.differs(factor) for found in factors) for factor in (1, 2, 4)
    )
    return those(
        (
            len(factors) > agree >= 0.75 * len(factors) >= 3,
            f"rate: not of {by}, {len(factors) - agree} rows",
        )
    )


def lammps(text):
    time, *counts = only(
        r"^Loop time of (\S+) on (\d+) procs for (\d+) steps with (\d+) atoms", text
    )
    loop, (processes, steps, atoms) = span(time, 6), map(int, counts)
    cpu, tasks, threads = only(
        r"^(\S+)% CPU use with (\d+) MPI tasks x (\d+) OpenMP threads", text
    )
    hours, minutes, seconds = map(
        int, only(r"^Total wall time: (\d+):(\d\d):(\d\d)$", text)
    )
    grids = re.findall(r"(\d+) by (\d+) by (\d+) MPI processor grid", text)
    made = re.findall(
        r"^(?:Created|  reading atoms \.\.\.\n ) (\d+) atoms|^  (\d+) atoms$",
        text,
        re.MULTILINE,
    )
    histograms = re.findall(r"^Histogram: (.*)$", text, re.MULTILINE)
    yield from those(
        (len(re.findall(r"^LAMMPS \(.*\)", text, re.MULTILINE)) != 1, "head: version"),
        (
            any(math.prod(map(int, grid)) != processes for grid in grids),
            "processes: grid",
        ),
        (
            tasks != str(processes) or not 0 < number(cpu) <= 110 * int(threads),
            "processes: MPI tasks, or CPU use",
        ),
        (
            bool(made) and "".join(made[-1]) != str(atoms),
            f"atoms: {made[-1:]} were made",
        ),
        (
            loop.low > 3600 * hours + 60 * minutes + seconds + 1,
            "time: the wall time is less than the loop",
        ),
        (
            any(sum(map(int, counts.split())) != processes for counts in histograms),
            "processes: histogram",
        ),
    )
    for name, *ends in re.findall(
        r"^(\w+): +(\S+) ave +(\S+) max +(\S+) min", text, re.MULTILINE
    ):
        mean, most, least = (span(end, 6) for end in ends)
        wrong = name == "Nlocal" and mean.times(processes).differs(atoms)
        yield from those(
            (wrong or not is_mean(least, mean, most, processes), f"order: {name}")
        )
    style, step = (
        only(rf"^  {key} +: (\S+)$", text)[0] for key in ("Unit style", "Time step")
    )
    yield from _lammps_rates(
        text, style, number(step), Span(steps, steps).over(loop), atoms
    )
    yield from _lammps_sections(text, loop, processes)
    yield from _lammps_thermo(text, style, loop, steps, atoms)


def _lammps_rates(text, style, step, per_s, atoms):
    ns = {"real": 1e-6, "metal": 1e-3}.get(style)
    day = per_s.times(86400 * step * (ns or 1))
    expected = (
        {"ns/day": day, "hours/ns": Span(24, 24).over(day)} if ns else {"tau/day": day}
    )
    expected["timesteps/s"] = per_s
    expected |= {
        f"{k}atom-step/s": per_s.times(atoms / 10**e)
        for k, e in (("", 0), ("k", 3), ("M", 6), ("G", 9))
    }
    (line,) = only(r"^Performance: (.*)$", text)
    rates = {
        unit: span(value)
        for value, unit in re.findall(r"(\S+) ([\w/-]+)(?:, |$)", line)
    }
    return those(
        (
            len(rates) != len(expected) - 3 or not set(rates) <= set(expected),
            f"rate: {line} in units {style}",
        ),
        (
            any(
                rate.differs(expected[unit])
                for unit, rate in rates.items()
                if unit in expected
            ),
            f"rate: {line}",
        ),
    )


def _lammps_sections(text, loop, processes):
    titles, *rows = re.findall(
        r"^(\w+) +\|(.*)\|(.*)\|(.*)\|(.*)\|(.*)$", text, re.MULTILINE
    )
    known = ["Pair", "Bond", "Kspace", "Neigh", "Comm", "Output", "Modify", "Other"]
    names = [row[0] for row in rows]
    means = [span(row[2].strip(), 5 if row[0] != "Other" else 4) for row in rows]
    yield from those(
        (
            "".join(titles)
            != "Section  min time    avg time    max time  %varavg %total",
            "sections: titles",
        ),
        (
            names != [name for name in known if name in names]
            or names[-1:] != ["Other"],
            f"sections: {names}",
        ),
        (ZERO.plus(*means).differs(loop), "sum: sections and loop time"),
    )
    for (name, *cells), mean in zip(rows, means, strict=True):
        least, most = (
            span(cells[i].strip(), 5) if name != "Other" else mean for i in (0, 2)
        )
        yield from those(
            (
                name != "Other" and not is_mean(least, mean, most, processes),
                f"order: {name}",
            ),
            (
                mean.times(100).over(loop).differs(span(cells[4].strip())),
                f"share: {name}",
            ),
        )


def _lammps_thermo(text, style, loop, steps, atoms):
    rows, columns = [], []
    for line in (
        text.partition("Per MPI rank memory")[2]
        .partition("Loop time of")[0]
        .splitlines()[1:]
    ):
        fields = line.split()
        if block := re.match(r"-+ Step +(\d+) -+ CPU = +(\S+) \(sec\) -+$", line):
            rows.append({"Step": block[1], "CPU": block[2]})
        elif found := re.findall(r"(\w+) += +(\S+)", line):
            rows[-1].update(found)
        elif fields[:1] == ["Step"]:
            columns = fields
        elif fields and NUMBER.match(fields[0]):
            rows.append(dict(zip(columns, fields, strict=True)))
    at = [int(row["Step"]) for row in rows]
    begin = int(only(r"^  Current step  : (\d+)$", text)[0])
    values = [
        {name: span(cell, 0 if "CPU" in row else 8) for name, cell in row.items()}
        for row in rows
    ]
    clock = [value["CPU"] for value in values if "CPU" in value]
    off_clock = clock and not (
        grows([c.high for c in clock])
        and 0.9 * loop.low < clock[-1].high < 1.001 * loop.high
    )
    ratios = [
        value["KinEng"].over(value["Temp"]) for value in values if "PotEng" in value
    ]
    yield from those(
        (
            at[:1] != [begin] or at[-1] - begin != steps or not grows(at),
            f"thermo: steps {at} of {steps}",
        ),
        (len({b - a for a, b in pairwise(at[:-1])}) > 1, f"thermo: steps {at}"),
        (len({tuple(row) for row in rows}) > 1, "thermo: names differ"),
        (off_clock, "thermo: CPU"),
        (any(a.differs(b) for a in ratios for b in ratios), "energy: Temp and KinEng"),
    )
    for value in values:
        yield from _lammps_energy(value, style, atoms)


BOLTZMANN = {"lj": 1.0, "metal": 8.617343e-5}


def _lammps_energy(value, style, atoms):
    parts = [value["KinEng"], value["PotEng"]] if "PotEng" in value else []
    if "E_pair" in value and style in BOLTZMANN:
        kinetic = value["Temp"].times(
            1.5 * BOLTZMANN[style] * (atoms - 1) / (atoms if style == "lj" else 1)
        )
        margin = (
            0.0 if style == "lj" else 2e-6 * kinetic.high
        )  # of the constant, which releases have in other digits
        parts = [
            value["E_pair"],
            value["E_mol"],
            Span(kinetic.low - margin, kinetic.high + margin),
        ]
    terms = [
        value[f"E_{name}"]
        for name in ("bond", "angle", "dihed", "impro", "vdwl", "coul", "long")
        if "PotEng" in value
    ]
    return those(
        (bool(parts) and ZERO.plus(*parts).differs(value["TotEng"]), "energy: TotEng"),
        (bool(terms) and ZERO.plus(*terms).differs(value["PotEng"]), "energy: PotEng"),
        (
            value.get("Atoms", ZERO.plus(Span(atoms, atoms))).differs(atoms),
            "atoms: thermo",
        ),
        (
            any(
                value[name].high < 0
                for name in ("Temp", "Volume", "KinEng")
                if name in value
            ),
            "energy: negative",
        ),
    )


def npb(text):
    head, _, report = text.partition("Benchmark Completed")
    version, kernel = only(r"NAS Parallel Benchmarks (\S+) -- (\w+) Benchmark", text)
    size, problem = only(r"Size\s*: +(.*?) +\(class (\w)\)\s*$", head)
    rounds, processes = (
        only(rf"{key}\s*: +(\d+)\s*$", head)[0]
        for key in ("Iterations", "umber of processes")
    )
    names = (
        "Class",
        "Size",
        "Iterations",
        "Total processes",
        "Version",
        "Time in seconds",
        "Mop/s total",
        "Mop/s/process",
    )
    value = {name: only(rf"^ {name} *= +(.*?)\s*$", report)[0] for name in names}
    seconds, rate, each = (span(value[name]) for name in names[5:])
    lines = re.findall(
        r"^ T = +(\d+) " if kernel == "FT" else r"^ +(\d+)$", head, re.MULTILINE
    )
    n = int(rounds)
    elements = math.prod(int(count) for count in re.findall(r"\d+", size))
    log = math.log(elements)
    operations = elements * (
        n if kernel == "IS" else 14.8157 + 7.19641 * log + (5.23518 + 7.21113 * log) * n
    )  # ft.f90
    return those(
        (
            not value["Version"].startswith(version)
            or not head.endswith(f" {kernel} "),
            "head: two programs",
        ),
        (
            (value["Class"], value["Size"].split()) != (problem, size.split()),
            "report: class or size",
        ),
        (
            (value["Iterations"], value["Total processes"]) != (rounds, processes),
            "report: iterations or processes",
        ),
        (
            bool(lines) and lines != [str(i + 1) for i in range(n)],
            f"iterations: {len(lines)} lines, {n} in the head",
        ),
        (each.times(float(processes)).differs(rate), "rate: of a process"),
        (
            Span(operations / 1e6, operations / 1e6).over(seconds).differs(rate),
            "rate: Mop/s and time",
        ),
    )


OURS = ("streaming", "overlap", "collective_overlap", "hot_spot", "buffer_reuse", "notification",
        "latency_map", "rotate", "placement")  # fmt: skip
ORACLES = {name: own for name in OURS} | {
    oracle.__name__: oracle for oracle in (osu, imb, lammps, npb)
}
ORACLES["start-up"] = start_up


def contradictions(program, text):
    """Return how an output of a program contradicts itself; `unread` if that cannot be read from it."""
    found = []
    try:
        for finding in ORACLES[program](text):
            found.append(finding)
    except TwiceError as error:
        found.append(f"twice: {error}")
    except (
        ValueError,
        LookupError,
        TypeError,
        ArithmeticError,
        StopIteration,
    ) as error:
        found.append(f"unread: {type(error).__name__}: {str(error)[:60]}")
    return sorted(found, key=lambda finding: finding.startswith(("layout", "unread")))
